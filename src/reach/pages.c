// SPDX-License-Identifier: Apache-2.0
#include "reach/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* An entry of the file: Documentation/admin-guide/mm/pagemap.rst. */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_OF_FILE (UINT64_C(1) << 61)

/* Entries that are read at once. */
#define ENTRIES 512

/* include/uapi/linux/fs.h, Linux 6.7 */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_REQUEST _IOWR('f', 16, struct scan_arg)
#define IS_FILE      (UINT64_C(1) << 2)
#define IS_PRESENT   (UINT64_C(1) << 3)
#define IS_SWAPPED   (UINT64_C(1) << 4)
#define IS_ZERO_PAGE (UINT64_C(1) << 5)

#define SCAN_REGIONS 64

int pages_open(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int scan(int pagemap, uint64_t *at, uint64_t end, bool not_of_file,
		struct page_run runs[], size_t max)
{
	struct scan_region found[SCAN_REGIONS];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = *at,
		.end = end,
		.vec = (uintptr_t)found,
		.vec_len = max < SCAN_REGIONS ? max : SCAN_REGIONS,
		/* Wanted if 0. */
		.category_inverted = IS_ZERO_PAGE | (not_of_file ? IS_FILE : 0),
		.category_mask = IS_ZERO_PAGE | (not_of_file ? IS_FILE : 0),
		.category_anyof_mask = IS_PRESENT | IS_SWAPPED,
		/* Nothing that would divide runs. */
		.return_mask = IS_ZERO_PAGE,
	};
	int count = ioctl(pagemap, SCAN_REQUEST, &arg);

	if (count < 0)
		return -1;
	for (int i = 0; i < count; i++)
		runs[i] = (struct page_run){found[i].start, found[i].end};
	*at = arg.walk_end > *at ? arg.walk_end : end;
	return count;
}

static bool is_wanted(uint64_t entry, bool not_of_file)
{
	return entry & (ENTRY_PRESENT | ENTRY_SWAPPED) &&
	       !(not_of_file && entry & ENTRY_OF_FILE);
}

/* The same for older kernels, page by page. */
static int read_entries(int pagemap, uint64_t *at, uint64_t end, bool not_of_file,
			struct page_run runs[], size_t max)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries[ENTRIES];
	uint64_t want = (end - *at) / page;
	size_t count = 0, i = 0;
	ssize_t size;

	if (want > ENTRIES)
		want = ENTRIES;
	size = pread(pagemap, entries, want * sizeof(*entries),
		     (off_t)(*at / page * sizeof(*entries)));
	if (size < (ssize_t)sizeof(*entries)) {
		errno = size < 0 ? errno : ESRCH;
		return -1;
	}
	want = (size_t)size / sizeof(*entries);
	while (i < want && count < max) {
		size_t first;

		while (i < want && !is_wanted(entries[i], not_of_file))
			i++;
		first = i;
		while (i < want && is_wanted(entries[i], not_of_file))
			i++;
		if (i > first)
			runs[count++] =
				(struct page_run){*at + first * page, *at + i * page};
	}
	*at += i * page;
	return (int)count;
}

int pages_find(int pagemap, uint64_t *at, uint64_t end, bool not_of_file,
	       struct page_run runs[], size_t max)
{
	int count = scan(pagemap, at, end, not_of_file, runs, max);

	if (count >= 0 || (errno != ENOTTY && errno != EINVAL))
		return count;
	return read_entries(pagemap, at, end, not_of_file, runs, max);
}
