/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a report. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Order of the rows; the largest value comes first. */
enum report_sort {
	REPORT_SORT_SIZE,      /* bytes held */
	REPORT_SORT_COUNT,     /* blocks held */
	REPORT_SORT_TRAFFIC,   /* bytes allocated since the attach */
	REPORT_SORT_GROWTH,    /* growth in bytes since the previous report */
	REPORT_SORT_AGE,       /* age of the oldest block */
	REPORT_SORT_PEAK,      /* largest number of bytes held at once */
	REPORT_SORT_AT_PEAK,   /* bytes held when the whole heap was largest */
	REPORT_SORT_TEMPORARY, /* number of temporary blocks */
	REPORT_SORT_LOST, /* bytes that are lost, with those that only they lead to */
	REPORT_SORT_CUMULATIVE, /* of functions: bytes of all stacks with the function;
				   else as REPORT_SORT_SIZE */
	REPORT_SORTS,
};

/* What --group-by groups. */
enum report_group {
	REPORT_GROUP_PATH,      /* call paths, the same in several processes */
	REPORT_GROUP_PROCESS,   /* call paths, of each process on their own */
	REPORT_GROUP_FUNCTION,  /* functions */
	REPORT_GROUP_CALLER,    /* the innermost function of the program's own code */
	REPORT_GROUP_MODULE,    /* executables and libraries */
	REPORT_GROUP_LIBRARY,   /* the program's own code, and libraries by name */
	REPORT_GROUP_SOURCE,    /* source files */
	REPORT_GROUP_LINE,      /* lines of functions */
	REPORT_GROUP_ALLOCATOR, /* allocators that were called */
	REPORT_GROUP_THREAD,    /* threads that allocated */
};

/* How names and paths are shown. */
enum report_form {
	REPORT_FORM_AUTO, /* of each kind of report its own form: short in a brief report,
			     in tables and on a terminal, else full */
	REPORT_FORM_FULL, /* names with their arguments, paths with directories */
	REPORT_FORM_SHORT, /* names as in frames/short_name.h, base names of files */
};

/* --flame-of: the number that is the width of a call path in a flame graph. */
enum report_flame_of {
	REPORT_FLAME_LIVE,    /* bytes that it holds */
	REPORT_FLAME_PEAK,    /* bytes that it held when the whole heap was largest */
	REPORT_FLAME_TRAFFIC, /* bytes that it has allocated since the attach */
	REPORT_FLAME_LOST,    /* bytes of it that are lost (REPORT_SORT_LOST) */
	REPORT_FLAME_COUNT,   /* blocks that it holds */
};

/* Optional data of a snapshot that a sort or a view may need. */
enum report_data {
	REPORT_DATA_TRAFFIC = 1 << 0,     /* snapshot.has_traffic */
	REPORT_DATA_LIFETIMES = 1 << 1,   /* snapshot.has_lifetimes */
	REPORT_DATA_TRENDS = 1 << 2,      /* snapshot.has_trends */
	REPORT_DATA_AT_PEAK = 1 << 3,     /* snapshot.has_at_peak */
	REPORT_DATA_UNREACHABLE = 1 << 4, /* snapshot.search.count */
};

/* Called during long operations to say what is being done. `say` may be NULL. */
struct report_progress {
	void (*say)(void *arg, const char *phase);
	void *arg;
};

struct report_filter;
struct report_frame;

/*
 * The frames that an earlier report of the same run has found for a stack. This report
 * uses them again. `depth` 0: it finds the frames itself.
 */
struct report_known_stack {
	const struct report_frame *const *frames;
	size_t depth;
};

struct report_known {
	const struct report_known_stack *stacks;
	size_t stack_count;
	size_t frame_count; /* report.frame_count of the earlier one */
};

struct report_options {
	enum report_sort sort;
	uint64_t top;      /* maximum number of rows; 0: no limit */
	uint64_t older_ns; /* leave out blocks younger than this */
	bool show_blocks;  /* --show-allocs: list the blocks behind each row */
	bool sums_only; /* leave median_age_ns, sizes and threads of rows empty; not with
			   show_blocks */
	bool combined_only; /* rows include blocks of every age */
	/* Put the rows of each process together, in the order of the processes; else all
	 * rows are in one order. The snapshot decides whether a call path of several
	 * processes is one row (snapshot/merge.h). */
	bool group_by_process;
	/* How names of functions and paths of source files are shown. Not in JSON, CSV,
	 * pprof and collapsed stacks, which have both in full. */
	enum report_form names, paths;
	/* Also make rows for call paths that hold nothing (older than `older_ns`) now,
	 * but have traffic, or verdicts of a search for unreachable blocks. */
	bool past;
	/* Fill report_section.gone. */
	bool gone;
	/* Leave out call paths that hold less than one of these limits. With
	 * `skip_by_traffic`: that have allocated less, if that is measured. Estimates
	 * count if blocks were sampled. */
	uint64_t skip_bytes, skip_count;
	bool skip_by_traffic;
	uint64_t singles; /* list this many of the largest single blocks; 0: none */
	const struct report_filter *filter; /* frames/filter.h; borrowed; NULL: none */
	const struct report_known *known;   /* borrowed; NULL: none; not with `filter` */
	uint64_t interval_ns;               /* time between reports; 0: unknown */
	struct report_progress progress;
	/* In a report that groups rows: maximum number of causes, functions or branches;
	 * 0: no limit. */
	uint64_t entries;
	/* Only for the text report. */
	enum report_group group_by; /* of --view functions */
	bool callees_first;         /* of --view tree */
	const char *view; /* name of a view (render/views/views.h); NULL: leaks */
	bool color;       /* use terminal colours (ECMA-48) */
	bool utf8;        /* non-ASCII characters are allowed */
	bool is_terminal; /* the report goes to a terminal: lines are wrapped, names and
			     paths short, and addresses are left out unless asked for */
	bool addresses;   /* show addresses of frames that have a name, too */
	unsigned columns; /* of the terminal; 0: 80 */
	/* Only for flame graphs and collapsed stacks. */
	enum report_flame_of flame_of;
	/* Only for the brief report. */
	unsigned lines;    /* of the terminal; 0: any number */
	bool whole_stacks; /* show all frames: fold none */
};

/* The name of a sort, as in --sort NAME. Static string. */
const char *report_sort_name(enum report_sort sort);

/* The data that a sort needs: a set of enum report_data. */
unsigned report_sort_needs(enum report_sort sort);

#endif
