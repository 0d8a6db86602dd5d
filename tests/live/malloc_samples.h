/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of malloc of a program, sampled with ptrace(2), and their stacks by libdw.
 *
 * A breakpoint of the processor at malloc's first instruction stops the program. At some
 * of the calls libdw unwinds the stopped thread. A breakpoint at the return address gives
 * the address of the block. Two more, at free and realloc, drop the samples of blocks
 * that are freed, so that a later block at the same address is not taken for the sample.
 * No breakpoint is written into code: memtrace's probes are there.
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
