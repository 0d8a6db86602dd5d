/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as /proc shows it. Everything read here is the target's to choose and so
 * hostile: lines are bounded, numbers checked, paths kept as raw bytes.
 */
#ifndef TARGET_PROC_H
#define TARGET_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/vec.h"

/* One line of /proc/PID/maps (Documentation/filesystems/proc.rst, section 1.1). */
struct proc_mapping {
	uint64_t start, end;  /* end exclusive */
	uint64_t file_offset; /* bytes */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool readable, writable, executable;
	bool deleted; /* the path ended in " (deleted)", which was cut off */
	char *path;   /* escaped newlines decoded (maps.h); "" for anonymous memory */
};

struct proc_maps {
	VEC(struct proc_mapping) mappings; /* in address order */
};

/* Memory figures of /proc/PID/status, in bytes; 0 when the line is missing. */
struct proc_memory {
	uint64_t vm_size_bytes, vm_rss_bytes, vm_data_bytes, vm_hwm_bytes;
};

struct elf_reader;
struct stand_in;

struct proc {
	int pid;
	int namespace_pid; /* in the innermost pid namespace that it is in, which is its
			      own; the same as pid when it has no other; 0: not known */
	int pidfd;         /* readable once the process has exited (pidfd_open(2)) */
	char command[64];  /* comm, without its newline */
	char *executable;  /* readlink of /proc/PID/exe, or NULL */
	struct proc_root *root; /* see proc_root_fd() */
	/* Who reads the tables of its ELF files; NULL: whoever asks. Borrowed, and set by
	 * the one who has opened the process. */
	struct elf_reader *elf_reader;
	/* It is gone, and this is left (target/stand_in.h); NULL: it is a process. */
	struct stand_in *stand_in;
};

/*
 * Look at a process and refuse those that cannot be traced, each with its own
 * message: no such pid, a thread's tid instead of a pid, a kernel thread, a zombie, a
 * 32-bit program, ourselves, or one we may not look at (names the missing capability).
 * One whose first thread alone has ended is like any other (living.h).
 */
struct error *proc_open(int pid, struct proc **ret) __attribute__((warn_unused_result));
/* The same for a process that another one has looked at with proc_open(): `pidfd`, which
 * is taken over in any case, is what it has. Nothing is checked; names stay empty. */
struct error *proc_adopt(int pid, int pidfd, struct proc **ret)
	__attribute__((warn_unused_result));
void proc_close(struct proc *proc);

/* Is another process its tracer by ptrace(2), as a debugger is? True, too, when that
 * cannot be read. */
bool proc_is_debugged(const struct proc *proc);

/* True once the process has exited. Does not block. */
bool proc_has_exited(const struct proc *proc);

/* The same, and where it is on its way out, that is waited for: it has no files any more
 * a moment before it has exited (do_exit() of kernel/exit.c: exit_fs(), then
 * exit_notify()). */
bool proc_exits(const struct proc *proc);

/* Nothing is asked of the process for now: close what proc_root_fd() has opened. It is
 * opened again when it is asked for. */
void proc_rest(const struct proc *proc);

/* It has exited, and only what was read of it is wanted any more: close its descriptor.
 */
void proc_let_go(struct proc *proc);

/* Read the mappings. ERROR_GONE when the process has exited. */
struct error *proc_read_maps(const struct proc *proc, struct proc_maps *ret)
	__attribute__((warn_unused_result));
void proc_maps_deinit(struct proc_maps *maps);

/* Read the memory figures. ERROR_GONE when the process has exited. */
struct error *proc_read_memory(const struct proc *proc, struct proc_memory *ret)
	__attribute__((warn_unused_result));

/*
 * A number that names the program the process runs and its address space, and so changes
 * with every exec; 0 when the process has exited. Made of the identity of /proc/PID/exe
 * and of /proc/PID/auxv, which holds randomized addresses (fs/binfmt_elf.c).
 */
uint64_t proc_image(const struct proc *proc);

/* Did we fork the process? */
bool proc_is_our_child(int pid);

/* Has the process our mount namespace, and our root directory in it? */
bool proc_has_our_root(int pid);

/* True when the process `pid` has a thread `tid`. */
bool proc_has_thread(int pid, uint32_t tid);

/* TASK_COMM_LEN, include/linux/sched.h. */
#define PROC_COMM_SIZE 16

/* The name of a thread (/proc/PID/task/TID/comm), as it is and with NULs behind it.
 * False: there is no such thread. */
bool proc_thread_name(int pid, uint32_t tid, char ret[PROC_COMM_SIZE]);

/*
 * The root directory of the process as it is now, an O_PATH descriptor for place_find()
 * (util/regular_file.h); -1: it cannot be had. The caller does not close it; it is good
 * until the next call, until proc_rest() or until `proc` is closed, whichever thread ends
 * meanwhile.
 */
int proc_root_fd(const struct proc *proc);

/* "Process N (name) has exited." */
struct error *proc_gone(const struct proc *proc) __attribute__((warn_unused_result));

/* /proc/PID/<name> could not be read, with the errno value `err`: why, in terms of the
 * process, and what to do. */
struct error *proc_access_error(const struct proc *proc, const char *name, int err)
	__attribute__((warn_unused_result));

/*
 * Check that this process may load BPF programs and probe `pid`: effective
 * capabilities from /proc/self/status, BPF and uprobes in the kernel. The error says
 * which capability or kernel feature is missing and what to do.
 */
struct error *proc_check_privileges(void) __attribute__((warn_unused_result));

#endif
