/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops all threads of a process, as a debugger does (PTRACE_SEIZE, PTRACE_INTERRUPT;
 * ptrace(2)), and reads their registers. If the calling process dies, the kernel lets
 * them go on. System calls that they wait in are restarted by the kernel; some, such as
 * epoll_wait(2), return EINTR, as after SIGCONT (signal(7)).
 */
#ifndef REACH_THREADS_H
#define REACH_THREADS_H

#include <stdint.h>

#include "reach/marks.h"
#include "util/error.h"
#include "util/vec.h"

struct reach_thread {
	int tid;
	int signal; /* that it was about to receive, and gets afterwards; or 0 */
	uint64_t stack_pointer;  /* 0: unknown */
	uint64_t thread_pointer; /* the address of its control block; 0: unknown */
};

struct reach_threads {
	int pid;
	VEC(struct reach_thread) list;
};

/*
 * Stop all threads of `pid` before `deadline_ns` (CLOCK_MONOTONIC). The calling process
 * must have no other children. After an error none is stopped. ERROR_GONE: the process
 * has exited. ERROR_PERMISSION: it may not be traced, or another process does it.
 * ERROR_UNSUPPORTED: they do not stop in time.
 */
struct error *reach_threads_stop(int pid, uint64_t deadline_ns, struct reach_threads *ret)
	__attribute__((warn_unused_result));

/* The error that says that `pid` may not be traced, and what is needed for it. */
struct error *reach_threads_refused(int pid) __attribute__((warn_unused_result));

/* Let them go on, and keep the list. May be called by a signal handler. */
void reach_threads_continue(const struct reach_threads *threads);

/*
 * Let them go on, if they do not yet. A thread that was asked to stop and has not done so
 * yet stops later, when it leaves the kernel. For that case reach_threads_release_late()
 * must have been called before; or the calling process ends.
 */
void reach_threads_release(struct reach_threads *threads);

/* Install a handler of SIGCHLD that continues threads that stop while this process does
 * not wait for them. Other threads of this process must block SIGCHLD. */
void reach_threads_release_late(void);

/* Read the registers that are in struct reach_thread. */
void reach_threads_find(struct reach_threads *threads);

/* Scan for pointers: all registers, and what the kernel holds for the threads, until
 * `deadline_ns` (CLOCK_MONOTONIC). False: not all could be read. */
bool reach_threads_scan(const struct reach_threads *threads, uint64_t deadline_ns,
			struct reach_marks *marks);

/* The stack pointer of one thread of `pid`, which is stopped for that; 0: it does not
 * stop before `deadline_ns`, or may not be traced. */
uint64_t reach_thread_stack_pointer(int pid, int tid, uint64_t deadline_ns);

#endif
