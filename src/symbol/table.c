// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbolizer.h"

#include <stdlib.h>
#include <string.h>

struct table_symbolizer {
	struct symbolizer base;
	const struct symbol_row *rows;
	size_t count;
};

static struct error *table_resolve(struct symbolizer *self, uint64_t address,
				   struct symbol *ret)
{
	const struct table_symbolizer *table = (const struct table_symbolizer *)self;
	size_t low = 0, high = table->count;

	*ret = (struct symbol){0};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= table->rows[low - 1].end)
		return NULL;

	const struct symbol_row *row = &table->rows[low - 1];

	ret->offset = address - row->start;
	if ((row->name && !(ret->name = strdup(row->name))) ||
	    (row->module && !(ret->module = strdup(row->module)))) {
		symbol_deinit(ret);
		return error_no_memory();
	}
	return NULL;
}

static void table_destroy(struct symbolizer *self)
{
	free(self);
}

static const struct symbolizer_ops table_ops = {
	.name = "table",
	.resolve = table_resolve,
	.destroy = table_destroy,
};

struct error *symbolizer_table_create(const struct symbol_row *rows, size_t count,
				      struct symbolizer **ret)
{
	struct table_symbolizer *table = malloc(sizeof(*table));

	if (!table)
		return error_no_memory();
	*table = (struct table_symbolizer){
		.base = {.ops = &table_ops}, .rows = rows, .count = count};
	*ret = &table->base;
	return NULL;
}
