/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of probe sites, made from the target and the options before anything is
 * attached. `--dry-run` prints it.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "code/body.h"
#include "plan/event.h"
#include "code/place.h"
#include "code/work.h"
#include "plan/returns.h"
#include "allocator/allocator.h"
#include "process/proc.h"
#include "util/error.h"
#include "util/vec.h"

struct other_code;
struct plan_cache;
struct scan_cache;

/* Offsets in one file, bytes, of the caller's breakpoints. */
struct plan_breakpoints {
	VEC(uint64_t) offsets;
};

struct plan_options {
	const char *library; /* search this file only; NULL: detect */
	/* prefix of the functions' names; NULL: search for the known functions */
	const char *symbols_prefix;
	/* Trace only the allocating function of this name; NULL: all. realloc and similar
	 * functions are still traced, as they free old blocks. */
	const char *function;
	bool mappings;         /* also trace mmap and its family */
	bool no_return_probes; /* as in struct site_options (plan/site.h) */
	/* Trace the USDT probes of programs that report their own blocks
	 * (allocator/allocator_otel.h) instead of functions. */
	bool otel;
	/* For tracee_plan(): count stacks at this event instead; NULL: do not.
	 * Borrowed. */
	const struct event_spec *event;
	/* Files with an executable mapping here already have their sites; NULL: none. */
	const struct proc_maps *known;
	/* Files that are not traced are counted here, also on failure: files that could
	 * not be read (allocator_options.untraced), and files whose allocators could
	 * not be planned. NULL: not counted. */
	struct untraced_files *untraced;
	bool is_shared; /* as in allocator_options */
	/* Other processes are probed, too. A file of theirs may have taken over the
	 * process that reads USDT notes. */
	bool has_others;
	/* for plan_build_for(): no process has mapped the files yet, so none has
	 * changed their code in its memory */
	bool unmapped;
	/*
	 * Get the caller's own breakpoints in the file at `path`; NULL: it has none. An
	 * int3 at one of these counts as the file's byte in every process, because the
	 * kernel inserts breakpoints into a new program before we read it. The result
	 * is borrowed until the plan is built. The function pointer is NULL if nothing
	 * is probed yet.
	 */
	const struct plan_breakpoints *(*find_breakpoints)(void *arg, const char *path);
	/*
	 * Does the function at this offset of the file have probes in all processes? For
	 * events `function` is 0, and `place` the offset of the probe. NULL: nothing is
	 * probed yet.
	 */
	bool (*is_probed)(void *arg, const char *path, uint64_t function, uint64_t place);
	void *breakpoints_arg; /* of both */
	/* The probes are for all processes: compare the code in the memory of all of
	 * them. NULL: only in the memory of one. Borrowed. */
	struct other_code *others;
	/*
	 * Why a return probe is not safe in the process `pid` (0: in all processes that
	 * may map the file): a static string, the same pointer for the same reason.
	 * NULL: it is safe. The function pointer is NULL if return probes are always
	 * safe.
	 */
	const char *(*refuse_returns)(void *arg, int pid);
	void *refuse_arg;
	/* Results for earlier processes (plan/plan_cache.h), borrowed; NULL: no cache. */
	struct plan_cache *cache;
	/* The same for what was found in libraries (allocator/scan_cache.h). */
	struct scan_cache *scans;
};

/* A function to be probed. */
struct plan_site {
	const struct alloc_function *function;
	uint64_t address;      /* address of the function, in the file's address space */
	uint64_t offset;       /* file offset of the function, bytes */
	uint64_t entry_offset; /* file offset of the entry probe, bytes */
	bool wants_return;     /* also a return probe */
	/* file offset of the return probe, bytes; there the return address is on top of
	 * the stack */
	uint64_t return_offset;
	/* distance from the stack pointer at the entry probe to the return address,
	 * bytes */
	int32_t sp_delta;
	uint8_t arg_reg[PLACE_ARGUMENTS]; /* registers of the arguments at the entry
					     probe, as in struct place */
	/* USDT probe: file offset of its semaphore, 0: none; and its arguments. arg_reg
	 * is then unused. */
	uint64_t ref_ctr;
	uint64_t code_offset; /* file offset of the code that leads to it; 0: `offset` */
	struct usdt_arg usdt[USDT_ARGS];
	bool is_private; /* of a static probe: as usdt_code.is_proven says, the process
			    may have chosen the place */
	/* Sites inside the function that can replace both probes; file offsets are
	 * site.offset + delta. If it is empty or cannot be used, the two probes are
	 * used. */
	struct body body;
	/* With wants_return: sites that replace the return probe, if the kernel supports
	 * their probes. If the list is empty, `no_returns` says why: a static string. It
	 * is NULL if `body` has sites. */
	struct return_sites returns;
	const char *no_returns;
	bool unrecorded;    /* new blocks of it are not recorded (options.function) */
	const char *reason; /* why this place was chosen; static string */
};

