/* SPDX-License-Identifier: Apache-2.0 */
/* Words of reports for each class of blocks, and facts about the class. */
#ifndef RENDER_CLASS_WORDS_H
#define RENDER_CLASS_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/strbuf.h"

struct class_words {
	bool is_live;     /* blocks, which are live until they are freed; false: hits,
			     which have no words for blocks */
	bool is_in_json;  /* is a key of each JSON report: null without the class */
	const char *name; /* "heap" */
	const char *csv;  /* in the column "class" */
	/* For reports with this main class (snapshot_main_class()): */
	const char *subject; /* "kernel": what is traced instead of processes, or NULL */
	const char *measure; /* "memory" or "events" */
	const char *innermost; /* "allocation function": the innermost frame of a stack */
	/* "block" and "blocks": what the sums of all classes together count */
	const char *of_sections, *of_sections_many;
	/* Words for blocks: */
	const char *title;                    /* "Live heap" */
	const char *heading;                  /* "Heap" */
	const char *block, *blocks;           /* "block" */
	const char *of_sizes;                 /* "heap blocks" */
	const char *allocation, *allocations; /* of a call path, in text reports */
	const char *among;                    /* "", or " among mappings" */
	const char *stacks;                   /* "stacks", or "stacks with mappings" */
	const char *origin, *made, *gone;     /* "allocated", "allocated", "freed" */
	const char *free, *frees;
};

const struct class_words *class_words(enum block_class class);

/* The words of the main class. */
const struct class_words *class_words_main(const struct snapshot *snap);

/* "block" or "blocks". */
const char *class_blocks(enum block_class class, uint64_t count);

/* Append what a snapshot of one process describes: "process 12 (cat)", "the kernel" or
 * "the kernel for process 12 (cat)". `append` must escape the text, which the target
 * controls. */
void class_append_target(struct strbuf *out, const struct snapshot *snap,
			 void (*append)(struct strbuf *out, const char *text));

#endif
