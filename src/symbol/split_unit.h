/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split unit: the DIEs of a compilation unit that lie in a .dwo file, while a skeleton
 * unit in the program's file has its line table and its addresses (DWARF 5, section
 * 3.1.2). Private to the readers of DWARF.
 *
 * libdw walks the DIEs. It cannot be told which skeleton a file belongs to but by opening
 * the file itself, by the name in the DWARF and mapping it; so what needs the skeleton,
 * strings and addresses by index and lists of ranges, is read here.
 */
#ifndef SYMBOL_SPLIT_UNIT_H
#define SYMBOL_SPLIT_UNIT_H

#include <elfutils/libdw.h>

#include "symbol/split_file.h"

struct dwarf_budget;

/* What a skeleton unit says. Strings and bytes are borrowed from its file. */
struct split_skeleton {
	uint64_t id; /* DW_AT_GNU_dwo_id, or that in the unit's header */
	unsigned version;
	const char *name;             /* DW_AT_dwo_name, DW_AT_GNU_dwo_name */
	const char *directory;        /* DW_AT_comp_dir; NULL: none */
	uint64_t base;                /* which ranges are relative to */
	struct split_bytes addresses; /* .debug_addr, from the unit's first on */
	struct split_bytes ranges;    /* .debug_ranges, the same (DWARF 4) */
};

/* True when `unit` of `image` is a skeleton. */
bool split_skeleton_read(const struct debug_elf *image, Dwarf_Die *unit,
			 struct split_skeleton *ret);

struct split_unit {
	struct split_skeleton skeleton;
	struct debug_elf *image;        /* a file of ours: the unit's sections alone */
	struct split_sections sections; /* in there, but for shared strings */
	struct split_bytes offsets; /* of strings: .debug_str_offsets from the first on */
	unsigned offset_bytes;      /* of one of those */
	Dwarf *dwarf;
	Dwarf_Off die;
};

/* The unit of `skeleton`, which is borrowed, in `sections`, which are copied, but for
 * shared strings; *ret is NULL when it is not there. What it takes of memory is taken
 * from *memory_bytes. Fails only when memory is out. */
struct error *split_unit_create(const struct split_skeleton *skeleton,
				const struct split_sections *sections,
				struct dwarf_budget *budget, uint64_t *memory_bytes,
				struct split_unit **ret)
	__attribute__((warn_unused_result));
void split_unit_destroy(struct split_unit *unit);

/* As dwarf_formstring(3); borrowed from the file. */
const char *split_unit_string(const struct split_unit *unit, const Dwarf_Attribute *attr);

/* The address of the entry of `die`, as dwarf_entrypc(3); false when it has none. */
bool split_unit_entry(const struct split_unit *unit, Dwarf_Die *die, uint64_t *ret);

/* As dwarf_each_range() of dwarf_unit.h. */
void split_unit_each_range(const struct split_unit *unit, Dwarf_Die *die,
			   struct dwarf_budget *budget,
			   bool (*each)(void *arg, uint64_t low, uint64_t high),
			   void *arg);

#endif
