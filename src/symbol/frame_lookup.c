// SPDX-License-Identifier: Apache-2.0
#include "symbol/frame_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

/* Replace *name by its demangled form, if it has one. */
static void demangle_in_place(const struct frame_lookup *lookup, char **name)
{
	char *plain = *name && !lookup->keep_mangled ? demangle(*name) : NULL;

	if (plain) {
		free(*name);
		*name = plain;
	}
}

static struct error *find_sources(const struct frame_lookup *lookup, uint64_t address,
				  bool are_plain, struct source_frames *ret)
{
	struct symbolizer *symbolizer = lookup->symbolizer;
	struct error *err = NULL;

	*ret = (struct source_frames){.function_offset = 0};
	if (symbolizer->ops->find_sources)
		err = symbolizer->ops->find_sources(symbolizer, address, ret);
	else if (lookup->lines)
		err = line_finder_find(lookup->lines, address, ret);
	if (err || are_plain)
		return err;
	vec_foreach (frame, &ret->list)
		demangle_in_place(lookup, &frame->function);
	return NULL;
}

/* If the symbol tables have no name, use the function's name from the debug info. */
static struct error *complete_symbol(const struct source_frames *sources,
				     struct symbol *symbol)
{
	size_t count = sources->list.len;
	const char *name = count ? sources->list.data[count - 1].function : NULL;

	if (symbol->name || !name)
		return NULL;
	symbol->name = strdup(name);
	symbol->offset = sources->function_offset;
	return symbol->name ? NULL : error_no_memory();
}

struct error *frame_look_up(const struct frame_lookup *lookup, uint64_t address,
			    struct symbol *ret_symbol, struct source_frames *ret_sources)
{
	struct symbolizer *symbolizer = lookup->symbolizer;
	struct symbol symbol = {0};
	struct source_frames sources = {.function_offset = 0};
	struct error *err = symbolizer->ops->resolve(symbolizer, address, &symbol);

	if (!err) {
		if (!symbol.is_plain)
			demangle_in_place(lookup, &symbol.name);
		err = find_sources(lookup, address, symbol.is_plain, &sources);
	}
	if (!err)
		err = complete_symbol(&sources, &symbol);
	if (err) {
		source_frames_deinit(&sources);
		symbol_deinit(&symbol);
		return err;
	}
	*ret_symbol = symbol;
	*ret_sources = sources;
	return NULL;
}

bool frame_lookup_mappings_changed(const struct frame_lookup *lookup)
{
	const struct symbolizer_ops *ops = lookup->symbolizer->ops;

	if (!ops->mappings_changed || !ops->mappings_changed(lookup->symbolizer))
		return false;
	if (lookup->lines)
		line_finder_mappings_changed(lookup->lines);
	return true;
}
