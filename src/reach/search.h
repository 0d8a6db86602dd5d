/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The searches for unreachable blocks of a run (--unreachable). The blocks of a snapshot
 * give the candidates. Those of them that are there still when the processes are stopped
 * are verified: what is live and what is in memory are then of the same moment.
 */
#ifndef REACH_SEARCH_H
#define REACH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "reach/marks.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

struct reach_search;

struct reach_search_options {
	struct reach_words words;
	uint64_t max_pause_ns; /* processes are not stopped for longer */
	/* Receives what is being done, and lines for the user, without newline; they may
	 * be NULL. */
	void (*progress)(void *arg, const char *phase);
	void (*warn)(void *arg, const char *text);
	uint64_t (*stopping_ns)(void *arg); /* as in struct confined_options */
	void *arg;
};

/* To be called before privileges are given up, by a process with one thread. */
struct error *reach_search_create(const struct reach_search_options *options,
				  struct reach_search **ret)
	__attribute__((warn_unused_result));
/* NULL is fine. */
void reach_search_destroy(struct reach_search *search);

/* memtrace has started the process `pid`, so it knows all of its blocks: what else is in
 * their pages counts as free, and is not searched (--unreachable-strict). */
void reach_search_be_strict(struct reach_search *search, int pid);

/*
 * Look for candidates among the heap blocks of `snap`, while its processes run. A process
 * that cannot be searched is left out, with a warning. Fails only if memory is out.
 */
struct error *reach_search_look(struct reach_search *search, const struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Stop the processes that have candidates. They must be let go on soon, by one of the
 * next two functions. */
void reach_search_stop(struct reach_search *search);

/* Which of these heap blocks of `snap` are there still, neither freed nor moved?
 * `numbers` has `count` indices into snap->blocks[BLOCK_HEAP]; is_there[i] is to be set
 * for each. */
typedef struct error *reach_find_same(void *arg, const struct snapshot *snap,
				      const uint32_t numbers[], size_t count,
				      bool is_there[]);

/* Drop the candidates that were freed before the stop. `before`: the snapshot that they
 * are from. Fails only if memory is out. */
struct error *reach_search_recheck(struct reach_search *search,
				   const struct snapshot *before,
				   reach_find_same *find_same, void *arg)
	__attribute__((warn_unused_result));

/* Does reach_search_verify() need a snapshot of the stopped processes? */
bool reach_search_wants_all(const struct reach_search *search);

/* Verify the candidates, and let the processes go on. `before` as above; `stopped` is
 * NULL, or the snapshot that reach_search_wants_all() asked for. reach_search_tell() must
 * be called next. */
struct error *reach_search_verify(struct reach_search *search,
				  const struct snapshot *before,
				  const struct snapshot *stopped)
	__attribute__((warn_unused_result));

/* Let the processes continue, and end the search without verdicts. */
void reach_search_give_up(struct reach_search *search);

/* Add to `snap`, made since the last stop, what is known from all searches. Before the
 * first search: nothing. */
struct error *reach_search_tell(struct reach_search *search, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Of the last search: the times of its parts during which processes were stopped, ns. */
struct reach_pause {
	uint64_t stopping_ns;
	uint64_t table_ns; /* until reach_search_verify() was called */
	uint64_t search_ns;
};

/* All 0: nothing was stopped. */
struct reach_pause reach_search_pause(const struct reach_search *search);

#endif
