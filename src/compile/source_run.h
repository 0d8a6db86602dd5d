/* SPDX-License-Identifier: Apache-2.0 */
/* Input of the compiler of the BPF programs: the configuration of the run, its targets,
 * and the abilities of the kernel. */
#ifndef COMPILE_SOURCE_RUN_H
#define COMPILE_SOURCE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/code_load.h"
#include "bpf/kernel_offsets.h"
#include "bpf/ticks.h"
#include "compile/source_mode.h"
#include "compile/trace_config.h"
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

/* With SCOPE_FORKS: when a process is traced. */
enum trace_execs {
	EXECS_OF_TRACED, /* from its fork on, if its parent is traced */
	/* also from its exec on, if it descends from a process of tracer_await_exec() */
	EXECS_OF_AWAITED,
	EXECS_ONLY, /* in both cases only from its exec on */
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

struct source_run {
	const struct trace_config *config;
	const struct source_mode *mode;

	/* --- the processes --- */
	enum trace_scope scope;
	enum trace_execs execs;
	bool one_process; /* with SCOPE_PROCESSES: only one process will be traced */
	struct pid_namespace pid_namespace;

	/* --- what modes count; each reads its own --- */
	const struct event_spec *event;
	const struct kernel_trace *kernel;
	const struct kernel_points *kernel_points;

	/* --- of the configuration, what this kernel and the mode allow --- */
	bool mappings;
	bool with_time; /* keep the allocation time of each block */
	bool traffic;
	bool peak;
	bool rules;           /* unwind by rules; else by frame pointer only */
	unsigned stack_depth; /* 1..127 */
	uint64_t max_stacks;
	uint64_t max_allocations;  /* live blocks */
	unsigned live_generations; /* for tests; 0: as few as possible */
	bool small_parts;          /* for tests: as many parts of stacks as possible */

	/* --- the kernel --- */
	struct tick_clock ticks;
	uint64_t stack_seed; /* ABI_RUN_STACK_SEED, the same in all compilations */
	struct kernel_offsets offsets;
	bool cookies;     /* the kernel has attach cookies (5.15) */
	bool sessions;    /* and sessions (6.13) */
	bool no_atomics;  /* no compare-and-exchange (5.12): all tables are hashes */
	bool no_task_btf; /* the kernel has no typed tasks (5.11) */
	bool may_goto;    /* loops whose end the verifier does not see (6.9) */
	bool checks;      /* check the sites inside functions (check.c) */

	/* --- this compilation --- */
	/* Which programs to compile: bits 1 << enum source_program. Without cookies each
	 * meaning has an entry program of its own, whatever these bits are. */
	unsigned programs;
	/* Programs read arguments in every register, whatever the meanings need. */
	bool all_registers;
	/* The programs use maps that another compilation of the run has created; this
	 * one's maps stay unused. */
	bool maps_are_there;
	/* Do not skip compiler passes to save time. The code does the same but looks
	 * different to the verifier. */
	bool thorough;
};

/* Longest name of a program, with its NUL. */
#define PROGRAM_NAME_MAX CODE_NAME_MAX

#endif
