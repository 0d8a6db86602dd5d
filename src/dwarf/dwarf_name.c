// SPDX-License-Identifier: Apache-2.0
#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

#include "dwarf/dwarf_unit.h"
#include "util/strbuf.h"

/* Steps from an inlined call through its abstract instance to the declaration in a
 * class. A longer chain must be a circle. */
#define ORIGINS_MAX 16

/* Scopes that a name has, and levels of DIEs around one. Outer ones are left out. */
#define SCOPES_MAX 32u
#define LEVELS_MAX 64u

/* Longer parts of a name are cut. */
#define PART_MAX_BYTES 4096

static const char *string_attribute(const struct dwarf_unit *unit, Dwarf_Die *die,
				    unsigned name)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, name, &attr))
		return NULL;
	return unit->split ? split_unit_string(unit->split, &attr)
			   : dwarf_formstring(&attr);
}

/* Move *die to the DIE that it is an instance of, or that declares it; false: none. */
static bool follow_origin(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	    !dwarf_attr(die, DW_AT_specification, &attr))
		return false;
	if (!dwarf_formref_die(&attr, &origin))
		return false;
	*die = origin;
	return true;
}

struct dwarf_name dwarf_function_name(const struct dwarf_unit *unit, Dwarf_Die *die)
{
	struct dwarf_name name = {.origin = *die};

	for (int i = 0; i < ORIGINS_MAX; i++) {
		const char *linkage =
			string_attribute(unit, &name.origin, DW_AT_linkage_name);

		if (!linkage)
			linkage = string_attribute(unit, &name.origin,
						   DW_AT_MIPS_linkage_name);
		if (linkage)
			return (struct dwarf_name){.text = linkage, .is_linkage = true};
		if (!name.text)
			name.text = string_attribute(unit, &name.origin, DW_AT_name);
		if (!follow_origin(&name.origin))
			break;
	}
	return name;
}

/* --- the DIEs around a DIE ---------------------------------------------------------- */

struct levels {
	struct dwarf_budget *budget;
	Dwarf_Off target;
	uint64_t looked_at; /* DIEs */
	unsigned count;
	Dwarf_Die dies[LEVELS_MAX]; /* outermost first, without the unit */
};

/* True if the DIE says that it and its children end before the target. */
static bool ends_before(Dwarf_Die *die, Dwarf_Off target)
{
	Dwarf_Attribute attr;
	Dwarf_Die sibling;

	return dwarf_attr(die, DW_AT_sibling, &attr) &&
	       dwarf_formref_die(&attr, &sibling) && dwarf_dieoffset(&sibling) <= target;
}

/* Find the target below `parent`. DIEs are in the order of their offsets. */
static bool find_below(struct levels *levels, Dwarf_Die *parent)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		Dwarf_Off offset = dwarf_dieoffset(&die);
		uint64_t before = levels->looked_at++;

		if (offset >= levels->target || !dwarf_budget_spend(levels->budget, 1))
			return offset == levels->target;
		if (!dwarf_haschildren(&die) || ends_before(&die, levels->target))
			continue;
		if (levels->count == LEVELS_MAX)
			return false;
		levels->dies[levels->count++] = die;
		if (find_below(levels, &die))
			return true;
		levels->count--;
		/* libdw walks the children once more to find the sibling. */
		if (!dwarf_budget_spend(levels->budget, levels->looked_at - before))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Is the DIE below its unit? Sets levels->dies. */
static bool find_levels(struct levels *levels, Dwarf_Die *die)
{
	Dwarf_Die unit;

	levels->count = 0;
	levels->target = dwarf_dieoffset(die);
	return dwarf_diecu(die, &unit, NULL, NULL) && find_below(levels, &unit);
}

/* --- the names of scopes ------------------------------------------------------------ */

enum scope_kind {
	SCOPE_NONE, /* such as a block: not part of names */
	SCOPE_NAMESPACE,
	SCOPE_TYPE,
	SCOPE_FUNCTION,
};

static enum scope_kind kind_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		return SCOPE_NAMESPACE;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return SCOPE_TYPE;
	case DW_TAG_subprogram:
		return SCOPE_FUNCTION;
	default:
		return SCOPE_NONE;
	}
}

struct part {
	const char *text; /* NULL: a scope without a name */
	enum scope_kind kind;
	uint64_t line; /* of a type */
};

struct parts {
	const struct dwarf_unit *unit;
	struct part list[SCOPES_MAX]; /* innermost first */
	unsigned count;
};

/* Add the scope, and move *die to the DIE that declares it. Returns whether that is
 * another one. */
static bool add_scope(struct parts *parts, Dwarf_Die *die)
{
	struct part part = {.kind = kind_of(die)};
	bool is_other = false;

	if (part.kind == SCOPE_NONE)
		return false;
	part.line = dwarf_number(die, DW_AT_decl_line);
	for (int i = 0; i < ORIGINS_MAX; i++) {
		if (!part.text)
			part.text = string_attribute(parts->unit, die, DW_AT_name);
		if (!follow_origin(die))
			break;
		is_other = true;
	}
	if (part.text || part.kind != SCOPE_FUNCTION)
		parts->list[parts->count++] = part;
	return is_other;
}

/* Collect the scopes of the DIE. A scope that is declared elsewhere, such as a member
 * function in its class, is in the scopes of its declaration. */
static void collect(struct parts *parts, struct dwarf_budget *budget, Dwarf_Die die)
{
	struct levels levels = {.budget = budget};
	unsigned i;

	for (int n = 0; n < ORIGINS_MAX && find_levels(&levels, &die); n++) {
		for (i = levels.count; i > 0 && parts->count < SCOPES_MAX; i--) {
			die = levels.dies[i - 1];
			if (add_scope(parts, &die))
				break;
		}
		if (!i || parts->count == SCOPES_MAX)
			return;
	}
}

/* Is it a function of the type that a lambda has? GCC calls the function that a pointer
 * to the lambda leads to _FUN. */
static bool is_of_lambda(const char *function)
{
	return function && (!strncmp(function, "operator()", strlen("operator()")) ||
			    !strcmp(function, "_FUN"));
}

static void append_scope(struct strbuf *text, const struct part *part, const char *inner)
{
	if (part->text)
		strbuf_appendf(text, "%.*s", PART_MAX_BYTES, part->text);
	else if (part->kind == SCOPE_NAMESPACE)
		strbuf_append(text, "(anonymous namespace)");
	else
		strbuf_appendf(text, "{%s:%" PRIu64 "}",
			       is_of_lambda(inner) ? "lambda" : "unnamed", part->line);
	strbuf_append(text, "::");
}

char *dwarf_scoped_name(const struct dwarf_unit *unit, const struct dwarf_name *name,
			struct dwarf_budget *budget)
{
	struct parts parts = {.unit = unit};
	struct strbuf text = {0};

	collect(&parts, budget, name->origin);
	for (unsigned i = parts.count; i > 0; i--)
		append_scope(&text, &parts.list[i - 1],
			     i > 1 ? parts.list[i - 2].text : name->text);
	strbuf_appendf(&text, "%.*s", PART_MAX_BYTES, name->text);
	dwarf_budget_spend(budget, text.len);
	return strbuf_steal(&text);
}
