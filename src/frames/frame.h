/* SPDX-License-Identifier: Apache-2.0 */
/* A frame of a stack, as reports show it. */
#ifndef FRAMES_FRAME_H
#define FRAMES_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One frame of a shown stack, leaf first. The strings belong to the frame cache and the
 * snapshot. Rows share their frames. An address has one frame, preceded by one for each
 * function inlined there, innermost first. */
struct report_frame {
	uint64_t address;     /* last byte of the call instruction */
	const char *symbol;   /* NULL: unknown */
	uint64_t offset;      /* from the start of the symbol, or, without a
				 symbol, of the module's file */
	const char *module;   /* path; NULL: unknown */
	const char *build_id; /* hexadecimal; NULL: unknown */
	const char *file;     /* source file of the call, raw bytes; NULL: unknown */
	unsigned line;        /* line in `file`; 0: unknown */
	unsigned column;      /* 0: unknown */
	bool inlined;         /* inlined into the next frame; `offset` is not valid */
	bool is_gap;  /* a placeholder for missing frames; only `symbol` and `index` are
			 valid */
	bool hidden;  /* hidden by --hide-frames; see report_row_shows() */
	size_t index; /* 0..report.frame_count-1 */
};

/* The symbol of a placeholder for missing frames. */
#define REPORT_GAP_NAME "[frames left out: deep recursion]"

#endif
