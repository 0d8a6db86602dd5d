/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program of one run: the fragments of probes/ joined into one text, and the
 * constants that size and shape it as -D flags, so that what is not asked for is not
 * there.
 */
#ifndef BPF_SOURCE_H
#define BPF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/code_load.h"
#include "bpf/kernel_offsets.h"
#include "bpf/kernel_trace.h"
#include "bpf/ticks.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "util/error.h"
#include "util/vec.h"

/* A pid namespace as bpf_get_ns_current_pid_tgid() wants it named. */
struct pid_namespace {
	uint64_t device; /* as the kernel encodes it (include/linux/kdev_t.h) */
	uint64_t inode;  /* 0: the initial one, in which BPF numbers processes anyway */
};

/* The pid namespace of this process. */
void pid_namespace_read(struct pid_namespace *ret);

/* Which processes are traced. */
enum trace_scope {
	SCOPE_PROCESSES, /* those that memtrace takes up */
	SCOPE_FORKS,     /* and all that they fork */
	SCOPE_ALL,       /* every one that comes upon a probe, but for memtrace itself */
};

/* The programs of allocators' calls (probes/hooks.c). Each has all that it does compiled
 * into it, so each that is not there saves its part of the time. */
enum source_program {
	SOURCE_ON_SESSION,
	SOURCE_ON_RETURN,
	SOURCE_ON_CALL,
	SOURCE_ON_FREE,   /* on_free, or on_free_here */
	SOURCE_ON_RESULT, /* of sites inside functions */
	SOURCE_PROGRAM_COUNT,
};

struct source_options {
	enum trace_scope scope;
	struct pid_namespace pid_namespace;
	struct tick_clock ticks;
	unsigned stack_depth; /* 1..127 */
	uint64_t max_allocations, max_stacks;
	uint64_t sample_every;                   /* 1: all */
	uint64_t sample_bytes;                   /* 0: not by bytes */
	uint64_t min_size_bytes, max_size_bytes; /* 0 and UINT64_MAX: no bound */
	bool mappings;
	bool with_time;         /* keep the time of each block */
	bool traffic;           /* count by call path and thread; needs with_time */
	uint64_t max_threads;   /* with traffic */
	uint64_t max_processes; /* but with SCOPE_PROCESSES; at most 32768 */
	/* With rules: kernel memory for the unwind tables of whole files. */
	uint64_t unwind_memory_bytes;
	unsigned temporary_threshold; /* with traffic: at most so many events between */
	bool cookies;                 /* the kernel has attach cookies (5.15) */
	bool sessions;                /* and sessions (6.13) */
	bool no_atomics;              /* no compare-and-exchange (5.12): all in hashes */
	bool no_task_btf;             /* the kernel has no typed tasks (5.11) */
	bool may_goto;                /* it takes loops of which it sees no end (6.9) */
	bool one_process;             /* with SCOPE_PROCESSES: there will be just one */
	bool apart;             /* forked children share no stacks with their parent */
	bool rules;             /* walk by rules; else by frame pointer alone */
	bool no_frame_pointers; /* with rules: never by frame pointer */
	/* Count stacks at this event instead of tracing allocations; NULL: do not. */
	const struct event_spec *event;
	bool kernel_stacks; /* the kernel's part of the stack too */
	/* Trace the kernel's own allocations at these points; NULL: do not. */
	const struct kernel_points *kernel_points;
	const struct kernel_trace *kernel; /* with kernel_points */
	bool checks; /* sites inside functions are checked (check.c) */
	bool told;   /* blocks by static probes only, and no calls (told.c) */
	/* Bits 1 << enum source_program: those that are wanted. Without cookies each
	 * meaning has a program, and there are no others for entries. */
	unsigned programs;
	/* For further programs of a run: its maps are there already, and those that come
	 * with these programs are not used. */
	bool maps_are_there;
	/* Leave nothing out to compile faster. The code does the same, and differs in
	 * what the verifier makes of it. */
	bool thorough;
	struct kernel_offsets offsets;
};

