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

#include "plan/body.h"
#include "plan/event.h"
#include "plan/place.h"
#include "plan/returns.h"
#include "target/allocator.h"
#include "target/proc.h"
#include "util/error.h"
#include "util/vec.h"

struct plan_cache;

/* Offsets in one file, bytes, where the caller has breakpoints. */
struct plan_breakpoints {
	VEC(uint64_t) offsets;
};

struct plan_options {
	const char *library; /* look in this file only; NULL: detect */
	const char
		*symbols_prefix; /* of the functions' names; NULL: those that are known */
	/* Of the functions that allocate take those of this name only; NULL: all.
	 * realloc and its like stay, to take old blocks away. */
	const char *function;
	bool mappings;         /* trace mmap and its family too */
	bool no_return_probes; /* see site_options of plan/site.h */
	bool otel; /* trace the USDT probes by which programs report their blocks
		      (target/allocator_otel.h), and no functions */
	/* Count stacks at this event instead: of tracee_plan(); NULL: do not. Borrowed.
	 */
	const struct event_spec *event;
	/* Files that are mapped executable here have their sites already; NULL: none. */
	const struct proc_maps *known;
	/* Counts files that are not traced, also on failure: those that could not be read
	 * (allocator_options.untraced), and those whose allocators could not be planned.
	 * NULL: not counted. */
	struct untraced_files *untraced;
	bool is_shared; /* as in allocator_options */
	bool unmapped;  /* of plan_build_for(): no process has the files mapped yet, and
			   so none can have changed their text in its memory */
	/*
	 * The caller's own breakpoints in the file at `path`; NULL: it has none. An int3
	 * there counts as the file's byte, in every process: the kernel puts breakpoints
	 * into a new program before we look at it. The result is borrowed until the plan
	 * is built. The function itself is NULL when nothing is probed yet.
	 */
	const struct plan_breakpoints *(*find_breakpoints)(void *arg, const char *path);
	void *breakpoints_arg;
	/*
	 * Why a return probe is not safe in the process `pid` (0: in all that may map the
	 * file): a static string, the same one for the same reason. NULL: it is safe. The
	 * function itself is NULL when return probes are always safe.
	 */
	const char *(*refuse_returns)(void *arg, int pid);
	void *refuse_arg;
	/* What was found for processes before (plan/plan_cache.h), borrowed; NULL: forget
	 * it all. */
	struct plan_cache *cache;
};

/* One function to be probed. */
struct plan_site {
	const struct alloc_function *function;
	uint64_t address;       /* of the function, in the file's address space */
	uint64_t offset;        /* the same as file offset, bytes */
	uint64_t entry_offset;  /* file offset of the entry probe, bytes */
	bool wants_return;      /* also a return probe */
	uint64_t return_offset; /* file offset of the return probe, bytes: where the
				   return address is on top of the stack */
	int32_t sp_delta;       /* from the stack pointer at the entry probe to the
				   return address, bytes */
	uint8_t arg_reg[PLACE_ARGUMENTS]; /* of the arguments there, as in struct place */
	/* Of a static probe the offset of its semaphore in the file, 0: none; and where
	 * its arguments are: arg_reg has none of them then. */
	uint64_t ref_ctr;
	struct usdt_arg told[USDT_ARGS];
	/* Sites inside that can take the place of both probes; file offsets are
	 * site.offset + delta. Without any, or where they are of no use, the others. */
	struct body body;
	/* With wants_return: sites that take the place of the return probe, if the kernel
	 * supports their probes. If there are none, `no_returns` says why: a static
	 * string. It is NULL if `body` has sites. */
	struct return_sites returns;
	const char *no_returns;
	bool unrecorded;    /* its new blocks are not recorded (options.function) */
	const char *reason; /* why this place; static string */
};

/* Does the result of such a call matter, with or without plan_options.mappings? */
bool plan_wants_return(const struct alloc_function *function, bool mappings);

