// SPDX-License-Identifier: Apache-2.0
#include "render/table/diff_renderers.h"

#include <string.h>

#include "render/diff_formats.h"

static const struct diff_renderer *const renderers[] = {&diff_text, &diff_json, &diff_csv,
							&diff_collapsed, NULL};

const struct diff_renderer *diff_renderer_find(const char *name)
{
	for (const struct diff_renderer *const *it = renderers; *it; it++) {
		if (!strcmp((*it)->name, name))
			return *it;
	}
	return NULL;
}
