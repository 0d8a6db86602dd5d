// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/mapping_book.h"

#include <string.h>

#include <linux/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

void mapping_book_init(struct mapping_book *book, uint64_t page_bytes)
{
	*book = (struct mapping_book){.page_bytes = page_bytes};
}

void mapping_book_deinit(struct mapping_book *book)
{
	vec_foreach (call, &book->calls)
		vec_deinit(&call->taken);
	vec_deinit(&book->calls);
	vec_deinit(&book->pieces);
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

/* Cut [start, end) out of the book and move the parts to call->taken. */
static bool take_range(struct mapping_book *book, uint64_t start, uint64_t end,
		       struct mapping_call *call)
{
	size_t at = lower_bound(book, start);

	/* Reserve first, so that running out of memory leaves nothing half done: a piece
	 * can split into three. */
	if (!vec_reserve(&book->pieces, book->pieces.len + 1))
		return false;
	while (at < book->pieces.len && book->pieces.data[at].start < end) {
		struct mapping_piece *piece = &book->pieces.data[at], cut = *piece;

		cut.start = cut.start < start ? start : cut.start;
		cut.end = cut.end > end ? end : cut.end;
		if (!vec_push(&call->taken, cut))
			return false;
		if (piece->start < cut.start && piece->end > cut.end) {
			struct mapping_piece rest = *piece;

			rest.start = cut.end;
			piece->end = cut.start;
			return insert_at(book, at + 1, rest);
		}
		if (piece->start < cut.start) {
			piece->end = cut.start;
			at++;
		} else if (piece->end > cut.end) {
			piece->start = cut.end;
			at++;
		} else {
			memmove(piece, piece + 1,
				(book->pieces.len - at - 1) * sizeof(*piece));
			book->pieces.len--;
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

	bool ok = take_range(book, piece.start, piece.end, &replaced) &&
		  insert_at(book, lower_bound(book, piece.start), piece);

	if (ok) {
		count_freed(book, &replaced);
		book->totals.allocations++;
		book->totals.allocated_bytes += piece.end - piece.start;
	}
	vec_deinit(&replaced.taken);
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
	vec_deinit(&call->taken);
	*call = book->calls.data[--book->calls.len];
}

/* A munmap() or mremap() begins: remove its old range. */
static bool begin_call(struct mapping_book *book, const struct abi_event *event)
{
	bool keeps_old =
		event->kind == ABI_EVENT_REMAP && event->extra & MREMAP_DONTUNMAP;
	struct mapping_call *call = call_of(book, ABI_TID(event->thread));
	uint64_t start = 0, end = 0;

	/* The thread's last call never returned: what it removed is gone. */
	if (call) {
		count_freed(book, call);
		call_end(book, call);
	}
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
		/* Put the pieces back. No other mapping can be in the range: the kernel
		 * did not unmap it. */
		for (size_t i = 0; call && i < call->taken.len; i++) {
			struct mapping_piece piece = call->taken.data[i];

			ok &= insert_at(book, lower_bound(book, piece.start), piece);
		}
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
