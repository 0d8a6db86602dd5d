/* SPDX-License-Identifier: Apache-2.0 */
/* Where calls of a function are seen to begin: the best place that is proven
 * (plan/place.h), unless the rest of the file or the target's memory rules it out. */
#ifndef PLAN_SITE_ENTRY_H
#define PLAN_SITE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "target/allocator.h"
#include "target/elf.h"

/* An allocator's file. All borrowed. */
struct site_file {
	struct elf_file *elf;
	const struct allocator *allocator;
	const struct site_target *target;
	unsigned emulated; /* enum place_emulated, or-ed: what the kernel emulates */
};

/* All bytes of the function, to be freed; NULL: they cannot be read. */
uint8_t *site_read_code(struct elf_file *file, const struct elf_symbol *symbol);

/* Does another function of the allocator begin behind `address`, at most `delta` bytes
 * on? A caller of that one would be taken for a caller of both. */
bool site_is_shared(const struct allocator *allocator, uint64_t address, uint32_t delta);

/*
 * Choose where calls begin to be seen, and where a return probe would sit: the address,
 * the offsets, sp_delta, arg_reg and reason of `site`. Its function and wants_return are
 * set already. `code` is what site_read_code() returned. False when the kernel takes no
 * probe there: only `site->reason` is set then.
 */
bool site_place_entry(const struct site_file *file,
		      const struct allocator_function *found, const uint8_t *code,
		      struct plan_site *site);

#endif
