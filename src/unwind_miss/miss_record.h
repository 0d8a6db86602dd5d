/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of records in the ring of misses become a stack (probes/abi_walk.h). One is
 * an unwind miss. The other is a stack that a probe has unwound, but could not store,
 * because the tables lacked a part. */
#ifndef UNWIND_MISS_MISS_RECORD_H
#define UNWIND_MISS_MISS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drain/stack_pages.h"
#include "drain/stack_store.h"
#include "unwind_miss/miss_walk.h"

struct miss_record {
	uint64_t number; /* of the miss */
	uint32_t allocator;
	bool has_stack; /* false: the process of the miss is out of range */
	/* The pcs are valid until the next record, and as long as this one. */
	struct stored_stack stack;
};

/* Read the next record of the ring, `size` bytes. A miss is unwound; if `is_cut`, its
 * stack has only the frames that the probes have found. Returns false if the record gives
 * no stack. */
bool miss_record_read(struct miss_walker *walker, struct stack_pages *pages,
		      const void *record, size_t size, bool is_cut,
		      struct miss_record *ret);

#endif
