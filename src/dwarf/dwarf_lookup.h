/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source frames from one file's DWARF, read with libdw; docs/mechanisms.md, "Source
 * lines". Some functions of libdw open files by names from the DWARF. They are not used:
 * dwarf_cu_info() for the DIE of a split unit, dwarf_attr_integrate() on a skeleton,
 * dwarf_getalt() with no file set.
 */
#ifndef DWARF_DWARF_LOOKUP_H
#define DWARF_DWARF_LOOKUP_H

#include <elfutils/libdw.h>

#include "dwarf/debug_elf.h"
#include "dwarf/dwarf_read.h"
#include "dwarf/source_frame.h"
#include "dwarf/split_search.h"
#include "util/error.h"

struct dwarf_lookup;

/* Look up addresses in `dwarf`, which belongs to `image`, and in the split units that
 * `splits` finds. All arguments are borrowed and must outlive the lookup. */
struct error *dwarf_lookup_create(const struct debug_elf *image, Dwarf *dwarf,
				  struct split_search *splits,
				  struct dwarf_budget *budget, struct dwarf_lookup **ret)
	__attribute__((warn_unused_result));
void dwarf_lookup_destroy(struct dwarf_lookup *lookup);

/* True once the split unit of a skeleton could not be found. */
bool dwarf_lookup_lacks_split(const struct dwarf_lookup *lookup);

/*
 * The frames of the code at `address` (in the file's address space). An address without
 * debug info leaves `ret` empty. Fails only when out of memory.
 */
struct error *dwarf_lookup_find(struct dwarf_lookup *lookup, uint64_t address,
				struct source_frames *ret)
	__attribute__((warn_unused_result));

#endif
