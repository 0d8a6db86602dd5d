/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split unit: the DIEs of a compilation unit that lie in a .dwo file, while a skeleton
 * unit in the program's file has its line table and its addresses (DWARF 5, section
 * 3.1.2). Data that needs the skeleton is read here: strings and addresses by index, and
 * range lists (docs/mechanisms.md, "Source lines"). Private to the readers of DWARF.
 */
#ifndef DWARF_SPLIT_UNIT_H
#define DWARF_SPLIT_UNIT_H

#include <elfutils/libdw.h>

#include "dwarf/split_file.h"

struct dwarf_budget;

/* The attributes of a skeleton unit. Strings and bytes are borrowed from its file. */
struct split_skeleton {
	uint64_t id; /* DW_AT_GNU_dwo_id, or the id in the unit's header */
	unsigned version;
	const char *name;             /* DW_AT_dwo_name, DW_AT_GNU_dwo_name */
	const char *directory;        /* DW_AT_comp_dir; NULL: none */
	uint64_t base;                /* address that ranges are relative to */
	struct split_bytes addresses; /* .debug_addr, from the unit's first address on */
	struct split_bytes
		ranges; /* .debug_ranges, from the unit's first range on (DWARF 4) */
};

/* True if `unit` of `image` is a skeleton. */
bool split_skeleton_read(const struct debug_elf *image, Dwarf_Die *unit,
			 struct split_skeleton *ret);

struct split_unit {
	struct split_skeleton skeleton;
	struct debug_elf *image;        /* in memory: only the unit's sections */
	struct split_sections sections; /* in `image`, except shared strings */
	struct split_bytes offsets;     /* .debug_str_offsets from the first offset on */
	unsigned offset_bytes;          /* size of one of the `offsets` */
	Dwarf *dwarf;
	Dwarf_Off die;
};

/* Read the unit of `skeleton` (borrowed) from `sections`, which are copied, except
 * shared strings. *ret is NULL if the unit is not there. Subtracts the memory that it
 * takes from *memory_bytes. Fails only when out of memory. */
struct error *split_unit_create(const struct split_skeleton *skeleton,
				const struct split_sections *sections,
				struct dwarf_budget *budget, uint64_t *memory_bytes,
				struct split_unit **ret)
	__attribute__((warn_unused_result));
void split_unit_destroy(struct split_unit *unit);

/* Like dwarf_formstring(3); borrowed from the file. */
const char *split_unit_string(const struct split_unit *unit, const Dwarf_Attribute *attr);

/* The entry address of `die`, like dwarf_entrypc(3); false if it has none. */
bool split_unit_entry(const struct split_unit *unit, Dwarf_Die *die, uint64_t *ret);

/* Like dwarf_each_range() in dwarf_unit.h. */
void split_unit_each_range(const struct split_unit *unit, Dwarf_Die *die,
			   struct dwarf_budget *budget,
			   bool (*each)(void *arg, uint64_t low, uint64_t high),
			   void *arg);

#endif
