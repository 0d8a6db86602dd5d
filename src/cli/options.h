/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as one const struct. One table (option_table.c) drives parsing, --help
 * and every error message about an option.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/tracer.h"
#include "report/report.h"
#include "util/error.h"

enum option_action {
	ACTION_TRACE,
	ACTION_REPLAY,
	ACTION_DIFF,
	ACTION_HELP,
	ACTION_VERSION,
	ACTION_PRIME_CACHE
};

enum color_choice {
	COLOR_AUTO, /* on a terminal, unless NO_COLOR says otherwise */
	COLOR_ALWAYS,
	COLOR_NEVER
};

/* Files beside the reports; cli/outputs.h. */
enum output_kind {
	OUTPUT_FLAMEGRAPH,
	OUTPUT_FLAME,
	OUTPUT_PPROF,
	OUTPUT_CSV,
	OUTPUT_JSON,
	OUTPUT_HTML,
	OUTPUT_SAVE,
	OUTPUT_KIND_COUNT
};

#define OPTIONS_MAX_PIDS 256

/* Values of an option that may be given again, each borrowed from argv. */
#define OPTION_LIST_MAX 16

struct option_list {
	const char *values[OPTION_LIST_MAX + 1]; /* ended by NULL */
};

struct options {
	enum option_action action;
	int pids[OPTIONS_MAX_PIDS]; /* --pid, each once; pid_count of them */
	size_t pid_count;
	bool follow_forks;       /* --follow-forks */
	bool group_by_process;   /* --group-by process; else path */
	char *const *command;    /* after "--": argv of a program to start, ended by
				    NULL; with --program alone, program_argv; else NULL.
				    Borrowed from argv. */
	const char *program;     /* --program: the file to start when that is not
				    command[0], or NULL; borrowed from argv */
	char *program_argv[2];   /* --program and NULL; "command" may point to it, so
				    that this struct is not to be copied */
	uint64_t interval_ns;    /* --interval, default 5 s */
	uint64_t count;          /* --count, 0: no bound */
	uint64_t duration_ns;    /* --duration, 0: no bound */
	uint64_t top;            /* --top, default 10, 0: all */
	uint64_t older_ns;       /* --older, default 500 ms; 0 with combined_only */
	uint64_t min_size_bytes; /* inclusive, 0: no bound */
	uint64_t max_size_bytes; /* inclusive, UINT64_MAX: no bound */
	uint64_t sample_every;   /* --sample-every, default 1 */
	uint64_t sample_bytes;   /* --sample-bytes, 0: not given */
	const char *view;        /* --view: a name of render/views.h, default "leaks" */
	enum report_sort sort;   /* --sort, default that of the view */
	uint64_t skip_bytes, skip_count; /* --skip-size, --skip-count, 0: no bound */
	/* --filter, --exclude: patterns that report/filter.h finds valid */
	struct option_list filters, excludes;
	struct option_list suppressions; /* --suppressions: files */
	const char *hide_frames; /* --hide-frames: "default" (which it is), "none" or a
				    file; borrowed from argv */
	enum color_choice color; /* --color */
	bool show_allocs, combined_only; /* never both */
	bool mappings;                   /* --mappings */
	bool otel_memory;                /* --otel-memory; never with mappings, function,
					    symbols_prefix or event */
	bool traffic; /* --traffic, or for want of it by --view or --sort */
	unsigned temporary_threshold; /* 0..63 */
	uint64_t max_threads;         /* default 16K (16384) */
	uint64_t max_processes;       /* default 16K (16384) */
	uint64_t max_allocations;     /* default 1M (1048576) */
	uint64_t max_stacks;         /* 0: by default as many as tracer_options.max_stacks
				       has */
	unsigned stack_depth;        /* 1..127; default 127, and 64 with fp */
	unsigned unwind_cpu_percent; /* --unwind-cpu: of one processor, 1..100, default 25
				      */
	uint64_t unwind_memory_bytes; /* --unwind-memory, default 32M */
	const char *format;           /* "text" (default) or "json": a renderer's name */
	const char *output;           /* --output FILE, NULL (also for "-"): stdout;
				    borrowed from argv, or "/dev/null" when stdout is
				    for one of files */
	/* --flamegraph, --flame, --pprof, --csv, --json, --html, --save: patterns
	   that cli/file_name.h finds valid, all different but for "/dev/null", or NULL;
	   "-" is stdout; borrowed from argv */
	const char *files[OUTPUT_KIND_COUNT];
	bool output_every;             /* only with one of files */
	bool inverted, reverse;        /* only with --flame or --html */
	bool no_lines;                 /* --no-lines */
	struct option_list debug_dirs; /* --debug-dir, each may be several with ':' */
	bool debuginfod, no_demangle;
	bool short_paths; /* --paths short */
	bool force, dry_run, quiet;
	unsigned verbose; /* how many -v */
	enum headers_mode headers_mode;
	const char *headers_dir; /* borrowed from argv */
	bool no_cache;
	bool no_return_probes;
	enum attach_choice attach;
	enum tables_choice tables;
	enum unwind_choice unwind;  /* --unwind, default auto */
	const char *library;        /* --lib PATH (-L, -O/--obj): look for the allocator
				       in this file only; NULL: detect. Borrowed. */
	const char *symbols_prefix; /* --symbols-prefix, or NULL; borrowed */
	const char *function;       /* --function, or NULL; borrowed */
	const char *event;          /* --event, which event_spec_parse() takes, or NULL;
				       borrowed */
	bool growth;                /* --growth; event is then that of page faults */
	bool kernel_stacks;         /* only with event */
	bool kernel;                /* --kernel; then at most one process */
	bool with_kernel;           /* --with-kernel; then just one, and not kernel */
	const char *diff_old;       /* --diff: the snapshot files to compare; with */
	const char *diff_new;       /* ACTION_DIFF only. Borrowed */
	const char *replay;         /* --replay: a snapshot file; with ACTION_REPLAY only.
				       Borrowed */
};

/*
 * Parse argv into `ret`. Of several values of one option the last counts, but all of
 * --pid and of lists. --help and --version end parsing at once: `action` is then all that
 * may be read. ERROR_USAGE names the option as it was written, what was expected and what
 * was given, escaped, in one line. `argv` must outlive `ret`.
 */
struct error *options_parse(int argc, char *const argv[], struct options *ret)
	__attribute__((warn_unused_result));

/* Print the help text, made from the option table, with examples. */
void options_help(FILE *out);

#endif
