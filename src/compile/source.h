/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the BPF program of one run: joins the fragments of probes/ into one text, and
 * sets sizes and features by -D flags, so that features that are off are not compiled. */
#ifndef COMPILE_SOURCE_H
#define COMPILE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/code_load.h"
#include "bpf/kernel_offsets.h"
#include "kernel_heap/kernel_trace.h"
#include "bpf/ticks.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "util/error.h"
#include "util/vec.h"

/* A pid namespace, in the form that bpf_get_ns_current_pid_tgid() takes. */
struct pid_namespace {
	uint64_t device; /* as the kernel encodes it (include/linux/kdev_t.h) */
	uint64_t inode;  /* 0: the initial one, whose numbers BPF uses anyway */
};

/* The pid namespace of this process. */
void pid_namespace_read(struct pid_namespace *ret);

/* Which processes are traced. */
enum trace_scope {
	SCOPE_PROCESSES, /* the processes that memtrace selects */
	SCOPE_FORKS,     /* and all their descendants */
	/* system-wide: every process that hits a probe, except memtrace itself */
	SCOPE_ALL,
};

/* The programs for allocator calls (probes/hooks.c). Each contains a copy of everything
 * that it calls, so each one left out saves compile time. */
enum source_program {
	SOURCE_ON_SESSION,
	SOURCE_ON_RETURN,
	SOURCE_ON_CALL,
	SOURCE_ON_FREE,   /* on_free, or on_free_here */
	SOURCE_ON_RESULT, /* for sites inside functions */
	SOURCE_PROGRAM_COUNT,
};

struct source_options {
	enum trace_scope scope;
	struct pid_namespace pid_namespace;
	struct tick_clock ticks;
	unsigned stack_depth; /* 1..127 */
	uint64_t max_allocations, max_stacks;
	uint64_t sample_every;                   /* 1: all */
	uint64_t sample_bytes;                   /* 0: do not sample by bytes */
	uint64_t min_size_bytes, max_size_bytes; /* 0 and UINT64_MAX: no bound */
	bool mappings;
	bool with_time;         /* keep the allocation time of each block */
	bool traffic;           /* count by call path and thread; requires with_time */
	uint64_t max_threads;   /* with traffic */
	uint64_t max_processes; /* except with SCOPE_PROCESSES; at most 32768 */
	/* With rules: kernel memory for the unwind tables of whole files. */
	uint64_t unwind_memory_bytes;
	/* With traffic: a block freed by its own thread within this many of the thread's
	 * heap events is temporary. */
	unsigned temporary_threshold;
	bool cookies;     /* the kernel has attach cookies (5.15) */
	bool sessions;    /* and sessions (6.13) */
	bool no_atomics;  /* no compare-and-exchange (5.12): all tables are hashes */
	bool no_task_btf; /* the kernel has no typed tasks (5.11) */
	bool may_goto;    /* loops whose end the verifier does not see (6.9) */
	bool one_process; /* with SCOPE_PROCESSES: only one process will be traced */
	bool apart;       /* forked children do not share stacks with their parent */
	bool rules;       /* unwind by rules; else by frame pointer only */
	bool no_frame_pointers; /* with rules: never use the frame pointer */
	/* Count stacks at this event instead of tracing allocations; NULL: trace. */
	const struct event_spec *event;
	bool kernel_stacks; /* include the kernel part of the stack */
	/* Trace the kernel's own allocations at these points; NULL: do not. */
	const struct kernel_points *kernel_points;
	const struct kernel_trace *kernel; /* with kernel_points */
	bool checks; /* check the sites inside functions (check.c) */
	bool told;   /* blocks only by USDT probes, no calls (usdt.c) */
	/* Which programs to compile: bits 1 << enum source_program. Without cookies each
	 * meaning has an entry program of its own, whatever these bits are. */
	unsigned programs;
	/* The programs use maps that another compilation of the run has created; this
	 * one's maps stay unused. */
	bool maps_are_there;
	/* Do not skip compiler passes to save time. The code does the same but looks
	 * different to the verifier. */
	bool thorough;
	struct kernel_offsets offsets;
};

