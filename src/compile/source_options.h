/* SPDX-License-Identifier: Apache-2.0 */
/* What the BPF program of a run is compiled for. */
#ifndef COMPILE_SOURCE_OPTIONS_H
#define COMPILE_SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/code_load.h"
#include "bpf/kernel_offsets.h"
#include "bpf/ticks.h"
#include "kernel_heap/kernel_trace.h"
#include "plan/event.h"

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
	bool with_time; /* keep the allocation time of each block */
	bool traffic;   /* count by call path and thread; requires with_time */
	bool peak;      /* with traffic and atomics: count what is live at the peak */
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

/* Longest name of a program, with its NUL. */
#define PROGRAM_NAME_MAX CODE_NAME_MAX

#endif
