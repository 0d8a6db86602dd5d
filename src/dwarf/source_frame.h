/* SPDX-License-Identifier: Apache-2.0 */
/* The source location of an address: one frame for each function that was inlined
 * there, and one for the function that contains the code. */
#ifndef DWARF_SOURCE_FRAME_H
#define DWARF_SOURCE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

/* The target chooses the strings: raw bytes, to be escaped when they are shown. */
struct source_frame {
	char *function;        /* the linkage name if there is one (mangled), as it is in
				  the debug info; NULL: unknown. Owned. */
	char *file;            /* path as given to the compiler, made absolute with the
				  compilation directory if that is known; NULL: unknown.
				  Owned. */
	unsigned line, column; /* from 1; 0: unknown */
	bool inlined;
};

struct source_frames {
	VEC(struct source_frame) list; /* innermost first; only the last is not inlined */
	uint64_t function_offset; /* of the address from the start of the last function;
				     meaningful if that has a name */
};

/* Release the strings and the list. */
void source_frames_deinit(struct source_frames *frames);

#endif
