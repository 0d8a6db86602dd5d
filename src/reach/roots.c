// SPDX-License-Identifier: Apache-2.0
#include "reach/roots.h"

#include <string.h>

/* A C library's data of a thread ends before this distance from the thread pointer. */
#define CONTROL_BYTES UINT64_C(4096)

/* Thread-local data begins less than this below the thread pointer. */
#define STORAGE_BYTES UINT64_C(65536)

/* Where the part of the heap ends that is always searched. */
static uint64_t end_of_roots(const struct reach_threads *threads,
			     const struct reach_blocks *blocks,
			     const struct reach_region *heap)
{
	uint32_t first = reach_blocks_from(blocks, heap->start);
	uint64_t end = heap->start;

	if (first < blocks->count && blocks->start[first] > heap->start &&
	    blocks->start[first] < heap->end)
		end = blocks->start[first];
	vec_foreach (t, &threads->list) {
		uint64_t pointer = t->thread_pointer;

		if (pointer >= heap->start && pointer < heap->end &&
		    end < pointer + CONTROL_BYTES)
			end = pointer + CONTROL_BYTES;
	}
	return end < heap->end ? end : heap->end;
}

/* Set `has_roots` of the part from `start` to `end`, which is in the region `i`. */
static struct error *keep(struct reach_regions *regions, size_t i, uint64_t start,
			  uint64_t end)
{
	struct reach_region whole = regions->list.data[i], roots = whole, rest = whole;
	struct reach_region *r;

	if (!vec_push(&regions->list, whole) || !vec_push(&regions->list, whole))
		return error_no_memory();
	/* Keep the order. Parts may be empty. */
	r = &regions->list.data[i];
	memmove(r + 3, r + 1, (regions->list.len - i - 3) * sizeof(*r));
	r->end = roots.start = start;
	roots.end = rest.start = end;
	roots.has_roots = true;
	r[1] = roots;
	r[2] = rest;
	return NULL;
}

/* Keep what is between the blocks around the thread pointer. */
static struct error *keep_thread(uint64_t pointer, const struct reach_blocks *blocks,
				 struct reach_regions *regions)
{
	size_t i = vec_count_up_to(&regions->list, start, pointer);
	uint32_t next = reach_blocks_from(blocks, pointer);
	const struct reach_region *r;
	uint64_t start, end;

	if (!i || regions->list.data[i - 1].end <= pointer)
		return NULL;
	r = &regions->list.data[i - 1];
	start = pointer - r->start > STORAGE_BYTES ? pointer - STORAGE_BYTES : r->start;
	end = r->end - pointer > CONTROL_BYTES ? pointer + CONTROL_BYTES : r->end;
	if (next && blocks->end[next - 1] > start)
		start = blocks->end[next - 1];
	if (next < blocks->count && blocks->start[next] < end)
		end = blocks->start[next];
	/* Without blocks beside it, it is searched anyway. */
	if (r->is_heap || r->has_roots || start >= end ||
	    reach_blocks_from(blocks, r->start) == blocks->count ||
	    blocks->start[reach_blocks_from(blocks, r->start)] >= r->end)
		return NULL;
	return keep(regions, i - 1, start, end);
}

struct error *reach_roots_keep(const struct reach_threads *threads,
			       const struct reach_blocks *blocks,
			       struct reach_regions *regions)
{
	struct error *err = NULL;

	vec_foreach (t, &threads->list)
		if (!err)
			err = keep_thread(t->thread_pointer, blocks, regions);
	for (size_t i = 0; !err && i < regions->list.len; i++) {
		const struct reach_region *r = &regions->list.data[i];
		uint64_t end = r->is_heap && !r->has_roots
				       ? end_of_roots(threads, blocks, r)
				       : r->start;

		if (end > r->start) {
			err = keep(regions, i, r->start, end);
			i += 2;
		}
	}
	return err;
}
