/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation units and their functions. Private to dwarf_lookup.c, dwarf_unit.c,
 * dwarf_inline.c and dwarf_name.c. */
#ifndef DWARF_DWARF_UNIT_H
#define DWARF_DWARF_UNIT_H

#include "dwarf/dwarf_read.h"
#include "dwarf/split_unit.h"
#include "util/vec.h"

/* No compiler nests DIEs deeper. Deeper DIEs are ignored. */
#define DWARF_DEPTH_MAX 256

/* The code of a function, or of a part of it. */
struct dwarf_function {
	uint64_t low, high; /* high exclusive */
	uint64_t start;     /* entry address of the function */
	Dwarf_Off die;
};

struct dwarf_unit {
	Dwarf_Off die;
	struct split_unit
		*split; /* has its functions, if `die` is a skeleton; else NULL */
	bool is_scanned;
	bool has_scopes; /* its language is C++; set by the scan */
	bool has_lines,
		lines_checked; /* libdw may run the line program; that was checked */
	VEC(struct dwarf_function) functions; /* by low */
};

/* Functions and the DIEs below them are in the unit itself, or in its split unit if it
 * has one. The functions below take DIEs from there. */

/* The DIE at that offset, in the split unit or else in `dwarf`; false if there is
 * none. */
bool dwarf_unit_die(const struct dwarf_unit *unit, Dwarf *dwarf, Dwarf_Off offset,
		    Dwarf_Die *ret);

/* Call `each` for every range [low, high) of code of `die` until it returns false. */
void dwarf_each_range(const struct dwarf_unit *unit, Dwarf_Die *die,
		      struct dwarf_budget *budget,
		      bool (*each)(void *arg, uint64_t low, uint64_t high), void *arg);

/* True when the code of `die` includes `address`. */
bool dwarf_covers(const struct dwarf_unit *unit, Dwarf_Die *die,
		  struct dwarf_budget *budget, uint64_t address);

/* Fill unit->functions. */
struct error *dwarf_unit_scan(struct dwarf_unit *unit, Dwarf *dwarf,
			      struct dwarf_budget *budget)
	__attribute__((warn_unused_result));

/* The innermost of the unit's functions around `address`, or NULL. */
const struct dwarf_function *dwarf_unit_function(const struct dwarf_unit *unit,
						 uint64_t address);

/* The inlined calls around `address` below the DIE of its function. */
struct dwarf_inlines {
	VEC(Dwarf_Die) dies; /* outermost first */
};

struct error *dwarf_find_inlines(const struct dwarf_unit *unit, Dwarf_Die *function,
				 struct dwarf_budget *budget, uint64_t address,
				 struct dwarf_inlines *ret)
	__attribute__((warn_unused_result));

/* The name of a function. */
struct dwarf_name {
	const char *text; /* borrowed from the DWARF; NULL: none */
	bool is_linkage;  /* a linkage name, which contains the scopes */
	Dwarf_Die origin; /* unless is_linkage: the last DIE that the function's DIE is an
			     instance of, or itself */
};

/* The linkage name of a function's DIE, else its name, from the DIE itself or from the
 * DIEs that it is an instance of. */
struct dwarf_name dwarf_function_name(const struct dwarf_unit *unit, Dwarf_Die *die);

/*
 * A name without is_linkage, behind the namespaces, classes and functions that contain
 * it: "main::{lambda:15}::operator()" for the lambda in line 15 of main. GCC gives
 * functions with internal linkage no linkage name. Owned; NULL when out of memory. If the
 * budget ends, scopes are missing.
 */
char *dwarf_scoped_name(const struct dwarf_unit *unit, const struct dwarf_name *name,
			struct dwarf_budget *budget);

#endif