/* Table sizes that follow from the options. The probes and memtrace must use the same. */
struct source_sizes {
	uint32_t cpu_slots;     /* records of `counters`, a power of two */
	uint32_t process_slots; /* of `processes`, a power of two */
	/* 0 without atomics: all elements are in the spill maps then. */
	uint32_t live_buckets;
	uint32_t live_spill;    /* entries */
	uint32_t pending_spill; /* entries */
	uint32_t stack_buckets;
	uint32_t max_stacks;
	uint32_t stack_depth;           /* return addresses per stack at most */
	uint32_t stack_pcs_blocks;      /* of `stack_pcs` (abi_walk.h) */
	uint32_t rule_buckets;          /* a power of two */
	uint32_t unwind_pages, layouts; /* entries of these maps */
	/* 0 without traffic: */
	uint32_t thread_slots; /* of `threads`, a power of two */
	uint32_t thread_record_bytes;
};

/* Meanings of probe sites: ABI_SITE of probes/abi.h. */
struct meanings {
	VEC(uint64_t) list;
};

struct source {
	char *text;
	char **flags; /* flag_count of them */
	size_t flag_count;
	/* values that are neither in the text nor in the flags */
	struct run_values values;
	VEC(uint64_t) sites; /* meanings, without duplicates */
	unsigned registers;  /* bit n: an argument may be in register n */
	bool cookies;
	/* on_free_here replaces on_free, and on_session also serves only one process */
	bool one_process;
	bool keeps_tids; /* there is a program on_thread_end */
	struct source_sizes sizes;
};

/* Compute the table sizes for `options`. */
void source_sizes_compute(const struct source_options *options, struct source_sizes *ret);

/* Build the source for probes with these meanings. Without cookies each meaning gets a
 * program of its own, with the meaning compiled in; source_entry_name() gives its
 * name. */
struct error *source_build(const struct source_options *options,
			   const struct meanings *meanings, struct source **ret)
	__attribute__((warn_unused_result));
void source_destroy(struct source *source);

/*
 * The meaning of a call of the site's function. `allocator` is the number of the
 * function's allocator. `number` is the site's number, at most ABI_MAX_SITES - 1.
 * `inside`: sites inside the function see the result, so the function has no return
 * probe.
 */
uint64_t source_site(const struct plan_site *site, unsigned allocator, unsigned number,
		     bool inside);

/* The meaning of one of site.body.sites. */
uint64_t source_body_site(const struct plan_site *site, const struct body_site *at,
			  unsigned allocator, unsigned number);

/* The meaning of one of site.returns.list: unless is_whole, it serves all functions that
 * jump there. And the meaning of one of site.returns.entries. */
uint64_t source_return_site(const struct plan_site *site, const struct return_site *at,
			    unsigned allocator);
uint64_t source_entry_site(const struct plan_site *site, const struct entry_site *at,
			   unsigned allocator, unsigned number);

/* The meaning of one of site.returns.exits, without the number of the check. */
uint64_t source_exit_site(const struct plan_site *site, const struct return_exit *exit);

/* Does a probe with this meaning begin a call, rather than read its result? */
bool source_site_begins(uint64_t site);

/* The index of a meaning in source.sites, or source.sites.len if it is missing. */
size_t source_site_index(const struct source *source, uint64_t site);

/* Can the compiled programs serve a probe with this meaning? Those given to
 * source_build() always; with cookies also others, if their arguments are in registers
 * that those meanings or the calling convention use. */
bool source_serves(const struct source *source, uint64_t site);

/* Longest name of a program, with its NUL. */
#define PROGRAM_NAME_MAX CODE_NAME_MAX

/* The name of the program for a tracepoint of the kernel's allocations. */
void source_point_name(const struct kernel_point *point, char ret[PROGRAM_NAME_MAX]);

/* The name of the entry program for meaning number `index`, without cookies. */
void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX]);

#endif
