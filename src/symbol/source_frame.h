/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the source an address lies: one frame for each function that was inlined
 * there, and one for the function that holds the code. */
#ifndef SYMBOL_SOURCE_FRAME_H
#define SYMBOL_SOURCE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

/* Strings are the target's to choose: raw bytes, to be escaped where they are shown. */
struct source_frame {
	char *function;        /* the linkage name where there is one, as it is in the
				  debug info (mangled), or NULL. Owned. */
	char *file;            /* path as the compiler was given it, made absolute by
				  the directory of compilation where that is known, or
				  NULL. Owned. */
	unsigned line, column; /* from 1; 0: unknown */
	bool inlined;
};

struct source_frames {
	VEC(struct source_frame) list; /* innermost first; only the last is not inlined */
	uint64_t function_offset; /* of the address from the start of that last function;
				     meaningful when that has a name */
};

/* Release the strings and the list. */
void source_frames_deinit(struct source_frames *frames);

#endif
