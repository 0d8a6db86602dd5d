/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the unwind rules of whole files into kernel memory (probes/abi_walk.h, "unwind
 * tables"), where the probes look up call sites that they meet for the first time. A
 * file's table is built in regions: those that stacks lead through at once, the others
 * when there is time. When the memory is used up, the regions that the probes have not
 * used for the longest time are evicted.
 */
#ifndef UNWIND_MISS_UNWIND_TABLES_H
#define UNWIND_MISS_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/fenced_map.h"
#include "unwind/cfi.h"
#include "unwind/rule_runs.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/vec.h"

struct abi_control;

struct unwind_file {
	const struct cfi *cfi; /* borrowed until unwind_tables_remove(); NULL: no file */
	/* bounds of the code that processes map, in the file's addresses */
	uint64_t start, end;
	uint64_t swept; /* built (or tried) up to this address */
};

struct unwind_region {
	uint64_t key;   /* key of its page 0 */
	uint32_t pages; /* including page 0; 0: the region has no rules for a table */
};

struct unwind_tables {
	struct fenced_map pages;
	uint64_t *rules;             /* mapped, ABI_UNWIND_RULES of them; borrowed */
	struct abi_control *control; /* mapped; borrowed */
	uint32_t max_pages;
	uint32_t page_count, rule_count;
	struct hashmap rule_numbers;   /* rule to its number */
	VEC(struct unwind_file) files; /* by number: the number of the image */
	VEC(struct unwind_region) regions;
	struct hashmap region_at; /* key to index in `regions`; UINT64_MAX: removed */
	size_t sweeping;          /* index of the file that is being swept */
	struct rule_runs runs;    /* scratch */
};

/* `rules` is mapped and has ABI_UNWIND_RULES elements. All arguments are borrowed. */
void unwind_tables_init(struct unwind_tables *tables, int pages_fd, uint32_t max_pages,
			uint64_t *rules, struct abi_control *control,
			const struct fence *fence);
void unwind_tables_deinit(struct unwind_tables *tables);

/* Add [start, end) of a file's code, which some process maps. `number` is the file's
 * number, walk_code.number. Returns false if the file gets no table: it has no number,
 * the addresses are impossible, or memory allocation failed. */
bool unwind_tables_add(struct unwind_tables *tables, uint32_t number,
		       const struct cfi *cfi, uint64_t start, uint64_t end);

/* The image with this number is closed: stop building its table. Regions that exist stay
 * until they are evicted, since a process may still have a layout with the file. */
void unwind_tables_remove(struct unwind_tables *tables, uint32_t number);

/* Build the region around this address of the file if it is missing and can be built. */
void unwind_tables_want(struct unwind_tables *tables, uint32_t number, uint64_t address);

/* Build further regions of the files: for `cpu_ns` of processor time, until
 * CLOCK_MONOTONIC `until_ns`, or until three quarters of the memory are used. Returns
 * true while there are more to build. */
bool unwind_tables_sweep(struct unwind_tables *tables, uint64_t cpu_ns,
			 uint64_t until_ns);

/* Are there regions that unwind_tables_sweep() would build? */
bool unwind_tables_has_more(struct unwind_tables *tables);

/* Kernel memory that the pages take, in bytes. */
uint64_t unwind_tables_size_bytes(const struct unwind_tables *tables);

#endif
