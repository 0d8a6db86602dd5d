// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/mapping_book.h"

#include <string.h>

#include <linux/mman.h>

#include "util/clock.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

void mapping_book_init(struct mapping_book *book, uint64_t page_bytes, size_t *held)
{
	*book = (struct mapping_book){.page_bytes = page_bytes, .held = held};
}

/* Drop the pieces that a call removed. */
static void drop_taken(struct mapping_book *book, struct mapping_call *call)
{
	*book->held -= call->taken.len;
	vec_deinit(&call->taken);
}

void mapping_book_deinit(struct mapping_book *book)
{
	vec_foreach (call, &book->calls)
		drop_taken(book, call);
	vec_deinit(&book->calls);
	*book->held -= book->pieces.len;
	vec_deinit(&book->pieces);
}

static bool has_room(const struct mapping_book *book)
{
	return *book->held < MAPPING_PIECES_MAX;
}

/* The index of the first piece that ends after `address`. */
static size_t lower_bound(const struct mapping_book *book, uint64_t address)
{
	return vec_count_up_to(&book->pieces, end, address);
}

static bool insert_at(struct mapping_book *book, size_t at, struct mapping_piece piece)
{
	if (!vec_reserve(&book->pieces, book->pieces.len + 1))
		return false;
	memmove(book->pieces.data + at + 1, book->pieces.data + at,
		(book->pieces.len - at) * sizeof(piece));
	book->pieces.data[at] = piece;
	book->pieces.len++;
	++*book->held;
	return true;
}

/* The whole pages of [address, address + size), rounded as by the kernel. */
static bool page_range(const struct mapping_book *book, uint64_t address, uint64_t size,
		       uint64_t *start, uint64_t *end)
{
	uint64_t mask = book->page_bytes - 1;

	if (!size || size > UINT64_MAX - mask ||
	    address > UINT64_MAX - ((size + mask) & ~mask))
		return false;
	*start = address & ~mask;
	*end = *start + ((size + mask) & ~mask);
	return true;
}

/* Cut [start, end) out of the book and move the parts to call->taken, which is empty. All
 * at once: the target chooses how many there are. */
static bool take_range(struct mapping_book *book, uint64_t start, uint64_t end,
		       struct mapping_call *call)
{
	size_t first = lower_bound(book, start), last = first, count;
	struct mapping_piece head, tail, *pieces = book->pieces.data;
	bool keeps_head, keeps_tail;

	while (last < book->pieces.len && pieces[last].start < end)
		last++;
	count = last - first;
	if (!count)
		return true;
	head = pieces[first];
	tail = pieces[last - 1];
	keeps_head = head.start < start;
	keeps_tail = tail.end > end;
	/* A piece with a hole becomes two that stay. */
	if (count == 1 && keeps_head && keeps_tail && !has_room(book))
		return false;
	if (!vec_reserve(&book->pieces, book->pieces.len + 1) ||
	    !vec_reserve(&call->taken, count))
		return false;
	pieces = book->pieces.data + first;
	memcpy(call->taken.data, pieces, count * sizeof(*pieces));
	call->taken.len = count;
	memmove(pieces + keeps_head + keeps_tail, pieces + count,
		(book->pieces.len - last) * sizeof(*pieces));
	if (keeps_head) {
		call->taken.data[0].start = start;
		head.end = start;
		*pieces++ = head;
	}
	if (keeps_tail) {
		call->taken.data[count - 1].end = end;
		tail.start = end;
		*pieces = tail;
	}
	book->pieces.len = book->pieces.len - count + keeps_head + keeps_tail;
	*book->held += keeps_head + keeps_tail;
	return true;
}

/* Put what a call removed back: both lists are sorted. */
static bool put_back(struct mapping_book *book, struct mapping_call *call)
{
	size_t left = book->pieces.len, taken = call->taken.len, to = left + taken;

	if (!vec_reserve(&book->pieces, to))
		return false;
	book->pieces.len = to;
	*book->held += taken;
	while (taken) {
		const struct mapping_piece *own = &book->pieces.data[left ? left - 1 : 0];
		const struct mapping_piece *other = &call->taken.data[taken - 1];

		if (left && own->start > other->start) {
			book->pieces.data[--to] = *own;
			left--;
		} else {
			book->pieces.data[--to] = *other;
			taken--;
		}
	}
	return true;
}

static void count_freed(struct mapping_book *book, const struct mapping_call *call)
{
	vec_foreach (piece, &call->taken) {
		book->totals.frees++;
		book->totals.freed_bytes += piece->end - piece->start;
	}
}

