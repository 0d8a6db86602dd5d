/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer of the symbolizer for each address, kept: a lookup in bcc_symcache costs
 * from 2 us to a millisecond, and reports ask for the same frames again and again.
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stdint.h>

#include "symbol/lines.h"
#include "symbol/symbolizer.h"

/* One frame with its name. */
struct frame {
	uint64_t address;   /* a return address; the name is that of the call before it */
	const char *symbol; /* raw bytes of the target, or NULL: unknown */
	uint64_t offset;    /* address - start of the symbol (or of the module's file) */
	const char *module; /* path, raw bytes, or NULL: unknown */
	/* Where the call is in the source, when lines are looked for and found. */
	struct source_frames sources;
};

struct frame_cache;

/* A cache in front of `symbolizer`, which must outlive it. NULL when memory is out. */
struct frame_cache *frame_cache_create(struct symbolizer *symbolizer);
void frame_cache_destroy(struct frame_cache *cache);

/* Look for source frames too; `lines` is borrowed and must outlive the cache. */
void frame_cache_set_lines(struct frame_cache *cache, struct line_finder *lines);

/* Give names as the files have them; without this they are demangled. */
void frame_cache_keep_mangled(struct frame_cache *cache);

/*
 * The frame whose return address is `address`. It is borrowed, stays where it is while
 * the cache lives, and its strings are good until frame_cache_mappings_changed() and
 * then a frame_cache_get() of the same address. Fails only when memory is out.
 */
struct error *frame_cache_get(struct frame_cache *cache, uint64_t address,
			      const struct frame **ret)
	__attribute__((warn_unused_result));

/*
 * The target's mappings may have changed: tell the symbolizer and the line finder, and,
 * when it finds a difference, ask it anew for each address. Cheap when nothing changed.
 */
void frame_cache_mappings_changed(struct frame_cache *cache);

#endif
