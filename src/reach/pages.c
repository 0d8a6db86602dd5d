// SPDX-License-Identifier: Apache-2.0
#include "reach/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* An entry of the file: Documentation/admin-guide/mm/pagemap.rst. */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_OF_FILE (UINT64_C(1) << 61)
#define ENTRY_CHANGED (UINT64_C(1) << 55)

/* Entries that are read at once. */
#define ENTRIES 512

/* include/uapi/linux/fs.h, Linux 6.7; IS_CHANGED: 6.8. Before, EINVAL. */
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
#define IS_CHANGED   (UINT64_C(1) << 7)

#define SCAN_REGIONS 64

int pages_open(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Does this kernel have soft-dirty bits? Then the pages of a new mapping have theirs. */
static bool notes_changes(void)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), entry = 0;
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	int pagemap;

	if (page == MAP_FAILED)
		return false;
	*(volatile char *)page = 1;
	pagemap = pages_open(getpid());
	if (pagemap >= 0) {
		if (pread(pagemap, &entry, sizeof(entry),
			  (off_t)((uintptr_t)page / size * sizeof(entry))) !=
		    (ssize_t)sizeof(entry))
			entry = 0;
		close(pagemap);
	}
	munmap(page, size);
	return entry & ENTRY_CHANGED;
}

bool pages_forget_changes(int tid)
{
	char path[64];
	bool is_done;
	int fd;

	if (!notes_changes())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", tid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* CLEAR_REFS_SOFT_DIRTY, fs/proc/task_mmu.c */
	is_done = write(fd, "4", 1) == 1;
	close(fd);
	return is_done;
}

static int scan(int pagemap, uint64_t *at, uint64_t end, struct page_wish wish,
		struct page_run runs[], size_t max)
{
	uint64_t absent = IS_ZERO_PAGE | (wish.not_of_file ? IS_FILE : 0);
	struct scan_region found[SCAN_REGIONS];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = *at,
		.end = end,
		.vec = (uintptr_t)found,
		.vec_len = max < SCAN_REGIONS ? max : SCAN_REGIONS,
		.category_inverted = absent, /* wanted if 0 */
		.category_mask = absent | (wish.changed ? IS_CHANGED : 0),
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

static bool is_wanted(uint64_t entry, struct page_wish wish)
{
	return entry & (ENTRY_PRESENT | ENTRY_SWAPPED) &&
	       !(wish.not_of_file && entry & ENTRY_OF_FILE) &&
	       !(wish.changed && !(entry & ENTRY_CHANGED));
}

/* The same for older kernels, page by page. */
static int read_entries(int pagemap, uint64_t *at, uint64_t end, struct page_wish wish,
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

		while (i < want && !is_wanted(entries[i], wish))
			i++;
		first = i;
		while (i < want && is_wanted(entries[i], wish))
			i++;
		if (i > first)
			runs[count++] =
				(struct page_run){*at + first * page, *at + i * page};
	}
	*at += i * page;
	return (int)count;
}

int pages_find(int pagemap, uint64_t *at, uint64_t end, struct page_wish wish,
	       struct page_run runs[], size_t max)
{
	int count = scan(pagemap, at, end, wish, runs, max);

	if (count >= 0 || (errno != ENOTTY && errno != EINVAL))
		return count;
	return read_entries(pagemap, at, end, wish, runs, max);
}
