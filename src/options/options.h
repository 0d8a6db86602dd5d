/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parsed command line, as one struct that does not change during the run. One table
 * (option_table.c) drives parsing, --help and every error message about an option.
 */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "compile/trace_config.h"
#include "render/format.h"
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

/* What --help shows: the options that are used most, all options, or one group. */
enum help_topic {
	HELP_SHORT,
	HELP_ALL,
	HELP_EXAMPLES,
	HELP_GROUP, /* HELP_GROUP + enum option_group */
};

enum color_choice {
	COLOR_AUTO, /* on a terminal, unless NO_COLOR or TERM forbids it */
	COLOR_ALWAYS,
	COLOR_NEVER
};

#define OPTIONS_MAX_PIDS 256

/* The values of an option that can be repeated, each borrowed from argv. */
#define OPTION_LIST_MAX 16

struct option_list {
	const char *values[OPTION_LIST_MAX + 1]; /* ended by NULL */
};

struct options {
	enum option_action action;
	/* How to trace. `traffic` and `peak` are also set if --view, --sort, --flame-of
	 * or --save needs them. */
	struct trace_config trace;
	enum help_topic help_topic; /* --help; default HELP_SHORT */
	int pids[OPTIONS_MAX_PIDS]; /* --pid, without duplicates; pid_count entries */
	size_t pid_count;
	const char *wait_for; /* --wait-for: borrowed from argv; then pid_count is 1, and
				 pids[0] is 0; NULL: not given */
	const char *follow_exec_of; /* --follow-exec-of: borrowed from argv; then
				       pid_count is 1, and pids[0] is the supervisor, or
				       `wait_for` its name; NULL: not given */
	bool follow_forks;          /* --follow-forks */
	bool all;                   /* --all; then no process or command */
	enum report_group group_by; /* --group-by, default REPORT_GROUP_PATH */
	char *const *command;       /* after "--": argv of the program to start, ended by
				       NULL; with --program alone: program_argv; NULL: no
				       program to start. Borrowed from argv. */
	const char *program;   /* --program: the file to execute instead of command[0];
				  NULL: not given; borrowed from argv */
	char *program_argv[2]; /* --program and NULL. `command` may point here, so this
				  struct must not be copied. */
	uint64_t interval_ns;  /* --interval, default 5 s */
	uint64_t count;        /* --count; 0: no limit */
	uint64_t duration_ns;  /* --duration; 0: no limit */
	uint64_t top;          /* --top, default 10; 0: all */
	uint64_t older_ns;     /* --older, default 500 ms; 0 with trace.combined_only */
	const char *view; /* --view: a name from render/views/views.h, default "leaks",
			     but "functions" with --group-by function and so on */
	enum report_sort sort;           /* --sort; default: the order of the view */
	uint64_t skip_bytes, skip_count; /* --skip-size, --skip-count; 0: no limit */
	/* --filter, --exclude: patterns that report_filter_add() accepts */
	struct option_list filters, excludes;
	struct option_list suppressions; /* --suppressions: files */
	const char *hide_frames; /* --hide-frames: "default" (also the default), "none" or
				    a file name; borrowed from argv */
	enum color_choice color; /* --color */
	bool show_allocs;        /* not with trace.combined_only */
	bool unreachable;        /* --unreachable; also set if another option needs it */
	uint64_t unreachable_every; /* --unreachable-every; 0: not given */
	uint64_t max_pause_ns;      /* --max-pause, default 1 s */
	bool unreachable_unaligned, unreachable_tagged, unreachable_strict;
	const char *format;          /* --format: a renderer's name, default "text" */
	bool brief_on_terminal;      /* "brief" instead if the reports go to a
					terminal */
	bool final_only_on_terminal; /* on a terminal only the last report is printed,
					since the run is about its files */
	bool any_height;             /* --top was given: the brief report may be higher
					than the terminal */
	const char *output;          /* --output FILE; NULL (also for "-"): stdout;
					borrowed from argv, or "/dev/null" if one of
					`files` uses stdout */
	/* --flamegraph, --flame, --pprof, --csv, --json, --html, --save: patterns for
	 * which file_name_is_valid() is true, or NULL. No two are equal, except
	 * "/dev/null". "-" is stdout. Borrowed from argv. */
	const char *files[OUTPUT_KIND_COUNT];
	bool output_every;             /* set only if one of `files` is */
	enum report_flame_of flame_of; /* --flame-of */
	bool inverted, reverse;        /* set only with --flame or --html; `reverse` also
					  with --view tree */
	bool no_lines;                 /* --no-lines */
	struct option_list debug_dirs; /* --debug-dir; a value may be several directories
					  separated by ':' */
	bool debuginfod, no_demangle;
	enum report_form names, paths; /* --names, --paths; default REPORT_FORM_AUTO */
	bool addresses;                /* --addresses */
	const char *listen;       /* --listen, which listen_address_parse() accepts, or
				     NULL; borrowed from argv */
	bool listen_allow_remote; /* --listen-allow-remote; set only with `listen` */
	bool prints_nothing;      /* --listen without --output and --format */
	bool force, dry_run, quiet;
	unsigned verbose; /* number of -v options */
	bool no_return_probes;
	const char *library;        /* --lib PATH (-L, -O/--obj): look for the allocator
				       only in this file; NULL: detect. Borrowed from
				       argv. */
	const char *symbols_prefix; /* --symbols-prefix, or NULL; borrowed from argv */
	const char *function;       /* --function, or NULL; borrowed from argv */
	const char *event;          /* --event, which event_spec_parse() accepts, or NULL;
				       borrowed from argv */
	bool with_kernel;           /* --with-kernel; then exactly one process */
	const char *diff_old;       /* --diff: the older snapshot file; set only with
				       ACTION_DIFF; borrowed from argv */
	const char *diff_new;       /* --diff: the newer snapshot file, likewise */
	bool live;                  /* --live */
	uint64_t live_interval_ns;  /* --interval, default 1 s with --live */
	const char *replay;         /* --replay: a snapshot file; set only with
				       ACTION_REPLAY; borrowed from argv */
};

/*
 * Parse argv into `ret`. If an option is given several times, the last value counts, but
 * --pid and lists keep all values. --help, --version and --prime-cache end parsing at
 * once; the caller may then read only `action`. ERROR_USAGE: the message is one line with
 * the option as written, what was expected and what was given, escaped. `argv` must
 * outlive `ret`.
 */
struct error *options_parse(int argc, char *const argv[], struct options *ret)
	__attribute__((warn_unused_result));

/* Print what --help shows of this topic, generated from the option table. */
void options_help(FILE *out, enum help_topic topic);

#endif
