/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the probes go: target and options turned into a list of sites, before anything
 * is attached. `--dry-run` prints it.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "target/allocator.h"
#include "target/proc.h"
#include "util/error.h"
#include "util/vec.h"

struct plan_options {
	const char *library; /* look in this file only; NULL: detect */
	bool mappings;       /* trace mmap and its family too */
};

/* One function to be probed. */
struct plan_site {
	const struct alloc_function *function;
	uint64_t address;       /* of the function, in the file's address space */
	uint64_t entry_offset;  /* file offset of the entry probe, bytes */
	bool wants_return;      /* also a return probe, at the function's first byte */
	uint64_t return_offset; /* file offset of the return probe, bytes */
	const char *reason;     /* why this place; static string */
};

/* One function that is there and gets no probe. */
struct plan_skip {
	const struct alloc_function *function;
	/* The function of the site with the same code, or NULL: an indirect function
	 * (STT_GNU_IFUNC), whose symbol is the code that chooses the function. */
	const struct alloc_function *same_as;
};

struct plan {
	struct allocator allocator;
	char *build_id;              /* of the allocator's file, or NULL */
	VEC(struct plan_site) sites; /* in the order of alloc_libc_functions */
	VEC(struct plan_skip) skipped;
	VEC(const struct alloc_function *) missing; /* optional functions not found */
};

/*
 * Build the plan for `proc`, whose mappings are `maps`. Aliases (two names, one
 * address) get one site, under the name that comes first in the table. With
 * options.mappings the free family gets return probes too, so that an munmap inside a
 * free is known to be nested. Errors: those of allocator_find(), ERROR_NOT_FOUND when a
 * required function is missing, ERROR_UNSUPPORTED when one cannot be probed.
 */
struct error *plan_build(const struct proc *proc, const struct proc_maps *maps,
			 const struct plan_options *options, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * The same for the file of a given allocator (which the plan takes over, also on
 * failure), whatever process has mapped it.
 */
struct error *plan_build_for(struct allocator *allocator, bool mappings,
			     struct plan **ret) __attribute__((warn_unused_result));
void plan_destroy(struct plan *plan);

/* Print the plan for people: allocator, build-id, one line per probe, what is missing.
 * Paths are escaped. */
void plan_print(const struct plan *plan, FILE *out);

#endif
