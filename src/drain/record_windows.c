// SPDX-License-Identifier: Apache-2.0
#include "drain/record_windows.h"

#include <sys/mman.h>
#include <unistd.h>

void record_windows_init(struct record_windows *windows, int fd, uint32_t record_bytes,
			 uint32_t count, uint32_t per_window)
{
	*windows = (struct record_windows){.fd = fd,
					   .record_bytes = record_bytes,
					   .count = count,
					   .per_window = per_window};
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
	uint32_t wanted = number / windows->per_window;
	uint32_t first = wanted * windows->per_window;
	uint64_t start = page_start((uint64_t)first * windows->record_bytes);
	struct record_window *window = &windows->window[wanted % RECORD_WINDOWS];

	if (number >= windows->count)
		return NULL;
	if (!window->mapping || window->number != wanted) {
		uint32_t left = windows->count - first;
		uint64_t end = (uint64_t)(first + (left < windows->per_window
							   ? left
							   : windows->per_window)) *
			       windows->record_bytes;
		void *mapping;

		close_window(window);
		mapping = mmap(NULL, (size_t)(end - start), PROT_READ | PROT_WRITE,
			       MAP_SHARED, windows->fd, (off_t)start);
		if (mapping == MAP_FAILED)
			return NULL;
		*window = (struct record_window){mapping, (size_t)(end - start), wanted};
	}
	return (char *)window->mapping +
	       ((uint64_t)number * windows->record_bytes - start);
}
