/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a program's calls of malloc, taken with ptrace(2), and their stacks from
 * libdw.
 *
 * A uprobe at malloc's first instruction stops the program (perf_event_open(2), sigtrap).
 * At some of the calls libdw unwinds the stopped thread. A trap at the return address
 * then gives the address of the block. If a uprobe is there, the thread is single-stepped
 * instead. So one call is sampled at a time. Two more uprobes, at free and realloc, drop
 * the samples of freed blocks. Without them a later block at the same address would be
 * taken for the sample. memtrace's own uprobes are at the same functions: the kernel lets
 * any number of programs share the breakpoint at an address.
 */
#ifndef LIVE_MALLOC_SAMPLES_H
#define LIVE_MALLOC_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct malloc_sample {
	uint64_t block, size;
	/* The last byte of each frame's call, from malloc's caller outward. */
	uint64_t *pcs;
	size_t count;
	pid_t tid;
	bool is_whole; /* libdw reached the outermost frame */
};

struct malloc_samples;

struct malloc_sample_counts {
	unsigned live;       /* samples whose blocks are allocated */
	unsigned whole_live; /* those that are whole */
	unsigned calls;      /* calls of malloc */
	unsigned unwound;    /* calls whose stack libdw unwound */
	unsigned not_whole;  /* unwound calls that are not whole */
	const char *why;     /* libdw's last message about a call that is not whole, or
			      * NULL */
};

/* Can a uprobe stop a thread here? Linux can from 5.13 on. */
bool malloc_samples_are_possible(void);

/* Trace a process that has one thread. Samples about one call of malloc in `gap`. */
struct malloc_samples *malloc_samples_begin(pid_t pid, unsigned gap);

/* Let the program run until `whole_live` whole samples are live, or until it is about to
 * exit. The thread that stopped last stays stopped. The others stop at their next malloc,
 * free or realloc, so that no sample is freed. */
void malloc_samples_take(struct malloc_samples *samples, unsigned whole_live);

struct malloc_sample_counts malloc_samples_count(const struct malloc_samples *samples);

/* The live sample whose block is at this address, or NULL. Borrowed. */
const struct malloc_sample *malloc_samples_find(const struct malloc_samples *samples,
						uint64_t block);

/* The name of the function at an address, mangled, or NULL. Borrowed. */
const char *malloc_samples_function(const struct malloc_samples *samples, uint64_t pc);

/* Print an address to stderr with its module and function. 0 stands for a missing
 * frame. */
void malloc_samples_print(const struct malloc_samples *samples, uint64_t pc);

/* Kill the program, and wait for all of its threads except the main thread. */
void malloc_samples_end(struct malloc_samples *samples);

#endif
