// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <stdlib.h>

/* How many functions are compared. Functions overlap if nested, or in malformed DWARF. */
#define OVERLAPS_MAX 64u

bool dwarf_unit_die(const struct dwarf_unit *unit, Dwarf *dwarf, Dwarf_Off offset,
		    Dwarf_Die *ret)
{
	return dwarf_offdie(unit->split ? unit->split->dwarf : dwarf, offset, ret);
}

void dwarf_each_range(const struct dwarf_unit *unit, Dwarf_Die *die,
		      struct dwarf_budget *budget,
		      bool (*each)(void *arg, uint64_t low, uint64_t high), void *arg)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	if (unit->split) {
		split_unit_each_range(unit->split, die, budget, each, arg);
		return;
	}
	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (!dwarf_budget_spend(budget, 1))
			return;
		if (low < high && !each(arg, low, high))
			return;
	}
}

struct cover {
	uint64_t address;
	bool found;
};

static bool cover_range(void *arg, uint64_t low, uint64_t high)
{
	struct cover *cover = arg;

	cover->found = cover->address >= low && cover->address < high;
	return !cover->found;
}

bool dwarf_covers(const struct dwarf_unit *unit, Dwarf_Die *die,
		  struct dwarf_budget *budget, uint64_t address)
{
	struct cover cover = {.address = address};

	dwarf_each_range(unit, die, budget, cover_range, &cover);
	return cover.found;
}

struct scan {
	struct dwarf_unit *unit;
	struct dwarf_budget *budget;
	Dwarf_Off die;
	uint64_t start;
	bool has_start;
	bool failed; /* out of memory */
};

/* The first listed range contains the entry, unless DW_AT_low_pc says otherwise. */
static bool add_range(void *arg, uint64_t low, uint64_t high)
{
	struct scan *scan = arg;

	/* The linker sets the address of a discarded function to 0. */
	if (!low)
		return true;
	if (!dwarf_budget_spend(scan->budget, DWARF_RANGE_STEPS))
		return false;
	if (!scan->has_start) {
		scan->has_start = true;
		scan->start = low;
	}
	scan->failed = !vec_push(&scan->unit->functions, (struct dwarf_function){
								 .low = low,
								 .high = high,
								 .start = scan->start,
								 .die = scan->die,
							 });
	return !scan->failed;
}

/* Most types contain no code, but some compilers put member functions in them. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* in Rust */
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

/* The entry address of `die`; false if it has none. */
static bool find_entry(const struct dwarf_unit *unit, Dwarf_Die *die, uint64_t *ret)
{
	return unit->split ? split_unit_entry(unit->split, die, ret)
			   : !dwarf_entrypc(die, ret);
}

static void scan_children(struct scan *scan, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth >= DWARF_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!dwarf_budget_spend(scan->budget, 1))
			return;
		if (tag == DW_TAG_subprogram) {
			scan->die = dwarf_dieoffset(&die);
			scan->has_start = find_entry(scan->unit, &die, &scan->start);
			dwarf_each_range(scan->unit, &die, scan->budget, add_range, scan);
		}
		if (may_hold_functions(tag))
			scan_children(scan, &die, depth + 1);
	} while (!scan->failed && dwarf_siblingof(&die, &die) == 0);
}

static int compare_functions(const void *pa, const void *pb)
{
	const struct dwarf_function *a = pa, *b = pb;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	/* The larger first, so that a search backwards from an address meets the inner
	 * one first. */
	return a->high > b->high ? -1 : a->high < b->high;
}

static bool is_cplusplus(Dwarf_Die *unit)
{
	switch (dwarf_number(unit, DW_AT_language)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	/* C++17, 20 and 23, which <dwarf.h> lacks (dwarfstd.org/languages.html). */
	case 42:
	case 43:
	case 58:
		return true;
	default:
		return false;
	}
}

struct error *dwarf_unit_scan(struct dwarf_unit *unit, Dwarf *dwarf,
			      struct dwarf_budget *budget)
{
	struct scan scan = {.unit = unit, .budget = budget};
	Dwarf_Die die;

	if (unit->is_scanned)
		return NULL;
	unit->is_scanned = true;
	if (!dwarf_unit_die(unit, dwarf, unit->split ? unit->split->die : unit->die,
			    &die))
		return NULL;
	unit->has_scopes = is_cplusplus(&die);
	scan_children(&scan, &die, 0);
	if (scan.failed)
		return error_no_memory();
	if (unit->functions.len)
		qsort(unit->functions.data, unit->functions.len,
		      sizeof(*unit->functions.data), compare_functions);
	return NULL;
}

const struct dwarf_function *dwarf_unit_function(const struct dwarf_unit *unit,
						 uint64_t address)
{
	const struct dwarf_function *functions = unit->functions.data, *found = NULL;
	size_t low = vec_count_up_to(&unit->functions, low, address);

	for (size_t i = 0; i < OVERLAPS_MAX && i < low; i++) {
		const struct dwarf_function *f = &functions[low - 1 - i];

		if (address < f->high &&
		    (!found || f->high - f->low < found->high - found->low))
			found = f;
	}
	return found;
}
