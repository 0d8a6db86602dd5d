// SPDX-License-Identifier: Apache-2.0
#include "util/file_pages.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/cleanup.h"

#define PRESENT (UINT64_C(1) << 63)
#define FRAME   ((UINT64_C(1) << 55) - 1)

/* The kernel may move a page to another frame between two reads. */
#define FRAME_TRIES 3

/* Map the first page of the file, populated if possible. Shared: a private mapping gets
 * its own copy of a page with a breakpoint. */
static void *map_first(int fd, size_t page_bytes)
{
	return mmap(NULL, page_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
}

/* The frame of the page at that address; 0: not present, or hidden from us. */
static uint64_t frame_at(int pagemap, const void *at, size_t page_bytes)
{
	uint64_t entry = 0;
	off_t offset = (off_t)((uintptr_t)at / page_bytes * sizeof(entry));

	if (pread(pagemap, &entry, sizeof(entry), offset) != sizeof(entry) ||
	    !(entry & PRESENT))
		return 0;
	return entry & FRAME;
}

bool file_pages_are_same(int a, int b)
{
	_cleanup_(closep) int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *at_a = map_first(a, page_bytes), *at_b = map_first(b, page_bytes);
	bool is_same = false;

	for (int i = 0; i < FRAME_TRIES && !is_same && pagemap >= 0 &&
			at_a != MAP_FAILED && at_b != MAP_FAILED;
	     i++) {
		uint64_t frame = frame_at(pagemap, at_a, page_bytes);

		is_same = frame && frame == frame_at(pagemap, at_b, page_bytes) &&
			  frame == frame_at(pagemap, at_a, page_bytes);
	}
	if (at_a != MAP_FAILED)
		munmap(at_a, page_bytes);
	if (at_b != MAP_FAILED)
		munmap(at_b, page_bytes);
	return is_same;
}
