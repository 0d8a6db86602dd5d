/* SPDX-License-Identifier: Apache-2.0 */
/* The name and the source lines of one code address, as a report shows them. */
#ifndef SYMBOL_FRAME_LOOKUP_H
#define SYMBOL_FRAME_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/lines.h"
#include "symbol/symbolizer.h"

/* Who is asked. All is borrowed. */
struct frame_lookup {
	struct symbolizer *symbolizer;
	struct line_finder *lines; /* asked where the symbolizer finds no sources itself;
				      NULL: names only */
	bool keep_mangled;         /* give names as the files have them */
};

/*
 * Look up the code at `address`, which is that of the last byte of a call. Both results
 * are the caller's, and empty where nothing is known. Fails only when memory is out, and
 * then leaves nothing to free.
 */
struct error *frame_look_up(const struct frame_lookup *lookup, uint64_t address,
			    struct symbol *ret_symbol, struct source_frames *ret_sources)
	__attribute__((warn_unused_result));

/* The target's mappings may have changed: look at them again. True when they did, so that
 * answers given before may be out of date. */
bool frame_lookup_mappings_changed(const struct frame_lookup *lookup);

#endif
