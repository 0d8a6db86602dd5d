/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to trace, as the user asked for it. The command line is parsed into this struct
 * (options.trace), which everything down to the compiler of the probes reads and nothing
 * changes. What a run adds to it (processes, features of the kernel) is in struct
 * source_run.
 */
#ifndef COMPILE_TRACE_CONFIG_H
#define COMPILE_TRACE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/sampling.h"

/* How to attach; auto: uprobe_multi if the kernel supports it. */
enum attach_choice {
	ATTACH_AUTO,
	ATTACH_MULTI,
	ATTACH_PERF
};

/* How stacks are unwound. Auto: for each frame, by rules if there is unwind information,
 * else by frame pointer. */
enum unwind_choice {
	UNWIND_CHOICE_AUTO,
	UNWIND_CHOICE_RULES,
	UNWIND_CHOICE_FP
};

/* Where blocks and numbers of stacks are stored: in arrays, with compare-and-exchange, or
 * in hashes. Auto: arrays if the kernel's BPF has compare-and-exchange. */
enum tables_choice {
	TABLES_AUTO,
	TABLES_ARRAYS,
	TABLES_HASHES
};

/* Which kernel headers the probes are compiled against. */
enum headers_mode {
	/* embedded if they agree with the kernel's BTF, else installed ones */
	HEADERS_AUTO,
	HEADERS_EMBEDDED,
	HEADERS_DIR
};

enum trace_mode_id {
#define MODE(id, name) TRACE_MODE_##id,
#include "compile/mode_rows.h"
#undef MODE
	TRACE_MODE_COUNT,
};

struct trace_config {
	enum trace_mode_id mode; /* its struct: trace/trace_mode.h */

	/* --- blocks --- */
	struct sampling sampling;
	uint64_t min_size_bytes, max_size_bytes; /* 0 and UINT64_MAX: no bound */
	bool mappings;                           /* trace mmap, munmap and mremap too */
	bool combined_only; /* keep no allocation time of blocks, unless `traffic` */
	bool traffic;       /* count by call path and thread */
	bool peak; /* with traffic, unless tables are hashes: count what is live when the
		      heap is largest */
	/* With traffic: a block freed by its own thread within this many of the thread's
	 * heap events is temporary. 0..63 */
	unsigned temporary_threshold;

	/* --- stacks --- */
	unsigned stack_depth; /* 1..127; 0: the default of the way stacks are unwound */
	bool kernel_stacks;   /* of an event: include the kernel part */
	bool apart;           /* forked children do not share stacks with their parent */
	enum unwind_choice unwind;
	/* Share of one processor for finding unwind rules: 1..100 percent, averaged over
	 * 20 s; not for UNWIND_CHOICE_FP. */
	unsigned unwind_cpu_percent;
	/* Kernel memory for the unwind rules of whole files, bytes; not for
	 * UNWIND_CHOICE_FP. */
	uint64_t unwind_memory_bytes;

	/* --- sizes of tables --- */
	/* 0: the default (trace/table_limits.h) */
	uint64_t max_allocations, max_stacks, table_memory_bytes;
	uint64_t max_threads; /* with traffic: most threads that are distinguished */
	/* at the same time, except with SCOPE_PROCESSES; at most 32768 */
	uint64_t max_processes;

	/* --- programs --- */
	enum attach_choice attach;
	enum tables_choice tables;
	enum headers_mode headers_mode;
	const char *headers_dir; /* with HEADERS_DIR; borrowed */
	bool no_cache;           /* always compile, and cache nothing */
};

/* Frames kept of each stack. `rules`: stacks are unwound by rules; such stacks are deeper
 * than those that end where frame pointers do. */
static inline unsigned trace_config_depth(const struct trace_config *config, bool rules)
{
	return config->stack_depth ? config->stack_depth : rules ? 127 : 64;
}

#endif
