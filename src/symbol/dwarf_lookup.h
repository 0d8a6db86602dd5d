/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source frames from one file's DWARF, by libdw. Compilation units are found by the
 * ranges of their DIEs (clang writes no .debug_aranges), functions by a list made of a
 * unit's DIEs when an address in it is first asked for, inlined functions by a walk below
 * the function's DIE (DWARF 5, sections 3.1.1 and 3.3.8). Those of a skeleton unit are
 * in its split unit, where that is found; the lines never are.
 *
 * The functions of libdw that open files by names from the DWARF are not used:
 * dwarf_cu_info() for the DIE of a split unit, dwarf_attr_integrate() on a skeleton,
 * dwarf_getalt() with no file set.
 */
#ifndef SYMBOL_DWARF_LOOKUP_H
#define SYMBOL_DWARF_LOOKUP_H

#include <elfutils/libdw.h>

#include "symbol/debug_elf.h"
#include "symbol/source_frame.h"
#include "symbol/split_search.h"
#include "util/error.h"

/* What may still be spent, and who wants to know that time passes. Shared by the lookups
 * of one process: hostile DWARF can be made of references that multiply, and the sum of
 * what it costs is bounded, not each step. */
struct dwarf_budget {
	uint64_t steps; /* DIEs and ranges looked at, bytes of line programs run, bytes of
			   text copied: some 50 ns each or less */
	void (*tick)(void *arg); /* called now and then while steps are spent; or NULL */
	void *tick_arg;
};

struct dwarf_lookup;

/* Answers from `dwarf`, which belongs to `image`, and from the split units that `splits`
 * finds. All are borrowed and must outlive the lookup. */
struct error *dwarf_lookup_create(const struct debug_elf *image, Dwarf *dwarf,
				  struct split_search *splits,
				  struct dwarf_budget *budget, struct dwarf_lookup **ret)
	__attribute__((warn_unused_result));
void dwarf_lookup_destroy(struct dwarf_lookup *lookup);

/* True once the split unit of a skeleton was not found. */
bool dwarf_lookup_lacks_split(const struct dwarf_lookup *lookup);

/*
 * The frames of the code at `address` (in the file's address space). An address without
 * debug info leaves `ret` empty. Fails only when memory is out.
 */
struct error *dwarf_lookup_find(struct dwarf_lookup *lookup, uint64_t address,
				struct source_frames *ret)
	__attribute__((warn_unused_result));

#endif
