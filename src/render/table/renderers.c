// SPDX-License-Identifier: Apache-2.0
#include "render/table/renderers.h"

#include <string.h>

#include "render/renderer.h"

#define FORMAT(name, shown, file, able, words)                                           \
	extern const struct renderer name##_renderer;
#include "render/format_rows.h"
#undef FORMAT

const struct renderer *const renderers[] = {
#define FORMAT(name, shown, file, able, words) &name##_renderer,
#include "render/format_rows.h"
#undef FORMAT
	NULL,
};

const struct renderer *renderer_find(const char *name)
{
	for (const struct renderer *const *it = renderers; *it; it++) {
		if (!strcmp((*it)->name, name))
			return *it;
	}
	return NULL;
}
