// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/layouts.h"

#include <string.h>

/* Unused layouts are removed together: the next write then waits for all running probes
 * only once. */
#define KEPT_UNUSED 64

void layouts_init(struct layouts *layouts, int fd, uint32_t max,
		  const struct fence *fence)
{
	*layouts = (struct layouts){.map = {.fd = fd, .fence = fence}, .max = max};
}

void layouts_deinit(struct layouts *layouts)
{
	vec_deinit(&layouts->list);
}

static void fill(struct abi_layout *layout, const struct images_range ranges[],
		 size_t count)
{
	memset(layout, 0, sizeof(*layout));
	for (size_t i = 1; i < ABI_LAYOUT_RANGES; i++) {
		const struct images_range *range = &ranges[i - 1];

		if (i > count) {
			layout->start[i] = ABI_NOWHERE;
			continue;
		}
		layout->start[i] = range->start;
		layout->range[i] = (struct abi_layout_range){
			.pages = (uint32_t)((range->end - range->start) /
					    ABI_LAYOUT_PAGE_BYTES),
			.bias = range->code.bias,
			.file = range->code.number,
		};
	}
}

/* Remove the layouts without users. */
static void remove_unused(struct layouts *layouts)
{
	size_t kept = 0;

	vec_foreach (record, &layouts->list) {
		if (record->users)
			layouts->list.data[kept++] = *record;
		else
			fenced_map_delete(&layouts->map, record->number);
	}
	layouts->list.len = kept;
}

static size_t count_unused(const struct layouts *layouts)
{
	size_t count = 0;

	vec_foreach (record, &layouts->list)
		count += !record->users;
	return count;
}

uint64_t layouts_get(struct layouts *layouts, const struct images_range ranges[],
		     size_t count)
{
	struct layout_record fresh = {.users = 1};

	fill(&layouts->scratch, ranges, count);
	sha256(&layouts->scratch, sizeof(layouts->scratch), fresh.hash);
	vec_foreach (record, &layouts->list) {
		if (!memcmp(record->hash, fresh.hash, sizeof(fresh.hash))) {
			record->users++;
			return record->number;
		}
	}
	if (layouts->list.len >= layouts->max || count_unused(layouts) >= KEPT_UNUSED)
		remove_unused(layouts);
	if (layouts->list.len >= layouts->max ||
	    !vec_reserve(&layouts->list, layouts->list.len + 1))
		return 0;
	fresh.number = layouts->last_number + 1;
	if (!fenced_map_put(&layouts->map, fresh.number, &layouts->scratch))
		return 0;
	layouts->last_number = fresh.number;
	layouts->list.data[layouts->list.len++] = fresh;
	return fresh.number;
}

void layouts_put(struct layouts *layouts, uint64_t number)
{
	vec_foreach (record, &layouts->list)
		if (record->number == number)
			record->users--;
}
