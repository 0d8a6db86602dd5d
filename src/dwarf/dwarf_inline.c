// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>

/* Rust programs reach 40. Deeper inlined functions are left out. */
#define INLINES_MAX 64u

/* Blocks without code of their own may contain blocks that have code. */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_common_block:
	case DW_TAG_inlined_subroutine:
		return true;
	default:
		return false;
	}
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

struct walk {
	const struct dwarf_unit *unit;
	struct dwarf_budget *budget;
	uint64_t address;
	struct dwarf_inlines *inlines;
	bool failed; /* out of memory */
};

/* Collect the inlined calls around the address; true if a scope below `parent` contains
 * it. */
static bool descend(struct walk *walk, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth >= DWARF_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!dwarf_budget_spend(walk->budget, 1))
			return false;
		if (!is_scope(tag))
			continue;
		if (!has_code(&die)) {
			if (tag != DW_TAG_inlined_subroutine &&
			    descend(walk, &die, depth + 1))
				return true;
			continue;
		}
		if (!dwarf_covers(walk->unit, &die, walk->budget, walk->address))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			if (walk->inlines->dies.len >= INLINES_MAX)
				return true;
			walk->failed = !vec_push(&walk->inlines->dies, die);
		}
		if (!walk->failed)
			descend(walk, &die, depth + 1);
		return true;
	} while (!walk->failed && dwarf_siblingof(&die, &die) == 0);
	return false;
}

struct error *dwarf_find_inlines(const struct dwarf_unit *unit, Dwarf_Die *function,
				 struct dwarf_budget *budget, uint64_t address,
				 struct dwarf_inlines *ret)
{
	struct walk walk = {
		.unit = unit,
		.budget = budget,
		.address = address,
		.inlines = ret,
	};

	descend(&walk, function, 0);
	return walk.failed ? error_no_memory() : NULL;
}
