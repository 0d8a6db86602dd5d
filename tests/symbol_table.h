/* SPDX-License-Identifier: Apache-2.0 */
/* A symbolizer that answers from a table. */
#ifndef TESTS_SYMBOL_TABLE_H
#define TESTS_SYMBOL_TABLE_H

#include <stdlib.h>
#include <string.h>

#include "symbol/symbolizer.h"

/* One row: addresses start..end-1. */
struct symbol_row {
	uint64_t start, end;
	const char *name; /* borrowed while the symbolizer lives */
	const char *module;
};

struct table_symbolizer {
	struct symbolizer base;
	const struct symbol_row *rows;
	size_t count;
};

static inline struct error *table_resolve(struct symbolizer *self, uint64_t address,
					  struct symbol *ret)
{
	const struct table_symbolizer *table = (const struct table_symbolizer *)self;

	*ret = (struct symbol){0};
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol_row *row = &table->rows[i];

		if (address < row->start || address >= row->end)
			continue;
		ret->offset = address - row->start;
		ret->name = row->name ? strdup(row->name) : NULL;
		ret->module = row->module ? strdup(row->module) : NULL;
		return NULL;
	}
	return NULL;
}

static inline void table_destroy(struct symbolizer *self)
{
	free(self);
}

/* Names from `rows`, borrowed. */
static inline struct error *symbolizer_table_create(const struct symbol_row *rows,
						    size_t count, struct symbolizer **ret)
{
	static const struct symbolizer_ops ops = {
		.resolve = table_resolve,
		.destroy = table_destroy,
	};
	struct table_symbolizer *table = malloc(sizeof(*table));

	if (!table)
		return error_no_memory();
	*table = (struct table_symbolizer){{&ops}, rows, count};
	*ret = &table->base;
	return NULL;
}

#endif
