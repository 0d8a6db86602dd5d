// SPDX-License-Identifier: Apache-2.0
#include "render/table/renderers.h"

#include <string.h>

#include "render/formats.h"

const struct renderer *const renderers[] = {
	&text_renderer,      &brief_renderer, &json_renderer,
	&collapsed_renderer, &csv_renderer,   &pprof_renderer,
	&flame_renderer,     &html_renderer,  NULL};

const struct renderer *renderer_find(const char *name)
{
	for (const struct renderer *const *it = renderers; *it; it++) {
		if (!strcmp((*it)->name, name))
			return *it;
	}
	return NULL;
}