/* A new mapping. Pieces under it are gone: MAP_FIXED replaces them. */
static bool add_mapping(struct mapping_book *book, const struct abi_event *event)
{
	struct mapping_piece piece = {.stack = event->stack,
				      .tid = ABI_TID(event->thread),
				      .ticks = ABI_TICKS(event->thread, event->tick)};
	struct mapping_call replaced = {0};

	if (!page_range(book, event->address, event->size_bytes, &piece.start,
			&piece.end))
		return true;
	if (!has_room(book))
		return false;

	bool ok = take_range(book, piece.start, piece.end, &replaced) &&
		  insert_at(book, lower_bound(book, piece.start), piece);

	if (ok) {
		count_freed(book, &replaced);
		book->totals.allocations++;
		book->totals.allocated_bytes += piece.end - piece.start;
	}
	drop_taken(book, &replaced);
	return ok;
}

static struct mapping_call *call_of(struct mapping_book *book, uint32_t tid)
{
	vec_foreach (call, &book->calls) {
		if (call->tid == tid)
			return call;
	}
	return NULL;
}

static void call_end(struct mapping_book *book, struct mapping_call *call)
{
	struct mapping_call *end = book->calls.data + book->calls.len;

	drop_taken(book, call);
	memmove(call, call + 1, (size_t)(end - call - 1) * sizeof(*call));
	book->calls.len--;
}

/* The call never returned: what it removed is gone. */
static void give_up(struct mapping_book *book, struct mapping_call *call)
{
	count_freed(book, call);
	call_end(book, call);
}

/* A munmap() or mremap() begins: remove its old range. */
static bool begin_call(struct mapping_book *book, const struct abi_event *event)
{
	bool keeps_old =
		event->kind == ABI_EVENT_REMAP && event->extra & MREMAP_DONTUNMAP;
	struct mapping_call *call = call_of(book, ABI_TID(event->thread));
	uint64_t start = 0, end = 0;

	if (call)
		give_up(book, call);
	else if (book->calls.len >= MAPPING_CALLS_MAX)
		give_up(book, book->calls.data);
	/* mremap() with old size 0 creates a second mapping of the same pages. The kernel
	 * rejects unaligned addresses. In both cases nothing is removed. */
	keeps_old |= event->address & (book->page_bytes - 1) ||
		     !page_range(book, event->address, event->size_bytes, &start, &end);
	if (!vec_push(&book->calls,
		      (struct mapping_call){.tid = ABI_TID(event->thread),
					    .is_remap = event->kind == ABI_EVENT_REMAP,
					    .keeps_old = keeps_old}))
		return false;
	call = &book->calls.data[book->calls.len - 1];
	return keeps_old || take_range(book, start, end, call);
}

static bool end_call(struct mapping_book *book, const struct abi_event *event)
{
	struct mapping_call *call = call_of(book, ABI_TID(event->thread));
	bool ok = true;

	if (event->kind == ABI_EVENT_FAILED) {
		/* A failed munmap() is not a failed allocation. */
		if (!call || call->is_remap)
			book->totals.failures++;
		/* No other mapping can be in the range: the kernel did not unmap it. */
		ok = !call || put_back(book, call);
	} else {
		if (call && call->taken.len)
			count_freed(book, call);
		else if (!call || !call->keeps_old)
			book->totals.frees_unknown++;
	}
	if (call)
		call_end(book, call);
	return event->kind == ABI_EVENT_REMAPPED ? add_mapping(book, event) : ok;
}

bool mapping_book_apply(struct mapping_book *book, const struct abi_event *event)
{
	switch (event->kind) {
	case ABI_EVENT_MAP:
		return add_mapping(book, event);
	case ABI_EVENT_UNMAP:
	case ABI_EVENT_REMAP:
		return begin_call(book, event);
	case ABI_EVENT_DONE:
	case ABI_EVENT_FAILED:
	case ABI_EVENT_REMAPPED:
		return end_call(book, event);
	}
	return true;
}

void mapping_reading_begin(struct mapping_reading *reading)
{
	*reading = (struct mapping_reading){.since_ns = clock_thread_cpu_ns()};
}

bool mapping_reading_is_late(struct mapping_reading *reading)
{
	if (reading->events++ % 64 == 0)
		reading->is_late =
			clock_thread_cpu_ns() - reading->since_ns > MAPPING_READING_NS;
	return reading->is_late;
}
