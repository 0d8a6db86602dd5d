/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: one row an option, from which options.c parses and complains and
 * options_help.c makes the help text.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

/* Rows are in the order of the help text, groups together. */
enum option_id {
	OPTION_PID,
	OPTION_FOLLOW_FORKS,
	OPTION_PROGRAM,
	OPTION_LIB,
	OPTION_SYMBOLS_PREFIX,
	OPTION_FUNCTION,
	OPTION_MAPPINGS,
	OPTION_OTEL_MEMORY,
	OPTION_REPLAY,
	OPTION_DIFF,
	OPTION_EVENT,
	OPTION_GROWTH,
	OPTION_KERNEL_STACKS,
	OPTION_KERNEL,
	OPTION_WITH_KERNEL,
	OPTION_TRAFFIC,
	OPTION_TEMPORARY_THRESHOLD,
	OPTION_INTERVAL,
	OPTION_COUNT,
	OPTION_DURATION,
	OPTION_TOP,
	OPTION_VIEW,
	OPTION_SORT,
	OPTION_GROUP_BY,
	OPTION_SHOW_ALLOCS,
	OPTION_COMBINED_ONLY,
	OPTION_OLDER,
	OPTION_MIN_SIZE,
	OPTION_MAX_SIZE,
	OPTION_SKIP_SIZE,
	OPTION_SKIP_COUNT,
	OPTION_FILTER,
	OPTION_EXCLUDE,
	OPTION_SUPPRESSIONS,
	OPTION_SAMPLE_EVERY,
	OPTION_SAMPLE_BYTES,
	OPTION_MAX_ALLOCATIONS,
	OPTION_MAX_STACKS,
	OPTION_MAX_THREADS,
	OPTION_MAX_PROCESSES,
	OPTION_STACK_DEPTH,
	OPTION_UNWIND_CPU,
	OPTION_UNWIND_MEMORY,
	OPTION_NO_LINES,
	OPTION_DEBUG_DIR,
	OPTION_DEBUGINFOD,
	OPTION_NO_DEMANGLE,
	OPTION_PATHS,
	OPTION_HIDE_FRAMES,
	OPTION_FORMAT,
	OPTION_COLOR,
	OPTION_OUTPUT,
	OPTION_FLAMEGRAPH,
	OPTION_FLAME,
	OPTION_INVERTED,
	OPTION_REVERSE,
	OPTION_PPROF,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_SAVE,
	OPTION_HTML,
	OPTION_OUTPUT_EVERY,
	OPTION_FORCE,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_DRY_RUN,
	OPTION_KERNEL_HEADERS,
	OPTION_NO_CACHE,
	OPTION_PRIME_CACHE,
	OPTION_ATTACH,
	OPTION_TABLES,
	OPTION_UNWIND,
	OPTION_NO_RETURN_PROBES,
	OPTION_VERSION,
	OPTION_HELP,
	OPTION_ID_COUNT,
};

enum option_group {
	GROUP_TARGET,
	GROUP_REPORTS,
	GROUP_FILTER,
	GROUP_LIMITS,
	GROUP_NAMES,
	GROUP_OUTPUT,
	GROUP_ADVANCED,
	GROUP_COUNT,
};

/* How a value is read; `min`, `max` and the type of the field are the row's. */
enum option_kind {
	KIND_FLAG,     /* bool: given or not */
	KIND_REPEATED, /* unsigned: how many times it was given */
	KIND_ACTION,   /* enum option_action, `min` is which; ends parsing */
	KIND_INTEGER,  /* whole number */
	KIND_QUANTITY, /* whole number, K, M and G allowed */
	KIND_SIZE,     /* bytes, K, M and G allowed */
	KIND_DURATION, /* ns; a plain number is in `unit_ns` */
	KIND_CHOICE,   /* enum: the index of the value in `choices` */
	KIND_NAME,     /* const char *: the entry of `choices` itself */
	KIND_PATH,     /* const char *: any text but "" */
	KIND_PATTERN,  /* const char *: a name that cli/file_name.h finds valid */
	KIND_PIDS,     /* int[]: numbers with commas between; adds to those before */
	KIND_LIST,     /* struct option_list: any text but "", may be given again */
	KIND_PAIR,     /* const char *[2]: any text but "", in two arguments */
	KIND_HEADERS,  /* --kernel-headers: `choices`, or else a path */
};

/* Where nothing is traced most options make no sense. */
enum option_offline {
	OFFLINE_REPLAY = 1, /* it has a meaning with --replay */
	OFFLINE_DIFF = 2,   /* and with --diff */
	OFFLINE_ALL = OFFLINE_REPLAY | OFFLINE_DIFF,
};

struct option_row {
	const char *name; /* without "--" */
	char letter;      /* 0: none */
	const char *alias;
	char alias_letter;
	const char *argument; /* its name in the help text, NULL: takes no value */
	enum option_group group;
	enum option_kind kind;
	unsigned offline;           /* enum option_offline */
	size_t offset, size;        /* of the field in struct options, bytes */
	uint64_t min, max;          /* numbers: both included */
	uint64_t unit_ns;           /* durations */
	const char *const *choices; /* ended by NULL */
	const char *expected;       /* after "expected " in an error */
	const char *help;           /* one sentence, wrapped when printed */
};

extern const struct option_row option_rows[OPTION_ID_COUNT];

/* The heading of a group. Static string. */
const char *option_group_name(enum option_group group);

/* The row with that long name or alias (`len` bytes), or letter; NULL: there is none. */
const struct option_row *option_find(const char *name, size_t len);
const struct option_row *option_find_letter(char letter);

/* The long name or alias that `name` (`len` bytes) is likely to mean: one that begins
 * with it, or the nearest by edit distance. NULL when none is near. Static string. */
const char *option_nearest(const char *name, size_t len);

#endif
