// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "render/views/all.h"

const struct view_ops *const views[] = {
#define VIEW(name, words) &view_##name,
#include "render/views/view_rows.h"
#undef VIEW
	NULL,
};

const struct view_ops *view_find(const char *name)
{
	if (!name)
		return &view_leaks;
	for (const struct view_ops *const *it = views; *it; it++) {
		if (!strcmp((*it)->name, name))
			return *it;
	}
	return NULL;
}
