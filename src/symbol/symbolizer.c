// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbolizer.h"

#include <stdlib.h>

void symbol_deinit(struct symbol *symbol)
{
	free(symbol->name);
	free(symbol->module);
	*symbol = (struct symbol){0};
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (symbolizer)
		symbolizer->ops->destroy(symbolizer);
}
