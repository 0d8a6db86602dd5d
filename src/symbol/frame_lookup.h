/* SPDX-License-Identifier: Apache-2.0 */
/* The name and the source lines of one code address, as a report shows them. */
#ifndef SYMBOL_FRAME_LOOKUP_H
#define SYMBOL_FRAME_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/lines.h"
#include "symbol/symbolizer.h"

/* The sources of names and lines. All are borrowed. */
struct frame_lookup {
	struct symbolizer *symbolizer;
	struct line_finder *lines; /* asked if the symbolizer finds no sources itself;
				      NULL: names only */
	bool keep_mangled;         /* return mangled names, as the files have them */
};

/*
 * Look up the code at `address`, the address of the last byte of a call. The caller
 * owns both results; they are empty if nothing is known. Fails only when out of memory,
 * and then leaves nothing to free.
 */
struct error *frame_look_up(const struct frame_lookup *lookup, uint64_t address,
			    struct symbol *ret_symbol, struct source_frames *ret_sources)
	__attribute__((warn_unused_result));

/* The target's mappings may have changed: read them again. True if they did change, so
 * that earlier answers may be out of date. */
bool frame_lookup_mappings_changed(const struct frame_lookup *lookup);

#endif
