/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libbcc reads of a process's mappings while it makes a symcache. It opens
 * /proc/PID/maps with fopen(3) by itself. Where maps are given, fopen() is ours, and
 * gives the thread that began a stream of this text in place of that file.
 */
#ifndef SYMBOL_GIVEN_MAPS_H
#define SYMBOL_GIVEN_MAPS_H

#include "util/strbuf.h"

struct given_maps {
	char path[32];             /* /proc/PID/maps */
	const struct strbuf *text; /* borrowed */
};

/* From now on this thread reads `text` as the mappings of `tid`. */
void given_maps_begin(struct given_maps *maps, int tid, const struct strbuf *text);
void given_maps_end(void);

#endif
