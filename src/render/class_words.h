/* SPDX-License-Identifier: Apache-2.0 */
/* The words that reports use for each class of blocks. */
#ifndef RENDER_CLASS_WORDS_H
#define RENDER_CLASS_WORDS_H

#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/strbuf.h"

struct class_words {
	const char *name;                     /* "heap" */
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

/* The words of a class. BLOCK_EVENT has none, because it has no blocks. */
const struct class_words *class_words(enum block_class class);

/* "block" or "blocks". */
const char *class_blocks(enum block_class class, uint64_t count);

/* Append what a snapshot of one process describes: "process 12 (cat)", "the kernel" or
 * "the kernel for process 12 (cat)". `append` must escape the text, which the target
 * controls. */
void class_append_target(struct strbuf *out, const struct snapshot *snap,
			 void (*append)(struct strbuf *out, const char *text));

#endif
