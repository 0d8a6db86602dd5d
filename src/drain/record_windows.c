// SPDX-License-Identifier: Apache-2.0
#include "drain/record_windows.h"

#include <sys/mman.h>
#include <unistd.h>

void record_windows_init(struct record_windows *windows, struct part_table *table,
			 uint32_t per_window)
{
	*windows = (struct record_windows){
		.table = table,
		.per_window = per_window < table->part_entries ? per_window
							       : table->part_entries,
	};
}

static void close_window(struct record_window *window)
{
	if (window->mapping)
		munmap(window->mapping, window->bytes);
	window->mapping = NULL;
}

void record_windows_deinit(struct record_windows *windows)
{
	for (size_t i = 0; i < RECORD_WINDOWS; i++)
		close_window(&windows->window[i]);
}

static uint64_t page_start(uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return offset / page * page;
}

void *record_windows_at(struct record_windows *windows, uint32_t number)
{
	const struct part_table *table = windows->table;
	uint32_t part = number / table->part_entries, at = number % table->part_entries;
	uint32_t first = at / windows->per_window * windows->per_window;
	uint32_t wanted = number - at + first;
	uint64_t start = page_start((uint64_t)first * table->value_bytes);
	struct record_window *window =
		&windows->window[number / windows->per_window % RECORD_WINDOWS];

	if (!window->mapping || window->first != wanted) {
		uint32_t left = table->part_entries - first;
		uint64_t end = (uint64_t)(first + (left < windows->per_window
							   ? left
							   : windows->per_window)) *
			       table->value_bytes;
		int fd = part_table_part(windows->table, part);
		void *mapping;

		if (fd < 0)
			return NULL;
		close_window(window);
		mapping = mmap(NULL, (size_t)(end - start), PROT_READ | PROT_WRITE,
			       MAP_SHARED, fd, (off_t)start);
		if (mapping == MAP_FAILED)
			return NULL;
		*window = (struct record_window){mapping, (size_t)(end - start), wanted};
	}
	return (char *)window->mapping + ((uint64_t)at * table->value_bytes - start);
}