enum plan_skip_why {
	PLAN_SKIP_SAME,     /* the same code as another function */
	PLAN_SKIP_JUMP,     /* begins with a jump to another function */
	PLAN_SKIP_INDIRECT, /* STT_GNU_IFUNC: the symbol is the code that chooses it */
	PLAN_SKIP_UNWANTED, /* left out by options.function */
	PLAN_SKIP_REFUSED,  /* no place where the kernel takes a probe */
};

/* One function that is there and gets no probe. */
struct plan_skip {
	const struct alloc_function *function;
	enum plan_skip_why why;
	const struct alloc_function *other; /* of SAME and JUMP, else NULL */
	const char *reason;                 /* of REFUSED, static; else NULL */
};

/* One allocator of one file. */
struct plan_object {
	struct allocator allocator;
	char *build_id;              /* of the allocator's file, or NULL */
	VEC(struct plan_site) sites; /* in the order of the table of functions */
	VEC(struct plan_skip) skipped;
	VEC(const struct alloc_function *) missing; /* common functions not found */
};

void plan_object_deinit(struct plan_object *object);

struct plan {
	VEC(struct plan_object) objects;
	/* Instead of objects: an event, borrowed, and, where it is in files, its places.
	 */
	const struct event_spec *event;
	struct event_sites places;
	/* What plan_options.refuse_returns() gave, if a function would have had a return
	 * probe; NULL: none would, or it is safe. Static. */
	const char *refusal;
};

/*
 * Build the plan for `proc`, whose mappings are `maps`: an object for each allocator that
 * allocators_find() finds. Functions of one object at one address (aliases) get one
 * site, under the name that comes first in the table; so do functions that begin with a
 * jump to another one. With options.mappings the free family gets return probes too, so
 * that an munmap inside a free is known to be nested. Errors: those of
 * allocators_find(), ERROR_NOT_FOUND when no object has options.function,
 * ERROR_UNSUPPORTED when no function that allocates, or none that frees, can be probed;
 * ERROR_UNSAFE when that is because of options.refuse_returns().
 */
struct error *plan_build(const struct proc *proc, const struct proc_maps *maps,
			 const struct plan_options *options, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * The same for allocators that were found already (which the plan takes over, also on
 * failure), whatever process has mapped them: then no text in memory can be compared, and
 * no probe sits inside a function but with options.unmapped.
 */
struct error *plan_build_for(struct allocators *allocators,
			     const struct plan_options *options, struct plan **ret)
	__attribute__((warn_unused_result));

/* The plan of an event, of which `proc` (NULL: no process is known) has `maps` mapped.
 * Errors are those of event_sites_find(). `event` must outlive the plan. */
struct error *plan_build_event(const struct event_spec *event, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options, struct plan **ret)
	__attribute__((warn_unused_result));
void plan_destroy(struct plan *plan);

/* How many sites all objects have; of an event, how many places. */
size_t plan_site_count(const struct plan *plan);

/* How many probes the sites of all objects have at most. */
size_t plan_probe_count(const struct plan *plan);

/* Does it take return probes? `bodies` as for plan_print(). */
bool plan_has_return_probes(const struct plan *plan, bool bodies);

/*
 * Without a probe though the target may call it: a function of allocator.hidden, one that
 * was found where no probe can be, or an indirect malloc or free. While there is one the
 * numbers are wrong. `reason` is NULL of a hidden one. Static probes are not among them.
 */
typedef void (*plan_untraced_fn)(void *arg, const struct plan_object *object,
				 const struct alloc_function *function,
				 const char *reason);

/* Call `fn` (when not NULL) for each such function; how many there are. */
size_t plan_untraced(const struct plan *plan, plan_untraced_fn fn, void *arg);

/* Print a line of warning for each: wrong numbers follow. */
void plan_warn_untraced(const struct plan *plan, FILE *out);

/* Print the plan for people: for each object its file, build-id, one line per probe, and
 * what is missing. Names of the target are escaped. With `bodies` probes inside functions
 * take the place of others (plan_site.body). */
void plan_print(const struct plan *plan, bool bodies, FILE *out);

#endif
