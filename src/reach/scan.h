/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for unreachable blocks of one process, in the process that does it
 * (scanner.h). The first part lets the target run, and finds candidates: blocks to which
 * it saw no pointer. The second stops the target, and looks again at all memory except
 * the candidates, since pointers move (docs/unreachable.md, "How the process is
 * stopped"). What is then found unreachable is so, and stays so.
 */
#ifndef REACH_SCAN_H
#define REACH_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "reach/blocks.h"
#include "reach/marks.h"
#include "reach/memory.h"
#include "reach/threads.h"
#include "util/error.h"

/* Blocks, and what becomes known of them. Borrowed arrays of `count` elements. */
struct reach_table {
	uint64_t *start, *end; /* as reach_blocks_init() wants them */
	uint8_t *level;        /* enum reach_level */
	uint32_t *head;        /* of the group of an unreached block (groups.h) */
	uint32_t count;
	/* These are all blocks that the process has: what else is in their pages, or in
	 * the heap that brk(2) sets, is free and holds no pointers of the program. */
	bool is_whole;
};

/* How the search went. */
struct reach_effort {
	uint64_t read_bytes;
	uint64_t took_ns; /* of it, while the target was stopped: */
	uint64_t pause_ns;
	uint32_t threads; /* that were stopped */
	bool is_late;     /* there was no time to look at all memory: no verdict */
	bool has_rings;   /* requests of an io_uring may hold pointers, unseen */
};

/* A process that is stopped, or was looked at. */
struct reach_target {
	int pid;
	/* As in struct reach_memory; not called while the process is stopped. */
	void (*progress)(void *arg, uint64_t read_bytes);
	/* Called after the process continues; may be NULL. */
	void (*released)(void *arg);
	void *arg;           /* of both */
	uint64_t image;      /* of reach_image(), at the first look */
	uint64_t stopped_ns; /* CLOCK_MONOTONIC */
	/* When it went on without being verified, because there was no time left; 0: it
	 * did not. volatile: a signal handler sets it (reach_scan_let_go()). */
	volatile uint64_t let_go_ns;
	struct reach_threads threads; /* none: it is not stopped */
};

/* Find candidates: set table->level. Stops at most single threads, for some microseconds,
 * to learn where their stacks end. `deadline_ns`: CLOCK_MONOTONIC. */
struct error *reach_scan_first(struct reach_target *target,
			       const struct reach_words *words, struct reach_table *table,
			       uint64_t deadline_ns, struct reach_effort *ret)
	__attribute__((warn_unused_result));

/* Stop the process. ERROR_GONE: it has exited, or executed another program. */
struct error *reach_scan_stop(struct reach_target *target, uint64_t deadline_ns)
	__attribute__((warn_unused_result));

/*
 * Look at all memory for pointers to the candidates `table`, until `deadline_ns`, and let
 * the process go on in any case. Then group what is lost. Sets table->level and ->head,
 * unless there was no time. In a table that is whole, `level` says before the call which
 * blocks are candidates: REACH_UNREACHED; the others are REACH_REACHED.
 */
struct error *reach_scan_verify(struct reach_target *target,
				const struct reach_words *words,
				struct reach_table *table, uint64_t deadline_ns,
				struct reach_effort *ret)
	__attribute__((warn_unused_result));

/* Let the process go on, if it is stopped: a verification would be too late. May be
 * called by a signal handler, and before reach_scan_verify() or reach_scan_release(). */
void reach_scan_let_go(struct reach_target *target);

/* Let the process go on, if it is stopped. */
void reach_scan_release(struct reach_target *target);

#endif
