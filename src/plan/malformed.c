// SPDX-License-Identifier: Apache-2.0
#include "plan/malformed.h"

#include <string.h>

/* Says what to do, too: an event counts the calls by the first instruction alone. */
#define MALFORMED(why)                                                                   \
	"its code is malformed: " why " (--event uprobe: can count its calls)"

static const struct {
	const char *why, *reason;
} reasons[] = {
	{CFG_TOO_MUCH, MALFORMED(CFG_TOO_MUCH)},
	{CFG_TOO_LONG, MALFORMED(CFG_TOO_LONG)},
	{CFG_OVERLAP, MALFORMED(CFG_OVERLAP)},
	{CFG_PARTS_OVERLAP, MALFORMED(CFG_PARTS_OVERLAP)},
	{CFG_NO_INSN, MALFORMED(CFG_NO_INSN)},
	{CFG_NO_CODE, MALFORMED(CFG_NO_CODE)},
	{CFG_NO_END, MALFORMED(CFG_NO_END)},
};

const char *malformed_code(const char *why)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(why, reasons[i].why))
			return reasons[i].reason;
	return NULL;
}

static bool overlap(const struct elf_symbol *a, const struct elf_symbol *b)
{
	return a->address < b->address ? b->address - a->address < a->size_bytes
				       : a->address - b->address < b->size_bytes;
}

const char *malformed_overlap(const struct allocator *allocator,
			      const struct allocator_function *found,
			      const struct cfg_source *source)
{
	static const char reason[] = MALFORMED("another function overlaps it");
	const struct elf_symbol *symbol = &found->symbol;
	uint64_t start, end;

	vec_foreach (other, &allocator->functions)
		if (other->symbol.address != symbol->address &&
		    overlap(symbol, &other->symbol))
			return reason;
	if (symbol->size_bytes && source->extent &&
	    source->extent(source->arg, symbol->address + (symbol->size_bytes - 1),
			   &start, &end) &&
	    start > symbol->address)
		return reason;
	return NULL;
}
