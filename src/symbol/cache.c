// SPDX-License-Identifier: Apache-2.0
#include "symbol/cache.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/frame_lookup.h"
#include "util/hashmap.h"
#include "util/vec.h"

struct entry {
	struct frame frame;
	struct symbol symbol; /* owns the strings of `frame` */
	unsigned generation;  /* the cache's generation at the symbolizer's answer */
};

struct frame_cache {
	struct frame_lookup lookup;
	struct hashmap by_address; /* to an index into entries */
	VEC(struct entry *) entries;
	unsigned generation;
	uint32_t put_off; /* answers that the symbolizer has put off */
	struct {
		const struct frame *data;
		size_t len;
	} known; /* symbolizer_ops.known_frames() */
};

struct frame_cache *frame_cache_create(struct symbolizer *symbolizer)
{
	struct frame_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	hashmap_init(&cache->by_address, hashmap_seed());
	cache->lookup.symbolizer = symbolizer;
	if (symbolizer->ops->known_frames)
		cache->known.data =
			symbolizer->ops->known_frames(symbolizer, &cache->known.len);
	return cache;
}

void frame_cache_destroy(struct frame_cache *cache)
{
	if (!cache)
		return;
	vec_foreach (entry, &cache->entries) {
		symbol_deinit(&(*entry)->symbol);
		source_frames_deinit(&(*entry)->frame.sources);
		free(*entry);
	}
	vec_deinit(&cache->entries);
	hashmap_deinit(&cache->by_address);
	free(cache);
}

void frame_cache_keep_mangled(struct frame_cache *cache)
{
	cache->lookup.keep_mangled = true;
}

static struct error *entry_resolve(struct frame_cache *cache, struct entry *entry)
{
	uint64_t address = entry->frame.address;
	/* Look up the last byte of the call. The return address itself may already
	 * belong to the next line, or to the next function. */
	uint64_t back = address ? 1 : 0;
	struct symbol symbol;
	struct source_frames sources;
	struct error *err =
		frame_look_up(&cache->lookup, address - back, &symbol, &sources);

	if (err)
		return err;
	symbol_deinit(&entry->symbol);
	source_frames_deinit(&entry->frame.sources);
	entry->symbol = symbol;
	entry->frame.sources = sources;
	entry->generation = cache->generation - symbol.is_put_off;
	cache->put_off += symbol.is_put_off;
	entry->frame.symbol = symbol.name;
	entry->frame.module = symbol.module;
	entry->frame.offset = symbol.name || symbol.module ? symbol.offset + back : 0;
	return NULL;
}

static struct error *entry_add(struct frame_cache *cache, uint64_t address,
			       struct entry **ret)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return error_no_memory();
	entry->frame.address = address;
	/* Out of date, so that the caller resolves it. */
	entry->generation = cache->generation - 1;
	if (!vec_push(&cache->entries, entry)) {
		free(entry);
		return error_no_memory();
	}
	if (!hashmap_put(&cache->by_address, address, cache->entries.len - 1)) {
		cache->entries.len--;
		free(entry);
		return error_no_memory();
	}
	*ret = entry;
	return NULL;
}

static const struct frame *find_known(const struct frame_cache *cache, uint64_t address)
{
	size_t count = vec_count_up_to(&cache->known, address, address);
	const struct frame *last = count ? &cache->known.data[count - 1] : NULL;

	return last && last->address == address ? last : NULL;
}

struct error *frame_cache_get(struct frame_cache *cache, uint64_t address,
			      const struct frame **ret)
{
	struct error *err;
	struct entry *entry;
	uint64_t index;

	*ret = find_known(cache, address);
	if (*ret)
		return NULL;
	if (hashmap_get(&cache->by_address, address, &index)) {
		entry = cache->entries.data[index];
	} else {
		err = entry_add(cache, address, &entry);
		if (err)
			return err;
	}
	if (entry->generation != cache->generation) {
		err = entry_resolve(cache, entry);
		if (err)
			return err;
	}
	*ret = &entry->frame;
	return NULL;
}

void frame_cache_mappings_changed(struct frame_cache *cache)
{
	if (frame_lookup_mappings_changed(&cache->lookup))
		cache->generation++;
}

uint64_t frame_cache_version(const struct frame_cache *cache)
{
	return cache->by_address.seed + ((uint64_t)cache->generation << 32) +
	       cache->put_off;
}
