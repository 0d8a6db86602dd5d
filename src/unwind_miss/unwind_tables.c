// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/unwind_tables.h"

#include <stdlib.h>

#include "abi.h"
#include "abi_walk.h"
#include "unwind_step.h"
#include "util/clock.h"

#define REGION_BYTES (UINT64_C(1) << ABI_UNWIND_REGION_BITS)

/* Addresses of files are below this (ABI_UNWIND_KEY). */
#define ADDRESS_MAX (UINT64_C(1) << 47)

/* A table covers at most this much of a file. A target can map a sparse file of any
 * size. */
#define FILE_MAX_BYTES (UINT64_C(1) << 32)

/* An eviction removes one EVICTED_SHARE-th of the pages. A sweep leaves one
 * SPARED_SHARE-th of them to regions that stacks lead through. */
#define EVICTED_SHARE 8
#define SPARED_SHARE  4

void unwind_tables_init(struct unwind_tables *tables, int pages_fd, uint32_t max_pages,
			uint64_t *rules, struct abi_control *control,
			const struct fence *fence)
{
	uint64_t seed = hashmap_seed();

	*tables = (struct unwind_tables){.pages = {.fd = pages_fd, .fence = fence},
					 .max_pages = max_pages,
					 .rules = rules,
					 .control = control,
					 .rule_count = 1};
	/* Epoch 0 marks regions that no probe has used yet. */
	__atomic_store_n(&control->unwind_epoch, 1, __ATOMIC_SEQ_CST);
	hashmap_init(&tables->rule_numbers, seed);
	hashmap_init(&tables->region_at, seed);
}

void unwind_tables_deinit(struct unwind_tables *tables)
{
	hashmap_deinit(&tables->rule_numbers);
	hashmap_deinit(&tables->region_at);
	vec_deinit(&tables->files);
	vec_deinit(&tables->regions);
	rule_runs_deinit(&tables->runs);
}

uint64_t unwind_tables_size_bytes(const struct unwind_tables *tables)
{
	return (uint64_t)tables->page_count * ABI_UNWIND_PAGE_BYTES;
}

/* --- pages ------------------------------------------------------------------------ */

/* Delete page 0 first: then probes that begin a lookup find nothing. */
static void delete_pages(struct unwind_tables *tables, const struct unwind_region *region)
{
	for (uint32_t page = 0; page < region->pages; page++)
		fenced_map_delete(&tables->pages, region->key + page);
	tables->page_count -= region->pages;
}

/* --- eviction --------------------------------------------------------------------- */

struct use {
	uint64_t used;
	size_t region; /* index */
};

static int by_use(const void *pa, const void *pb)
{
	const struct use *a = pa, *b = pb;

	return (a->used > b->used) - (a->used < b->used);
}

/* Remove a region; the last region takes its place in the list. */
static void remove_region(struct unwind_tables *tables, uint64_t key)
{
	uint64_t at, last;

	if (!hashmap_get(&tables->region_at, key, &at) || at >= tables->regions.len)
		return;
	delete_pages(tables, &tables->regions.data[at]);
	last = --tables->regions.len;
	tables->regions.data[at] = tables->regions.data[last];
	/* Both keys exist already, so this needs no memory. */
	(void)!hashmap_put(&tables->region_at, key, UINT64_MAX);
	if (at != last)
		(void)!hashmap_put(&tables->region_at, tables->regions.data[at].key, at);
}

/* Find the least recently used regions that have at least `pages` pages together. Puts
 * their keys into `keys` and returns their number. */
static size_t find_unused(struct unwind_tables *tables, size_t pages, uint64_t keys[])
{
	struct use *uses = calloc(tables->regions.len, sizeof(*uses));
	uint32_t found_pages = 0;
	size_t count = 0, n = 0;

	if (!uses)
		return 0;
	for (size_t i = 0; i < tables->regions.len; i++) {
		const struct unwind_region *region = &tables->regions.data[i];
		struct abi_unwind_index index = {0};

		if (!region->pages)
			continue;
		(void)fenced_map_get(&tables->pages, region->key, &index);
		uses[count++] = (struct use){index.used, i};
	}
	qsort(uses, count, sizeof(*uses), by_use);
	for (; n < count && found_pages < pages; n++) {
		const struct unwind_region *region =
			&tables->regions.data[uses[n].region];

		keys[n] = region->key;
		found_pages += region->pages;
	}
	free(uses);
	return n;
}

