// SPDX-License-Identifier: Apache-2.0
#include "reach/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/live_thread.h"
#include "reach/pages.h"
#include "util/clock.h"

/* Read at once, so that it is still in the processor's cache when it is scanned; and room
 * behind it for the rest of a pointer that begins in it. */
#define PIECE_BYTES ((size_t)256 << 10)
#define EXTRA_BYTES (sizeof(uint64_t) - 1)

/* Larger blocks are read page by page, because they may have pages that were never
 * written. */
#define SMALL_BYTES ((size_t)64 << 10)

/* Small blocks that are read at once. */
#define BATCH_MAX 512

#define RUNS_MAX  64

/* If so many pages of a device in a row cannot be read, the rest is not tried: the kernel
 * refuses whole mappings (VM_IO and VM_PFNMAP in check_vma_flags() of mm/gup.c). */
#define UNREAD_MAX 64

struct error *reach_memory_open(int pid, struct reach_memory *ret)
{
	struct live_thread live = live_thread_begin(pid);

	*ret = (struct reach_memory){.live = live, .pagemap = pages_open(live.tid)};
	if (ret->pagemap < 0)
		return error_errno(errno == ENOENT || errno == ESRCH ? ERROR_GONE
								     : ERROR_PERMISSION,
				   errno, "cannot open /proc/%d/pagemap", live.tid);
	ret->buffer = malloc(PIECE_BYTES + EXTRA_BYTES);
	if (!ret->buffer) {
		reach_memory_close(ret);
		return error_no_memory();
	}
	return NULL;
}

void reach_memory_close(struct reach_memory *memory)
{
	if (memory->pagemap >= 0)
		close(memory->pagemap);
	memory->pagemap = -1;
	free(memory->buffer);
	memory->buffer = NULL;
}

/* Must the scan end here? */
static bool is_over(struct reach_memory *m)
{
	if (m->progress)
		m->progress(m->progress_arg, m->read_bytes);
	if (m->deadline_ns && !m->is_late && clock_now_ns() > m->deadline_ns)
		m->is_late = true;
	return m->is_late || m->is_gone;
}

/* Note why memory could not be read. If the process has exited, or memtrace may not trace
 * it, later calls would fail, too. EFAULT and EIO say that a page cannot be read. After
 * any other error, such as ENOMEM, it is not known what the page has. */
static void note_errno(struct reach_memory *m)
{
	m->is_denied |= errno == EPERM;
	m->is_gone |= errno == ESRCH || errno == EPERM;
	m->is_late |= errno != ESRCH && errno != EPERM && errno != EFAULT && errno != EIO;
}

/* process_vm_readv(2) into the buffer, by another thread if the one that was used has
 * exited. Returns 0 if nothing could be read. */
static size_t read_into(struct reach_memory *m, size_t size, const struct iovec from[],
			size_t count)
{
	const struct iovec to = {m->buffer, size};
	int before;
	ssize_t got;

	do {
		got = process_vm_readv(m->live.tid, &to, 1, from, count, 0);
		before = errno;
	} while (got < 0 && before == ESRCH && live_thread_retry(&m->live));
	errno = before;
	if (got < 0) {
		note_errno(m);
		return 0;
	}
	m->read_bytes += (uint64_t)got;
	return (size_t)got;
}

/* Copy up to `size` bytes into the buffer. Returns how many could be read before the
 * first unreadable page. */
static size_t copy(struct reach_memory *m, uint64_t address, size_t size)
{
	const struct iovec from = {(void *)(uintptr_t)address, size};

	return read_into(m, size, &from, 1);
}

/* How pieces of memory are scanned. */
typedef void (*piece_fn)(struct reach_marks *marks, const struct reach_piece *piece,
			 enum reach_level level);

/* Read and scan what can be read of a range, until `unread_max` pages in a row cannot be
 * read. */
static void scan_range(struct reach_memory *m, uint64_t start, uint64_t end,
		       uint64_t unread_max, struct reach_marks *marks, piece_fn scan,
		       enum reach_level level)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), unread = 0;

	while (start < end && unread < unread_max && !is_over(m)) {
		size_t size =
			end - start < PIECE_BYTES ? (size_t)(end - start) : PIECE_BYTES;
		/* A page more would be read from a device, or swapped in, for nothing. */
		size_t extra = marks->words.unaligned || size % sizeof(uint64_t)
				       ? EXTRA_BYTES
				       : 0;
		size_t got = copy(m, start, size + extra);

		if (!got) {
			start = (start / page + 1) * page;
			unread++;
			continue;
		}
		unread = 0;
		if (got < size)
			size = got;
		scan(marks, &(struct reach_piece){start, m->buffer, size, got - size},
		     level);
		start += size;
	}
}

