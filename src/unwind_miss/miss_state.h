/* SPDX-License-Identifier: Apache-2.0 */
/* What the miss handler's thread and the threads that ask it share. Only for
 * miss_handler.c and miss_requests.c. */
#ifndef UNWIND_MISS_MISS_STATE_H
#define UNWIND_MISS_MISS_STATE_H

#include <pthread.h>

#include "unwind_miss/aliases.h"
#include "unwind_miss/miss_shared.h"
#include "unwind_miss/miss_ring.h"
#include "unwind_miss/miss_tables.h"
#include "unwind_miss/miss_walk.h"
#include "util/cpu_allowance.h"

struct miss_handler {
	struct miss_maps maps;
	struct rule_table rules;
	struct stack_store stacks;
	struct abi_moves *moves;
	size_t rules_bytes, moves_bytes;
	struct miss_ring rings[ABI_MISS_RINGS];
	struct miss_processes processes;
	struct miss_tables tables;
	struct aliases aliases; /* protected by alias_lock */
	struct miss_handler_counts counts;
	uint64_t *hits;  /* by ABI_HIT_AT(stack); NULL: not counted */
	size_t hits_end; /* all from this element on are 0 */
	uint64_t taken;  /* misses taken out of the rings */
	struct stack_pages pages;
	struct miss_walker walker;
	unsigned read[ABI_MISS_RINGS]; /* misses of each ring in this batch */
	unsigned reading;              /* the ring that is being read */
	struct cpu_allowance allowance;
	struct cpu_meter *meter; /* of the thread that holds the lock */
	uint64_t reserve_ns;     /* extra processor time of that thread, ns */
	bool is_spent; /* the allowance and reserve_ns were used up when last charged */
	bool ends_when_spent; /* then end the batch; false: stop unwinding, only store */
	uint64_t swept_ns;    /* part of first_sweep_ns that the start has used */
	uint64_t pruned_ns;   /* last pruning, CLOCK_MONOTONIC ns */
	pthread_mutex_t lock; /* protects the above, except `aliases` */
	pthread_mutex_t alias_lock; /* held only briefly; taken last */
	unsigned waiting;           /* threads that wait for `lock` */
	pthread_t thread;
	bool is_running;
	int stop_fd;
	int wake_fd;     /* signals work that does not come from the ring */
	bool is_cut_off; /* miss_handler_cut_off() */
};

/* The result of handling a batch of misses. */
struct miss_batch {
	unsigned walks[ABI_MISS_RINGS]; /* misses taken out of each ring */
	bool has_more[ABI_MISS_RINGS];  /* it has more misses */
	bool is_empty;                  /* no ring has any */
	bool is_sweeping; /* is_empty, and there are unwind tables to build */
	/* the same, but the rest of the allowance is reserved for misses */
	bool is_waiting;
	/* How long to leave misses in the ring, since the allowance is spent, in ns; 0:
	 * it is not spent. */
	uint64_t rest_ns;
	size_t bytes; /* of the records taken out of ABI_MISS_RING, with their heads */
};

/* Take the lock; for all threads except the miss handler's. */
void miss_handler_lock(struct miss_handler *h);

/* Handle the misses in the rings. `own` is the meter of the miss handler's thread, which
 * is also charged for waking up; NULL in other threads. The caller does not hold the
 * lock. */
struct miss_batch miss_handler_consume(struct miss_handler *h, struct cpu_meter *own);

#endif
