/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the checks, for check*.c. */
#ifndef ATTACH_CHECKS_PRIVATE_H
#define ATTACH_CHECKS_PRIVATE_H

#include <pthread.h>

#include "attach/checks.h"
#include "attach/site_places.h"

struct ring;

/* A process that has probes in the function. */
struct check_process {
	int pid, file; /* as in check_request */
};

struct check {
	struct check_request request; /* its `module` is unused */
	char *module;
	uint32_t number;
	/* exits at places of other sites; they come first in request.exits */
	size_t shared;
	unsigned tries;                      /* checks that ended without a call */
	VEC(struct check_process) processes; /* empty: the file is gone */
	VEC(struct attached) links;
	uint64_t started_ns;
	/* CLOCK_MONOTONIC ns when the check was over and its file gone; 0: not yet */
	uint64_t rests_ns;
};

/* A thread that closes links. Each close waits for RCU grace periods in the kernel, and
 * must not delay the other checks. */
struct closer {
	pthread_t thread;
	struct attachment links;
	bool is_done;
};

struct checks {
	struct checks_maps maps;
	struct abi_check *records; /* mapped, by number */
	struct ring *ring;
	int stop_fd;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock;     /* protects the next three and check.processes */
	VEC(struct check *) list; /* by number */
	VEC(struct check_verdict) verdicts;
	uint64_t misread;  /* checks whose sites were wrong */
	uint64_t left_out; /* functions that are not checked: there are too many */
	/* Used only by the thread: */
	VEC(struct check *) wanted, under_way;
	struct attachment ended; /* links to be closed */
	VEC(struct closer *) closers;
};

static inline void check_set_state(const struct checks *c, const struct check *check,
				   enum abi_check_state state)
{
	__atomic_store_n(&c->records[check->number].state, state, __ATOMIC_SEQ_CST);
}

static inline enum abi_check_state check_state_of(const struct checks *c,
						  const struct check *check)
{
	return __atomic_load_n(&c->records[check->number].state, __ATOMIC_SEQ_CST);
}

static inline struct abi_site_at *check_place_of(const struct checks *c,
						 const struct check_probe *probe)
{
	return site_place(c->maps.sites_at, probe->offset);
}

/* Set for each place of the check's sites which check owns it. The lock is held. */
void check_settle_owners(const struct checks *c, const struct check *check);

/* The file is gone and the check is over. The lock is held. */
void check_rest(const struct checks *c, struct check *check);

/* For the thread: set the probes that compare, and judge the check and take them away.
 * Links to be closed go to c->ended. */
void check_begin(struct checks *c, struct check *check);
void check_end(struct checks *c, struct check *check);

/* The verdict so far. */
struct check_verdict check_judge(const struct checks *c, const struct check *check);

/* Attach probes that read results at all exits for one process. Returns true also if the
 * process is gone. */
bool check_replace_for(struct check *check, const struct check_process *process);

/* Move the check's first `count` links to c->ended. */
void check_end_links(struct checks *c, struct check *check, size_t count);

/* The thread that runs the checks: begins them at the first call of a function and ends
 * them. `arg` is the struct checks. checks_on_news() is the callback of its ring. */
void *checks_run(void *arg);
int checks_on_news(void *arg, void *data, size_t size);

/* Wait for the threads that have closed their links; `all`: for the others, too. */
void checks_join_closers(struct checks *c, bool all);

#endif
