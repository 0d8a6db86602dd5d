/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of malloc of a program, sampled with ptrace(2), and their stacks by libdw.
 *
 * A uprobe at malloc's first instruction stops the program (perf_event_open(2), sigtrap).
 * At some of the calls libdw unwinds the stopped thread. A trap written at the return
 * address, or single steps where a uprobe is, give the address of the block; so one call
 * at a time is sampled. Two more uprobes, at free and
 * realloc, drop the samples of blocks that are freed, so that a later block at the same
 * address is not taken for the sample. memtrace's own uprobes are at the same functions;
 * the kernel lets any number of programs share the breakpoint at an address.
 */
#ifndef LIVE_MALLOC_SAMPLES_H
#define LIVE_MALLOC_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct malloc_sample {
	uint64_t block, size;
	/* Of each frame from malloc's caller on: the last byte of the call. */
	uint64_t *pcs;
	size_t count;
	pid_t tid;
	bool is_whole; /* libdw reached the outermost frame */
};

struct malloc_samples;

struct malloc_sample_counts {
	unsigned live;       /* samples whose blocks are allocated */
	unsigned whole_live; /* the whole ones among them */
	unsigned calls;      /* of malloc */
	unsigned unwound;    /* of the calls */
	unsigned not_whole;  /* of the unwound calls */
	const char *why;     /* libdw's last message on one that is not whole, or NULL */
};

/* Can a uprobe stop a thread here? Linux can from 5.13 on. */
bool malloc_samples_are_possible(void);

/* Trace a process with one thread. Each call of malloc is sampled after `gap` others, on
 * average. */
struct malloc_samples *malloc_samples_begin(pid_t pid, unsigned gap);

/* Let the program run until so many whole samples are live, or until it is about to exit.
 * Then the thread that stopped last stays stopped. The others stop at their next malloc,
 * free or realloc, so that no sample is freed. */
void malloc_samples_take(struct malloc_samples *samples, unsigned whole_live);

struct malloc_sample_counts malloc_samples_count(const struct malloc_samples *samples);

/* The live sample whose block is at this address, or NULL. Borrowed. */
const struct malloc_sample *malloc_samples_find(const struct malloc_samples *samples,
						uint64_t block);

/* The name of the function at an address, mangled, or NULL. Borrowed. */
const char *malloc_samples_function(const struct malloc_samples *samples, uint64_t pc);

/* Print an address to stderr with its module and function. 0: a frame that is missing. */
void malloc_samples_print(const struct malloc_samples *samples, uint64_t pc);

/* Kill the program, and wait for all of its threads but the main thread. */
void malloc_samples_end(struct malloc_samples *samples);

#endif
