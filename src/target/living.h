/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory and the files of a process whose first thread may have ended while others go
 * on, as after pthread_exit() in main(). /proc/PID has the name, the state and the list
 * of threads of such a process, but neither maps nor exe, root or mem: these left the
 * first thread with its end (exit_mm() and exit_fs(), kernel/exit.c). The directory of
 * each other thread has them, and /proc/TID is there for the number of any thread,
 * although it is not listed (proc_pid_lookup(), fs/proc/base.c). Which thread is asked
 * changes as they end; a process that has ended as a whole is told by its pidfd alone.
 */
#ifndef TARGET_LIVING_H
#define TARGET_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct living {
	int pid;
	int tid; /* under this number /proc and system calls have the memory of `pid` */
	unsigned tries;
};

/*
 * Begin to look at `pid`: `tid` is its own number while its first thread lives, or when
 * no thread of it does, else that of another thread, the oldest that lives.
 */
struct living living_begin(int pid);

/*
 * What was asked of `tid` was not there, or less of it than there should be. True: that
 * thread has ended meanwhile, and `tid` is another one now, so it is to be asked again.
 * True for a bounded number of times.
 */
bool living_retry(struct living *living);

/* Has that thread not ended? */
bool living_is_there(const struct living *living);

/* The process goes on, and its first thread has ended. */
bool living_has_lost_first(int pid);

/*
 * open(2), stat(2) and readlink(2) of <name> in that thread's directory; `name` is a file
 * that belongs to the memory or to the files of the process. They fail as for a process
 * that has ended when no thread lives.
 */
int living_open(int pid, const char *name, int flags);
int living_stat(int pid, const char *name, struct stat *ret);
ssize_t living_readlink(int pid, const char *name, char *ret, size_t size);

/* Copy `size` bytes at `address` in the process; false when not all can be read. */
bool living_read(int pid, uint64_t address, void *ret, size_t size);

#endif
