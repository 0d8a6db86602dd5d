// SPDX-License-Identifier: Apache-2.0
#include "symbol/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "symbol/demangle.h"
#include "util/hashmap.h"
#include "util/vec.h"

struct entry {
	struct frame frame;
	struct symbol symbol; /* owns the strings of `frame` */
	unsigned generation;  /* of the cache when the symbolizer was asked */
};

struct frame_cache {
	struct symbolizer *symbolizer;
	struct line_finder *lines; /* NULL: names only */
	bool keep_mangled;
	struct hashmap by_address; /* to an index into entries */
	VEC(struct entry *) entries;
	unsigned generation;
};

struct frame_cache *frame_cache_create(struct symbolizer *symbolizer)
{
	struct frame_cache *cache = calloc(1, sizeof(*cache));
	uint64_t seed = 0;

	if (!cache)
		return NULL;
	/* Without a seed the map is still right, only slower under attack. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)cache;
	hashmap_init(&cache->by_address, seed);
	cache->symbolizer = symbolizer;
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

void frame_cache_set_lines(struct frame_cache *cache, struct line_finder *lines)
{
	cache->lines = lines;
}

void frame_cache_keep_mangled(struct frame_cache *cache)
{
	cache->keep_mangled = true;
}

/* Put the demangled form, when there is one, in place of *name. */
static void demangle_in_place(const struct frame_cache *cache, char **name)
{
	char *plain = *name && !cache->keep_mangled ? demangle(*name) : NULL;

	if (plain) {
		free(*name);
		*name = plain;
	}
}

/* The source frames of the call. */
static struct error *find_sources(struct frame_cache *cache, uint64_t call,
				  struct source_frames *ret)
{
	struct symbolizer *symbolizer = cache->symbolizer;
	struct error *err = NULL;

	*ret = (struct source_frames){.function_offset = 0};
	if (symbolizer->ops->find_sources)
		err = symbolizer->ops->find_sources(symbolizer, call, ret);
	else if (cache->lines)
		err = line_finder_find(cache->lines, call, ret);
	if (err)
		return err;
	vec_foreach (frame, &ret->list)
		demangle_in_place(cache, &frame->function);
	return NULL;
}

/* Debug info names functions that no symbol table that was looked at has. */
static struct error *complete_symbol(const struct source_frames *sources,
				     struct symbol *symbol)
{
	size_t count = sources->list.len;
	const char *name = count ? sources->list.data[count - 1].function : NULL;

	if (symbol->name || !name)
		return NULL;
	symbol->name = strdup(name);
	symbol->offset = sources->function_offset;
	return symbol->name ? NULL : error_no_memory();
}

static struct error *entry_resolve(struct frame_cache *cache, struct entry *entry)
{
	uint64_t address = entry->frame.address;
	/* The call ends where the return address begins: what follows it may already
	 * be the next line, or the next function. */
	uint64_t back = address ? 1 : 0;
	struct symbol symbol = {0};
	struct error *err = cache->symbolizer->ops->resolve(cache->symbolizer,
							    address - back, &symbol);
	struct source_frames sources = {.function_offset = 0};

	if (!err) {
		demangle_in_place(cache, &symbol.name);
		err = find_sources(cache, address - back, &sources);
	}
	if (!err)
		err = complete_symbol(&sources, &symbol);
	if (err) {
		source_frames_deinit(&sources);
		symbol_deinit(&symbol);
		return err;
	}
	symbol_deinit(&entry->symbol);
	source_frames_deinit(&entry->frame.sources);
	entry->symbol = symbol;
	entry->frame.sources = sources;
	entry->generation = cache->generation;
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
	/* One behind: the caller sees that it must be resolved. */
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

struct error *frame_cache_get(struct frame_cache *cache, uint64_t address,
			      const struct frame **ret)
{
	struct error *err;
	struct entry *entry;
	uint64_t index;

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
	const struct symbolizer_ops *ops = cache->symbolizer->ops;

	if (!ops->mappings_changed || !ops->mappings_changed(cache->symbolizer))
		return;
	if (cache->lines)
		line_finder_mappings_changed(cache->lines);
	cache->generation++;
}
