/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives libbcc a chosen text as the mappings of a process. libbcc opens /proc/PID/maps
 * with fopen(3) when it makes a symcache. memtrace therefore defines fopen() itself:
 * between given_maps_begin() and given_maps_end() it returns, on that thread, a stream
 * of the text.
 */
#ifndef SYMBOL_GIVEN_MAPS_H
#define SYMBOL_GIVEN_MAPS_H

#include "util/strbuf.h"

struct given_maps {
	char path[32];             /* /proc/PID/maps */
	const struct strbuf *text; /* borrowed */
};

/* From now on fopen() on this thread returns `text` as the mappings of `tid`. */
void given_maps_begin(struct given_maps *maps, int tid, const struct strbuf *text);
void given_maps_end(void);

#endif
