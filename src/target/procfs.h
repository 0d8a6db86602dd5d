/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc/PID, read whole, and the two formats in them that need care. Used
 * inside target/ only; a header of its own so that tests can give the parsers text.
 */
#ifndef TARGET_PROCFS_H
#define TARGET_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of /proc/PID/stat that say what kind of task it is (proc_pid_stat(5)). */
struct procfs_stat {
	char state;        /* field 3: 'Z' is a zombie, 'X' is dead */
	int parent;        /* field 4: its parent's pid; 0: it has none here */
	uint32_t flags;    /* field 9: PF_ flags of include/linux/sched.h */
	long thread_count; /* field 20 */
};

#define PROCFS_PF_KTHREAD 0x00200000u /* PF_KTHREAD, include/linux/sched.h */

/* Bounds for procfs_read(): files of a few lines, and the list of mappings (65530 lines
 * is the kernel's default limit, vm.max_map_count). */
#define PROCFS_SMALL_BYTES ((size_t)64 << 10)
#define PROCFS_MAPS_BYTES  ((size_t)64 << 20)

/*
 * Read /proc/<pid>/<name> to its end. Gives a buffer with a NUL after its `ret_size`
 * bytes, owned by the caller. Returns 0 or an errno value: EFBIG when the file is longer
 * than `limit_bytes`, ENOMEM, or what open(2) and read(2) said.
 */
int procfs_read(int pid, const char *name, size_t limit_bytes, char **ret,
		size_t *ret_size) __attribute__((warn_unused_result));

/* Parse the line of /proc/PID/stat; false when it is not one. The command in it is the
 * task's own choice and may hold spaces, parentheses and newlines. */
bool procfs_parse_stat(const char *text, struct procfs_stat *ret);

/*
 * The number behind `key` (with its colon: "VmRSS:") at the start of a line of
 * /proc/PID/status, in base `base`; false when there is none. The kernel escapes the
 * newlines of the Name line, so a task cannot forge a line.
 */
bool procfs_status_number(const char *text, const char *key, int base, uint64_t *ret);

/*
 * The last number of the NSpid line of /proc/PID/status, which has the pid in each pid
 * namespace from the reader's /proc down to the task's own (proc_pid_status(5), Linux
 * 4.1); 0 when there is no such line or it is malformed.
 */
int procfs_namespace_pid(const char *text);

#endif
