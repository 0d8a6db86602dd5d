/* SPDX-License-Identifier: Apache-2.0 */
/* The entry probe of a function: the best proven place (code/place.h), unless the rest
 * of the file or the target's memory rules it out. */
#ifndef PLAN_SITE_ENTRY_H
#define PLAN_SITE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "allocator/allocator.h"
#include "elf/elf.h"

/* An allocator's file. All borrowed. */
struct site_file {
	struct elf_file *elf;
	const struct allocator *allocator;
	const struct site_target *target;
	unsigned emulated; /* enum emulated, or-ed: what the kernel emulates */
};

/* Read all bytes of the function. The caller frees them; NULL: they cannot be read. */
uint8_t *site_read_code(struct elf_file *file, const struct elf_symbol *symbol);

/* Does another function of the allocator begin after `address`, at most `delta` bytes
 * on? Its callers would be counted as callers of both functions. */
bool site_is_shared(const struct allocator *allocator, uint64_t address, uint32_t delta);

/*
 * Choose the places of the entry probe and of a return probe: address, offsets,
 * sp_delta, arg_reg and reason of `site`. Its function and wants_return are already
 * set. `code` is the result of site_read_code(). False: the kernel refuses a probe
 * there; only `site->reason` is set then.
 */
bool site_place_entry(const struct site_file *file,
		      const struct allocator_function *found, const uint8_t *code,
		      struct plan_site *site);

#endif
