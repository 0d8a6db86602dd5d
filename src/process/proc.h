/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as /proc shows it. The target controls what is read here, so it is hostile
 * input: lines are bounded, numbers checked, and paths kept as raw bytes.
 */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/stop_state.h"
#include "util/error.h"

/* Memory sizes from /proc/PID/status, in bytes; 0: the line is missing. */
struct proc_memory {
	uint64_t vm_size_bytes, vm_rss_bytes, vm_data_bytes, vm_hwm_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes; /* of vm_rss_bytes */
	struct stop_state
		stop; /* of the main thread, or of another one if it has exited */
};

struct elf_reader;
struct opened_files;
struct stand_in;

struct proc {
	int pid;
	/* its pid in its own pid namespace; equal to `pid` if that is ours; 0: unknown */
	int namespace_pid;
	int pidfd;              /* readable once the process has exited (pidfd_open(2)) */
	char command[64];       /* thread name of the main thread, without newline */
	char *executable;       /* readlink of /proc/PID/exe, or NULL */
	struct proc_root *root; /* see proc_root_fd() */
	/* The reader of its ELF files' tables; NULL: the calling process reads them.
	 * Borrowed. Set by the caller of proc_open(). */
	struct elf_reader *elf_reader;
	/* Keeps its files open (process/target_file.h); NULL: nothing does. As above. */
	struct opened_files *opened;
	/* The substitute for an exited process's /proc/PID (process/stand_in.h); NULL:
	 * the process is read itself. */
	struct stand_in *stand_in;
};

/*
 * Open a process, and refuse a process that cannot be traced. Each reason has its own
 * message: no such pid, a thread's tid instead of a pid, a kernel thread, a zombie, a
 * 32-bit program, ourselves, or a process that we may not read (the message names the
 * missing capability). A process whose main thread has exited is accepted
 * (live_thread.h).
 */
struct error *proc_open(int pid, struct proc **ret) __attribute__((warn_unused_result));
/* Like proc_open(), for a process that another memtrace process has opened with it.
 * Takes ownership of `pidfd`, also after an error. Nothing is checked; names stay
 * empty. */
struct error *proc_adopt(int pid, int pidfd, struct proc **ret)
	__attribute__((warn_unused_result));
/* Represent the process `pid` with the name `command`, which has exited: only names and
 * lines of its code can still be found. Takes ownership of `stand_in`, also after an
 * error. proc_has_exited() always returns false for it. */
struct error *proc_adopt_stand_in(int pid, const char *command, struct stand_in *stand_in,
				  struct proc **ret) __attribute__((warn_unused_result));
void proc_close(struct proc *proc);

/* Does a debugger or another program trace it by ptrace(2)? Also true if this cannot be
 * read. */
bool proc_is_debugged(const struct proc *proc);

/* True once the process has exited. Does not block. */
bool proc_has_exited(const struct proc *proc);

/* True also if the process is exiting and has lost its memory already: do_exit() calls
 * exit_mm() before exit_notify() (kernel/exit.c). What was read of its mappings and files
 * before is complete if this is false afterwards. */
bool proc_has_lost_memory(const struct proc *proc);

/* Like proc_has_exited(), but also waits for the exit of a process that is exiting: it
 * loses its files shortly before (do_exit() of kernel/exit.c: exit_fs(), then
 * exit_notify()). */
bool proc_exits(const struct proc *proc);

/* Close the descriptor that proc_root_fd() opened. The next proc_root_fd() opens it
 * again. For a process that will not be used for some time. */
void proc_rest(const struct proc *proc);

/* Close the pidfd of an exited process. Only data already read may be used from now
 * on. */
void proc_let_go(struct proc *proc);

/* Read the mappings. ERROR_GONE when the process has exited. */
struct error *proc_read_maps(const struct proc *proc, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/* The same from a text that was read just now. */
struct error *proc_parse_maps(const struct proc *proc, const struct maps_text *text,
			      struct proc_maps *ret) __attribute__((warn_unused_result));

/* The same, without looking at any file: the paths of files may be wrong (maps.h). `tid`
 * is a thread of the process that has memory (live_thread.h). */
struct error *proc_read_ranges(int tid, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/* Read the memory sizes, and if it is stopped. ERROR_GONE when the process has exited. */
struct error *proc_read_memory(const struct proc *proc, struct proc_memory *ret)
	__attribute__((warn_unused_result));

/*
 * A number that identifies the program that the process runs and its address space: it
 * changes with every exec. 0: the process has exited. It is a hash of the identity of
 * /proc/PID/exe and of /proc/PID/auxv, which holds randomized addresses
 * (fs/binfmt_elf.c).
 */
uint64_t proc_image(const struct proc *proc);

/* The id of the next process of /proc, which opendir(3) has opened; ascending
 * (proc_pid_readdir(), fs/proc/base.c). 0: no more processes. */
int proc_next(DIR *proc);

/* Did we fork the process? */
bool proc_is_our_child(int pid);

/* Does the process have our mount namespace and our root directory? */
bool proc_has_our_root(int pid);

/* True when the process `pid` has a thread `tid`. */
bool proc_has_thread(int pid, uint32_t tid);

/* TASK_COMM_LEN, include/linux/sched.h. */
#define PROC_COMM_SIZE 16

/* Read the name of a thread (/proc/PID/task/TID/comm), unescaped and padded with NULs.
 * False: the thread does not exist. */
bool proc_thread_name(int pid, uint32_t tid, char ret[PROC_COMM_SIZE]);

/*
 * The present root directory of the process: an O_PATH descriptor for place_find()
 * (util/regular_file.h); -1: unavailable. Do not close it. It is valid until the next
 * call, proc_rest() or proc_close(), even if threads of the process exit.
 */
int proc_root_fd(const struct proc *proc);

/* "Process N (name) has exited." */
struct error *proc_gone(const struct proc *proc) __attribute__((warn_unused_result));

/* The error for a failed access to /proc/PID/<name> with the errno value `err`: the
 * reason, in terms of the process, and what to do. */
struct error *proc_access_error(const struct proc *proc, const char *name, int err)
	__attribute__((warn_unused_result));

/*
 * Check that this process may load BPF programs and place probes: effective
 * capabilities from /proc/self/status, BPF and uprobes in the kernel. The error says
 * which capability or kernel feature is missing and what to do.
 */
struct error *proc_check_privileges(void) __attribute__((warn_unused_result));

#endif