/* Evict regions to make room for `pages` pages and some more. */
static void evict(struct unwind_tables *tables, size_t pages)
{
	size_t share = tables->max_pages / EVICTED_SHARE;
	uint64_t *keys = calloc(tables->regions.len + 1, sizeof(*keys));
	size_t count = 0, kept = 0;

	if (keys)
		count = find_unused(tables, pages > share ? pages : share, keys);
	for (size_t i = 0; i < count; i++)
		remove_region(tables, keys[i]);
	free(keys);
	/* Also drop the regions without rules, so that they are tried again. */
	hashmap_deinit(&tables->region_at);
	for (size_t i = 0; i < tables->regions.len; i++) {
		const struct unwind_region region = tables->regions.data[i];

		if (!region.pages)
			continue;
		/* Without memory the region would be unknown: delete it. */
		if (!hashmap_put(&tables->region_at, region.key, kept))
			delete_pages(tables, &region);
		else
			tables->regions.data[kept++] = region;
	}
	tables->regions.len = kept;
	__atomic_add_fetch(&tables->control->unwind_epoch, 1, __ATOMIC_SEQ_CST);
}

/* --- building --------------------------------------------------------------------- */

/* The number of a rule; 0 if no more rules fit. */
static uint16_t number_of(struct unwind_tables *tables, uint64_t rule)
{
	uint64_t number;

	if (rule == UNWIND_NONE)
		return 0;
	if (hashmap_get(&tables->rule_numbers, rule, &number))
		return (uint16_t)number;
	if (tables->rule_count == ABI_UNWIND_RULES ||
	    !hashmap_put(&tables->rule_numbers, rule, tables->rule_count))
		return 0;
	/* Store the rule before any page refers to its number. */
	__atomic_store_n(&tables->rules[tables->rule_count], rule, __ATOMIC_SEQ_CST);
	return (uint16_t)tables->rule_count++;
}

static void fill_page(struct unwind_tables *tables, const struct rule_run runs[],
		      size_t count, uint64_t base, struct abi_unwind_page *ret)
{
	for (size_t i = 0; i < ABI_UNWIND_PAGE_ROWS; i++) {
		bool is_row = i < count;

		ret->offset[i] = is_row ? (uint16_t)(runs[i].start - base) : UINT16_MAX;
		ret->rule[i] =
			is_row ? number_of(tables, runs[i].rule) : ret->rule[i - 1];
	}
}

/* Write the runs as the region with this key. Returns the number of pages, 0 on
 * failure. */
static uint32_t put_region(struct unwind_tables *tables, uint64_t key, uint64_t base,
			   uint64_t used, const struct rule_run runs[], size_t count)
{
	struct abi_unwind_index index = {.used = used};
	struct abi_unwind_page page;
	size_t at = 0;

	for (; at < count; at += ABI_UNWIND_PAGE_ROWS) {
		size_t rows = count - at < ABI_UNWIND_PAGE_ROWS ? count - at
								: ABI_UNWIND_PAGE_ROWS;

		fill_page(tables, runs + at, rows, base, &page);
		index.start[index.count] = page.offset[0];
		if (!fenced_map_put(&tables->pages, key + ++index.count, &page))
			break;
	}
	/* Write page 0 last, so that a probe that finds it also finds the others. */
	if (at >= count && fenced_map_put(&tables->pages, key, &index))
		return (uint32_t)index.count + 1;
	for (uint64_t i = 0; i <= index.count; i++)
		fenced_map_delete(&tables->pages, key + i);
	return 0;
}

static size_t pages_for(size_t runs)
{
	return (runs + ABI_UNWIND_PAGE_ROWS - 1) / ABI_UNWIND_PAGE_ROWS;
}

enum built {
	BUILT,
	BUILT_NOTHING, /* the region has no rules for a table */
	BUILT_NOT_NOW, /* the pages could not be written to the map */
};

static enum built build(struct unwind_tables *tables, const struct unwind_file *file,
			struct unwind_region *region, uint64_t base, bool is_asked_for)
{
	uint64_t epoch;
	const struct rule_run *runs;
	size_t pages;

