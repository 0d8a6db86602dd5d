/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's copy of whole files' unwind rules (probes/abi_walk.h, "unwind tables"), in
 * which the probes look up call sites that they meet for the first time. It is built a
 * region of a file at a time: what a stack leads through at once, the rest of the file
 * when there is time. When there is no room, the regions that the probes have not used
 * for the longest time go.
 */
#ifndef BPF_UNWIND_TABLES_H
#define BPF_UNWIND_TABLES_H

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
	const struct cfi *cfi; /* borrowed until unwind_tables_forget(); NULL: no file */
	uint64_t start, end; /* of the code that processes map, in the file's addresses */
	uint64_t swept;      /* built up to here, or tried */
};

struct unwind_region {
	uint64_t key;   /* of its page 0 */
	uint32_t pages; /* with that one; 0: nothing can be had of the region */
};

struct unwind_tables {
	struct fenced_map pages;
	uint64_t *rules;             /* mapped, ABI_UNWIND_RULES of them; borrowed */
	struct abi_control *control; /* mapped; borrowed */
	uint32_t max_pages;
	uint32_t page_count, rule_count;
	struct hashmap rule_numbers;   /* of a rule */
	VEC(struct unwind_file) files; /* by number, which is that of the image */
	VEC(struct unwind_region) regions;
	struct hashmap region_at; /* key to index, or UINT64_MAX */
	size_t sweeping;          /* index of the file that is swept */
	struct rule_runs runs;    /* scratch */
};

/* `rules` is mapped, ABI_UNWIND_RULES of them; it and the rest are borrowed. */
void unwind_tables_init(struct unwind_tables *tables, int pages_fd, uint32_t max_pages,
			uint64_t *rules, struct abi_control *control,
			const struct fence *fence);
void unwind_tables_deinit(struct unwind_tables *tables);

/* Processes map [start, end) of the code of the file with this number, which is
 * walk_code.number. Returns false when the tables do without the file: it has no number,
 * no such addresses are possible, or there is no memory. */
bool unwind_tables_add(struct unwind_tables *tables, uint32_t number,
		       const struct cfi *cfi, uint64_t start, uint64_t end);

/* The image with this number is closed: no more of it is built. What is there stays until
 * it is evicted, since a process may still have a layout with the file. */
void unwind_tables_forget(struct unwind_tables *tables, uint32_t number);

/* Make sure that the region around this address of the file is there, if it can be. */
void unwind_tables_want(struct unwind_tables *tables, uint32_t number, uint64_t address);

/* Build further regions of the files, until CLOCK_MONOTONIC `until_ns`, or until three
 * quarters of the room are taken. Returns true while there are more to build. */
bool unwind_tables_sweep(struct unwind_tables *tables, uint64_t until_ns);

/* Kernel memory that the pages take. */
uint64_t unwind_tables_size_bytes(const struct unwind_tables *tables);

#endif