/* The same, but only pages that are there if the region says so. */
static void scan_written(struct reach_memory *m, const struct reach_region *region,
			 struct reach_marks *marks, piece_fn scan, enum reach_level level)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = region->start / page * page;
	uint64_t end = (region->end + page - 1) / page * page;

	if (!region->only_present) {
		scan_range(m, region->start, region->end,
			   region->is_device ? UNREAD_MAX : UINT64_MAX, marks, scan,
			   level);
		return;
	}
	while (at < end && !is_over(m)) {
		struct page_run runs[RUNS_MAX];
		int count = pages_find(m->pagemap, &at, end, region->is_read_only, runs,
				       RUNS_MAX);

		if (count < 0) {
			note_errno(m);
			m->is_late |= !m->is_gone;
			return;
		}
		for (int i = 0; i < count; i++) {
			uint64_t from = runs[i].start, to = runs[i].end;

			scan_range(m, from > region->start ? from : region->start,
				   to < region->end ? to : region->end, UINT64_MAX, marks,
				   scan, level);
		}
	}
}

bool reach_memory_share(const struct reach_memory *memory, struct reach_memory *ret)
{
	*ret = *memory;
	ret->read_bytes = 0;
	ret->progress = NULL;
	ret->buffer = malloc(PIECE_BYTES + EXTRA_BYTES);
	return ret->buffer;
}

void reach_memory_unshare(struct reach_memory *memory)
{
	free(memory->buffer);
	memory->buffer = NULL;
}

static enum reach_gaps gaps_of(const struct reach_region *region, bool is_whole)
{
	if (!is_whole || region->has_roots)
		return REACH_GAPS_USED;
	return region->is_heap ? REACH_GAPS_FREE : REACH_GAPS_FREE_PAGES;
}

static void sweep_piece(struct reach_marks *marks, const struct reach_piece *piece,
			enum reach_level level)
{
	(void)level;
	reach_marks_sweep(marks, piece);
}

void reach_memory_sweep_region(struct reach_memory *memory,
			       const struct reach_region *region,
			       struct reach_marks *marks)
{
	marks->gaps = gaps_of(region, marks->is_whole);
	scan_written(memory, region, marks, sweep_piece, REACH_REACHED);
}

void reach_memory_sweep(struct reach_memory *memory, const struct reach_regions *regions,
			struct reach_marks *marks)
{
	vec_foreach (region, &regions->list)
		reach_memory_sweep_region(memory, region, marks);
	reach_marks_swept(marks);
}

void reach_memory_scan_block(struct reach_memory *memory, struct reach_marks *marks,
			     uint32_t block, enum reach_level level)
{
	const struct reach_region region = {
		.start = marks->blocks->start[block],
		.end = marks->blocks->end[block],
		.only_present = marks->blocks->end[block] - marks->blocks->start[block] >
				SMALL_BYTES,
	};

	scan_written(memory, &region, marks, reach_marks_scan, level);
}

/* Small blocks that are read by one system call. */
struct batch {
	struct iovec from[BATCH_MAX];
	uint32_t block[BATCH_MAX];
	size_t count, bytes;
};

/* Scan the blocks of a batch. Returns how many of them were read. */
static size_t scan_batch(struct reach_memory *m, struct reach_marks *marks,
			 const struct batch *batch, size_t first)
{
	size_t got = read_into(m, PIECE_BYTES, batch->from + first, batch->count - first);
	size_t at = 0, i = first;

	for (; i < batch->count && at + batch->from[i].iov_len <= got; i++) {
		size_t size = batch->from[i].iov_len;
		uint32_t block = batch->block[i];

		reach_marks_collect(
			marks,
			&(struct reach_piece){(uintptr_t)batch->from[i].iov_base,
					      m->buffer + at, size, 0},
			(enum reach_level)marks->level[block]);
		at += size;
	}
	reach_marks_settle(marks);
	return i - first;
}

static void fill(struct reach_memory *m, struct reach_marks *marks, struct batch *batch)
{
	const struct reach_blocks *b = marks->blocks;

	batch->count = batch->bytes = 0;
	while (marks->todo.len && batch->count < BATCH_MAX) {
		uint32_t block = marks->todo.data[marks->todo.len - 1];
		/* With the rest of a pointer that begins in its last bytes. */
		size_t size = (size_t)(b->end[block] - b->start[block]) + EXTRA_BYTES;

		if (batch->count &&
		    (size > SMALL_BYTES || batch->bytes + size > PIECE_BYTES))
			return;
		marks->todo.len--;
		if (size > SMALL_BYTES) {
			reach_memory_scan_block(m, marks, block,
						(enum reach_level)marks->level[block]);
			continue;
		}
		batch->from[batch->count] =
			(struct iovec){(void *)(uintptr_t)b->start[block], size / 8 * 8};
		batch->block[batch->count++] = block;
		batch->bytes += size;
	}
}

void reach_memory_flood(struct reach_memory *memory, struct reach_marks *marks)
{
	struct batch batch;

	while (marks->todo.len && !is_over(memory) && !marks->no_memory) {
		fill(memory, marks, &batch);
		for (size_t i = 0; i < batch.count && !memory->is_gone;) {
			i += scan_batch(memory, marks, &batch, i);
			/* It cannot be read as a whole: page by page. */
			if (i < batch.count && !memory->is_gone) {
				uint32_t block = batch.block[i++];

				reach_memory_scan_block(
					memory, marks, block,
					(enum reach_level)marks->level[block]);
			}
		}
	}
}