	if (!rule_runs_build(file->cfi, base, base + REGION_BYTES, &tables->runs))
		return BUILT_NOTHING;
	runs = tables->runs.list.data;
	pages = pages_for(tables->runs.list.len);
	if (pages > ABI_UNWIND_INDEX_PAGES ||
	    (tables->runs.list.len == 1 && runs[0].rule == UNWIND_NONE))
		return BUILT_NOTHING;
	if (tables->page_count + pages + 1 > tables->max_pages)
		evict(tables, pages + 1);
	epoch = __atomic_load_n(&tables->control->unwind_epoch, __ATOMIC_SEQ_CST);
	region->pages = put_region(tables, region->key, base, epoch - !is_asked_for, runs,
				   tables->runs.list.len);
	tables->page_count += region->pages;
	return region->pages ? BUILT : BUILT_NOT_NOW;
}

/* Build the region around `address` if it does not exist. A region without rules is
 * recorded, so that it is not tried again, only if `is_asked_for`: the target controls
 * how many such regions its files have. */
static void want(struct unwind_tables *tables, uint32_t number, uint64_t address,
		 bool is_asked_for)
{
	const struct unwind_file *file = &tables->files.data[number];
	uint64_t base = address & ~(REGION_BYTES - 1), at;
	struct unwind_region region = {.key = ABI_UNWIND_KEY(number, base, 0)};
	enum built built;

	if (!file->cfi || base >= ADDRESS_MAX ||
	    (hashmap_get(&tables->region_at, region.key, &at) && at != UINT64_MAX))
		return;
	if (tables->regions.len >= 2 * (size_t)tables->max_pages)
		evict(tables, 0);
	if (!vec_reserve(&tables->regions, tables->regions.len + 1))
		return;
	built = build(tables, file, &region, base, is_asked_for);
	if (built == BUILT_NOT_NOW || (built == BUILT_NOTHING && !is_asked_for))
		return;
	if (!hashmap_put(&tables->region_at, region.key, tables->regions.len))
		delete_pages(tables, &region);
	else
		tables->regions.data[tables->regions.len++] = region;
}

/* --- files ------------------------------------------------------------------------ */

bool unwind_tables_add(struct unwind_tables *tables, uint32_t number,
		       const struct cfi *cfi, uint64_t start, uint64_t end)
{
	struct unwind_file *file;

	if (!number || number > ABI_UNWIND_FILE_MAX || start >= end ||
	    end > ADDRESS_MAX || !vec_reserve(&tables->files, (size_t)number + 1))
		return false;
	while (tables->files.len <= number)
		tables->files.data[tables->files.len++] = (struct unwind_file){0};
	file = &tables->files.data[number];
	if (end - start > FILE_MAX_BYTES)
		end = start + FILE_MAX_BYTES;
	if (file->cfi == cfi && start >= file->start && end <= file->end)
		return true;
	if (!file->cfi)
		*file = (struct unwind_file){cfi, start, end, start};
	if (start < file->start && file->end - start <= FILE_MAX_BYTES)
		file->start = file->swept = start;
	if (end > file->end && end - file->start <= FILE_MAX_BYTES)
		file->end = end;
	if (number < tables->sweeping)
		tables->sweeping = number;
	return true;
}

void unwind_tables_remove(struct unwind_tables *tables, uint32_t number)
{
	if (number < tables->files.len)
		tables->files.data[number] = (struct unwind_file){0};
}

void unwind_tables_want(struct unwind_tables *tables, uint32_t number, uint64_t address)
{
	if (number < tables->files.len && address >= tables->files.data[number].start &&
	    address < tables->files.data[number].end)
		want(tables, number, address, true);
}

bool unwind_tables_has_more(struct unwind_tables *tables)
{
	if (tables->page_count >= tables->max_pages - tables->max_pages / SPARED_SHARE)
		return false;
	for (; tables->sweeping < tables->files.len; tables->sweeping++) {
		const struct unwind_file *file = &tables->files.data[tables->sweeping];

		if (file->cfi && file->swept < file->end)
			return true;
	}
	return false;
}

bool unwind_tables_sweep(struct unwind_tables *tables, uint64_t cpu_ns, uint64_t until_ns)
{
	uint64_t begun_ns = clock_thread_cpu_ns();

	while (unwind_tables_has_more(tables)) {
		struct unwind_file *file = &tables->files.data[tables->sweeping];
		uint64_t at = file->swept;

		file->swept = (at & ~(REGION_BYTES - 1)) + REGION_BYTES;
		want(tables, (uint32_t)tables->sweeping, at, false);
		if (clock_thread_cpu_ns() - begun_ns >= cpu_ns ||
		    clock_now_ns() >= until_ns)
			return true;
	}
	return false;
}
