/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines for the code of a stored snapshot, from debug files below directories
 * that the user names (--replay FILE --debug-dir DIR). Files are matched by build-id
 * alone. This process opens them; a confined child reads them (symbol/stored_service.h).
 */
#ifndef SYMBOL_DEBUG_STORE_H
#define SYMBOL_DEBUG_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbolizer.h"
#include "util/error.h"

struct debug_store;

/*
 * List the files below `dirs`, which end with NULL, and start the child. Call this before
 * this process gives up privileges. `warn` gets lines for the user; it may be NULL.
 * ERROR_USAGE: a directory cannot be read.
 */
struct error *debug_store_create(const char *const *dirs,
				 void (*warn)(void *arg, const char *text),
				 void *warn_arg, struct debug_store **ret)
	__attribute__((warn_unused_result));
/* NULL is fine. */
void debug_store_destroy(struct debug_store *store);

/* A code address of a snapshot. */
struct stored_code {
	const char *build_id; /* of its module, lower-case hex */
	const char *path;     /* of its module */
	/* The module's mapping, bytes, and where in it the code is. */
	uint64_t mapping_bytes, file_offset, offset;
	bool with_lines;
};

/*
 * Fill `symbol` (only the name and its offset) and `sources`, both empty, whose names are
 * demangled. They stay empty if no file has the build-id, or if it says nothing about the
 * code. Fails only when out of memory.
 */
struct error *debug_store_find(struct debug_store *store, const struct stored_code *code,
			       struct symbol *symbol, struct source_frames *sources)
	__attribute__((warn_unused_result));

#endif