/* Is the result of such a call needed, with or without plan_options.mappings? */
bool plan_wants_return(const struct alloc_function *function, bool mappings);

enum plan_skip_why {
	PLAN_SKIP_SAME,     /* the same code as another function */
	PLAN_SKIP_JUMP,     /* begins with a jump to another function */
	PLAN_SKIP_INDIRECT, /* STT_GNU_IFUNC: the symbol is the resolver's */
	PLAN_SKIP_UNWANTED, /* excluded by options.function */
	PLAN_SKIP_REFUSED,  /* the kernel refuses probes at every possible place */
};

/* A function that was found and gets no probe. */
struct plan_skip {
	const struct alloc_function *function;
	enum plan_skip_why why;
	/* SAME and JUMP: the other function; else NULL */
	const struct alloc_function *other;
	/* REFUSED: why, static, or as long-lived as plan_options.others; else NULL */
	const char *reason;
};

/* An allocator of a file. */
struct plan_object {
	struct allocator allocator;
	char *build_id; /* of its file, or NULL */
	/* In the order of the table of functions. Functions at the same address
	 * (aliases), and a function that begins with a jump to another one, share a
	 * site, under the name that comes first. With options.mappings the free family
	 * has return probes too, so that an munmap inside a free is known as nested. */
	VEC(struct plan_site) sites;
	VEC(struct plan_skip) skipped;
	VEC(const struct alloc_function *) missing; /* common functions not found */
	struct work work;                           /* of analysing its code */
};

void plan_object_deinit(struct plan_object *object);

/* Remove the sites and the skipped functions. */
void plan_object_drop_sites(struct plan_object *object);

struct plan {
	VEC(struct plan_object) objects;
	/* Instead of objects: an event, borrowed, and, if it is in files, its places. */
	const struct event_spec *event;
	struct event_sites places;
	/* The answer of plan_options.refuse_returns(), if a function would have had a
	 * return probe. NULL: no function would, or it is safe. Static. */
	const char *refusal;
};

/*
 * Build the plan for `proc`, whose mappings are `maps`: an object for each allocator that
 * allocators_find() finds. Errors: as for allocators_find(); ERROR_NOT_FOUND: no object
 * has options.function; ERROR_UNSUPPORTED: none of the allocating or none of the freeing
 * functions can be probed; ERROR_UNSAFE: the same, because of options.refuse_returns(),
 * or because the process has changed the functions' code in its memory.
 */
struct error *plan_build(const struct proc *proc, const struct proc_maps *maps,
			 const struct plan_options *options, struct plan **ret)
	__attribute__((warn_unused_result));

/*
 * Like plan_build(), for allocators that were already found, whatever process maps
 * them. Takes ownership of `allocators`, also on failure. The code in memory cannot be
 * compared, so probes are inside functions only with options.unmapped.
 */
struct error *plan_build_for(struct allocators *allocators,
			     const struct plan_options *options, struct plan **ret)
	__attribute__((warn_unused_result));

/* Build the plan for an event. `proc` (NULL: no process is known) has the mappings
 * `maps`. Errors as for event_sites_find(). `event` must outlive the plan. */
struct error *plan_build_event(const struct event_spec *event, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options, struct plan **ret)
	__attribute__((warn_unused_result));
void plan_destroy(struct plan *plan);

/* Does it probe a function that allocates blocks, or one that frees them? */
bool plan_records(const struct plan *plan);
bool plan_frees(const struct plan *plan);

/* The number of sites of all objects; for an event, of its places. */
size_t plan_site_count(const struct plan *plan);

/* Upper bound on the number of probes for all objects. */
size_t plan_probe_count(const struct plan *plan);

/* Does the plan use return probes? `bodies` as for plan_print(). */
bool plan_has_return_probes(const struct plan *plan, bool bodies);

/*
 * Receives a function without a probe that the target may call: one of
 * allocator.hidden, one that was found where a probe is impossible (`reason` says why),
 * or an indirect malloc or free. Each of these makes the numbers wrong. `reason` is
 * NULL for a hidden function. USDT probes are not reported.
 */
typedef void (*plan_untraced_fn)(void *arg, const struct plan_object *object,
				 const struct alloc_function *function,
				 const char *reason);

/* Call `fn` (may be NULL) for each such function. Returns their number. */
size_t plan_untraced(const struct plan *plan, plan_untraced_fn fn, void *arg);

/* Print a warning for each such function. */
void plan_warn_untraced(const struct plan *plan);

/* Print why USDT probes are not traced: each reason once for each file and probe, with
 * the number of places. Their blocks are missing from all numbers. */
void plan_warn_untraced_usdt(const struct plan *plan);

/* Print the plan for users: for each object its file, its build-id, a line for each
 * probe, and what is missing. Names from the target are escaped. With `bodies`, probes
 * inside functions replace others (plan_site.body). */
void plan_print(const struct plan *plan, bool bodies, FILE *out);

#endif
