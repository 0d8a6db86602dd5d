/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches the symbolizer's answer for each address: a lookup in bcc_symcache takes from
 * 2 us to a millisecond, and reports ask for the same frames again and again.
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stdint.h>

#include "symbol/symbolizer.h"

/* One frame with its name. */
struct frame {
	uint64_t address;   /* return address; the names are of the call before it */
	const char *symbol; /* raw bytes of the target; NULL: unknown */
	uint64_t offset;    /* address - start of the symbol (or of the module's file) */
	const char *module; /* path, raw bytes; NULL: unknown */
	/* The call's place in the source; empty if unknown. */
	struct source_frames sources;
};

struct frame_cache;

/* A cache in front of `symbolizer`, which must outlive it. NULL when out of memory. */
struct frame_cache *frame_cache_create(struct symbolizer *symbolizer);
void frame_cache_destroy(struct frame_cache *cache);

/* Return mangled names, as the files have them; without this call they are demangled.
 * Known frames (symbolizer_ops.known_frames) are returned as they are in any case. */
void frame_cache_keep_mangled(struct frame_cache *cache);

/*
 * The frame whose return address is `address`. Borrowed: the pointer is valid as long
 * as the cache. Its strings are valid until the next frame_cache_get() of the same
 * address after a frame_cache_mappings_changed(). If the symbolizer has put the name off,
 * it is asked again each time. Fails only when out of memory.
 */
struct error *frame_cache_get(struct frame_cache *cache, uint64_t address,
			      const struct frame **ret)
	__attribute__((warn_unused_result));

/*
 * The target's mappings may have changed: let the symbolizer read them again. If they
 * differ, each address is resolved anew when it is next asked for.
 * Cheap if nothing changed.
 */
void frame_cache_mappings_changed(struct frame_cache *cache);

/* While this number is the same, so are all answers; a name that was put off changes it.
 * It is random, so that no other cache has it. */
uint64_t frame_cache_version(const struct frame_cache *cache);

#endif