/* Sizes that follow from the options; both sides must agree on them. */
struct source_sizes {
	uint32_t cpu_slots;     /* records of `counters`, a power of two */
	uint32_t process_slots; /* of `processes`, a power of two */
	/* Without atomics there are no buckets, and all is in the spills. */
	uint32_t live_buckets;
	uint32_t live_spill;    /* entries */
	uint32_t pending_spill; /* entries */
	uint32_t stack_buckets;
	uint32_t max_stacks;
	uint32_t stack_depth;           /* return addresses that a stack has at most */
	uint32_t stack_pcs_blocks;      /* of `stack_pcs` (abi_walk.h) */
	uint32_t rule_buckets;          /* a power of two */
	uint32_t unwind_pages, layouts; /* entries of these maps */
	/* With traffic, else 0. */
	uint32_t thread_slots; /* of `threads`, a power of two */
	uint32_t thread_record_bytes;
};

/* What calls mean to the probes: ABI_SITE of probes/abi.h. */
struct meanings {
	VEC(uint64_t) list;
};

struct source {
	char *text;
	char **flags; /* flag_count of them */
	size_t flag_count;
	struct run_values values; /* what is not in the text, nor in the flags */
	VEC(uint64_t) sites;      /* meanings, each once */
	unsigned registers;       /* bit n: arguments may be in register n */
	bool cookies;
	bool one_process; /* on_free_here takes the place of on_free, and on_session is
			     such as well */
	bool keeps_tids;  /* there is a program on_thread_end */
	struct source_sizes sizes;
};

/* The table sizes for `options`. */
void source_sizes_compute(const struct source_options *options, struct source_sizes *ret);

/*
 * Join and configure, for probes of these meanings. Without cookies each meaning gets a
 * program of its own, named by source_entry_name(), with the meaning compiled in.
 */
struct error *source_build(const struct source_options *options,
			   const struct meanings *meanings, struct source **ret)
	__attribute__((warn_unused_result));
void source_destroy(struct source *source);

/* The meaning of a call of the site's function. `allocator` is the number of the
 * function's allocator. `number` is the site's number, at most ABI_MAX_SITES - 1.
 * `inside`: sites inside the function see the result, and it has no return probe. */
uint64_t source_site(const struct plan_site *site, unsigned allocator, unsigned number,
		     bool inside);

/* The same at one of site.body.sites. */
uint64_t source_body_site(const struct plan_site *site, const struct body_site *at,
			  unsigned allocator, unsigned number);

/* The same at one of site.returns.list: unless it is_whole it serves all functions that
 * come there. And at one of site.returns.entries. */
uint64_t source_return_site(const struct plan_site *site, const struct return_site *at,
			    unsigned allocator);
uint64_t source_entry_site(const struct plan_site *site, const struct entry_site *at,
			   unsigned allocator, unsigned number);

/* The same at one of site.returns.exits, without the number of the check. */
uint64_t source_exit_site(const struct plan_site *site, const struct return_exit *exit);

/* Does a probe of this meaning begin calls, or else see their results? */
bool source_site_begins(uint64_t site);

/* The index of a meaning in source.sites, or their count when it is not there. */
size_t source_site_index(const struct source *source, uint64_t site);

/* Can the compiled programs serve a probe of this meaning? Those that were given to
 * source_build() always; with cookies also others, of which the arguments are in the same
 * registers or in those of the calling convention. */
bool source_serves(const struct source *source, uint64_t site);

/* Longest name of a program, with its NUL. */
#define PROGRAM_NAME_MAX CODE_NAME_MAX

/* The program of a tracepoint of the kernel's allocations. */
void source_point_name(const struct kernel_point *point, char ret[PROGRAM_NAME_MAX]);

/* The entry program of meaning number `index` when there are no cookies. */
void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX]);

#endif
