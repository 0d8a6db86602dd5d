/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each format without rendering it: the rows of format_rows.h. */
#ifndef RENDER_FORMAT_H
#define RENDER_FORMAT_H

/* Files written in addition to the reports; see output/outputs.h. */
enum output_kind {
	OUTPUT_FLAMEGRAPH,
	OUTPUT_FLAME,
	OUTPUT_PPROF,
	OUTPUT_CSV,
	OUTPUT_JSON,
	OUTPUT_HTML,
	OUTPUT_SAVE, /* a snapshot: in no format of reports */
	OUTPUT_KIND_COUNT,
	OUTPUT_NONE = OUTPUT_KIND_COUNT /* no file */
};

/* What a format can show, one bit each. */
enum format_ability {
	/* everything that an option with .reshapes (option_table.h) may ask for. A format
	 * without it shows only the live memory of processes, in one order. */
	FORMAT_SHAPES = 1 << 0,
	FORMAT_GROUPS = 1 << 1,    /* groups of stacks, such as functions */
	FORMAT_TREES = 1 << 2,     /* views that are trees */
	FORMAT_ALL_VIEWS = 1 << 3, /* the data of all views, whatever --view says */
	FORMAT_CAUSES = 1 << 4,    /* causes, which --top limits instead of stacks */
	/* For formats of files only: */
	FORMAT_STACKS = 1 << 5, /* a list of stacks */
	FORMAT_BLOCKS = 1 << 6, /* each block of a stack, with --show-allocs */
};

struct format {
	const char *name;      /* as in --format NAME */
	enum output_kind file; /* the file that is written in this format */
	unsigned able;         /* set of enum format_ability */
};

/* The format with this name; NULL: no such format. Static. */
const struct format *format_find(const char *name);

/* The format of this file; NULL: of OUTPUT_SAVE. Static. */
const struct format *format_of_file(enum output_kind file);

#endif
