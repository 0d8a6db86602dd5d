/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of /proc/PID whole, and parses /proc/PID/stat and status. Used inside
 * process/ only; a separate header lets tests call the parsers.
 */
#ifndef PROCESS_PROCFS_H
#define PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of /proc/PID/stat that show the kind of task (proc_pid_stat(5)). */
struct procfs_stat {
	char state;        /* field 3: 'Z' is a zombie, 'X' is dead */
	int parent;        /* field 4: parent's pid; 0: the parent is outside of our pid
			      namespace */
	uint32_t flags;    /* field 9: PF_ flags of include/linux/sched.h */
	long thread_count; /* field 20 */
};

/* Of include/linux/sched.h. */
#define PROCFS_PF_IO_WORKER 0x00000010u /* PF_IO_WORKER */
#define PROCFS_PF_KTHREAD   0x00200000u /* PF_KTHREAD */
#define PROCFS_PF_NO_EXEC   0x00000040u /* PF_FORKNOEXEC */

/* Bounds for procfs_read(): files of a few lines, and the list of mappings (65530 lines
 * is the kernel's default limit, vm.max_map_count). */
#define PROCFS_SMALL_BYTES ((size_t)64 << 10)
#define PROCFS_MAPS_BYTES  ((size_t)64 << 20)

/*
 * Read /proc/<pid>/<name> to its end. *ret is a buffer with a NUL after its *ret_size
 * bytes, owned by the caller. Returns 0 or an errno value: EFBIG if the file is longer
 * than `limit_bytes`, ENOMEM, or the error of open(2) or read(2).
 */
int procfs_read(int pid, const char *name, size_t limit_bytes, char **ret,
		size_t *ret_size) __attribute__((warn_unused_result));

/* Parse /proc/PID/stat. False: malformed. The task chooses the command in it, which may
 * contain spaces, parentheses and newlines. */
bool procfs_parse_stat(const char *text, struct procfs_stat *ret);

/*
 * Read the number after `key` (with its colon: "VmRSS:") at the start of a line of
 * /proc/PID/status, in base `base`. False: not found. The kernel escapes newlines in
 * the Name line, so a task cannot forge a line.
 */
bool procfs_status_number(const char *text, const char *key, int base, uint64_t *ret);

/*
 * The last number of the NSpid line of /proc/PID/status: the task's pid in its own pid
 * namespace (proc_pid_status(5), Linux 4.1). 0: the line is missing or malformed.
 */
int procfs_namespace_pid(const char *text);

#endif
