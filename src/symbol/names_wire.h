/* SPDX-License-Identifier: Apache-2.0 */
/* The requests with which symbol/reader.c asks symbol/names_service.c for names. */
#ifndef SYMBOL_NAMES_WIRE_H
#define SYMBOL_NAMES_WIRE_H

#include "confined/confined.h"
#include "confined/wire.h"
#include "dwarf/debug_elf.h"
#include "dwarf/source_frame.h"
#include "symbol/symbolizer.h"

enum names_request {
	/* pid, with its pidfd. Answer: a handle, which other requests use to name the
	   process; then names_put_left_out() */
	NAMES_OPEN = 0x100,
	NAMES_CLOSE,   /* handle */
	NAMES_LOOK_UP, /* handle, address. Answer: names_put_frame() */
	NAMES_CHANGED, /* handle. Answer: 1: the mappings changed, else 0; then
			  names_put_left_out() */
	NAMES_MISSING, /* handle. Answer, from line_finder_next_missing(): 1, path, why
			  (each a text or NULL); or 0 */
	NAMES_END,
};

/* Names and lines of one process that were ignored because of limits. */
struct names_left_out {
	struct symbolizer_left_out names;
	uint64_t lines; /* line_finder_left_out() */
};

void names_put_left_out(struct strbuf *out, const struct names_left_out *left_out);
struct names_left_out names_get_left_out(struct wire *in);

/* memtrace keeps what the other side says of an address, so one answer has limits: bytes
 * of each text, which is cut off there; and source frames. Each inlined call has one, and
 * no more than 64 calls are nested (dwarf/dwarf_inline.c). */
#define NAMES_TEXT_MAX    65536
#define NAMES_SOURCES_MAX 128

/* One code address: its symbol and its source frames. */
void names_put_frame(struct strbuf *out, const struct symbol *symbol,
		     const struct source_frames *sources);
/* The caller owns both. More source frames than NAMES_SOURCES_MAX are malformed. On
 * failure (ERROR_MALFORMED, ERROR_NO_MEMORY) nothing is to be freed. */
struct error *names_get_frame(struct wire *in, struct symbol *ret_symbol,
			      struct source_frames *ret_sources)
	__attribute__((warn_unused_result));

/* A service asks memtrace, from within a request, for a debug file that is not at hand.
 * Returns a descriptor, or -1. */
int names_ask_debug_file(struct confined_server *server, const struct build_id *id);

#endif
