/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for BPF programs that are running. Programs that cannot sleep, as all of ours,
 * run inside rcu_read_lock() (uprobe_prog_run() and __bpf_trace_run(),
 * kernel/trace/bpf_trace.c; bpf_prog_run_array_uprobe(), include/linux/bpf.h; before 6.0
 * trace_call_bpf()). An update of a map of maps waits for all such programs before it
 * returns, so that user space may rely on it: maybe_wait_bpf_programs(),
 * kernel/bpf/syscall.c, synchronize_rcu(), since Linux 5.0. membarrier(2) would do the
 * same, but not where one processor is online or some run without ticks
 * (kernel/sched/membarrier.c).
 */
#ifndef BPF_FENCE_H
#define BPF_FENCE_H

#include <pthread.h>
#include <stdbool.h>

struct fence {
	int outer, inner; /* maps of one element; -1: none */
	/* fence_begin(): */
	pthread_t thread;
	bool has_thread; /* else it was waited for at once */
	bool has_failed;
};

/* A fence that cannot be made fails in fence_wait(). */
void fence_open(struct fence *ret);
void fence_close(struct fence *fence);

/*
 * Wait until each program that was running at the time of the call has ended: its writes
 * can be read then, and it no longer uses what it has read. Takes some milliseconds.
 * Returns false if there was no wait.
 */
bool fence_wait(const struct fence *fence);

/* The same in the background: begin to wait for programs that run at the time of the
 * call. One wait at a time. */
void fence_begin(struct fence *fence);

/* Until the wait that was begun is over. False: there was none. With none begun true. */
bool fence_end(struct fence *fence);

#endif
