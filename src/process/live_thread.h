/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the memory and the files of a process whose main thread may have exited:
 * through the directory of another thread, which has what /proc/PID lacks then
 * (docs/mechanisms.md, "A process whose main thread has exited"). The thread that we use
 * changes when it exits. Only the pidfd says that the whole process has exited.
 */
#ifndef PROCESS_LIVE_THREAD_H
#define PROCESS_LIVE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct live_thread {
	int pid;
	int tid; /* thread through which /proc and system calls reach the memory of `pid`
		  */
	unsigned tries;
};

/*
 * Choose a thread of `pid`. `tid` is `pid` while the main thread runs or if no thread
 * runs, else the oldest running thread.
 */
struct live_thread live_thread_begin(int pid);

/*
 * Call this when a request to `tid` failed or gave less than expected. True: that
 * thread has exited, and `tid` is now another thread: repeat the request. Returns true
 * a bounded number of times.
 */
bool live_thread_retry(struct live_thread *live);

/* Does the thread `tid` still run? */
bool live_thread_is_there(const struct live_thread *live);

/* Has the main thread exited while other threads run? */
bool live_thread_has_lost_first(int pid);

/*
 * open(2), stat(2) and readlink(2) of the file `name` in the thread's directory of
 * /proc. `name` belongs to the memory or the files of the process. If no thread runs,
 * they fail as for a process that has exited.
 */
int live_thread_open(int pid, const char *name, int flags);
int live_thread_stat(int pid, const char *name, struct stat *ret);
ssize_t live_thread_readlink(int pid, const char *name, char *ret, size_t size);

/* Copy `size` bytes at `address` in the process. False if not all of them can be read. */
bool live_thread_read(int pid, uint64_t address, void *ret, size_t size);

#endif
