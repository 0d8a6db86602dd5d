// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "render/views/all.h"

const struct view_ops *const views[] = {
	&view_leaks,
	&view_growth,
	&view_traffic,
	&view_peak,
	&view_allocations,
	&view_threads,
	&view_histogram,
	&view_lifetimes,
	&view_processes,
	&view_functions,
	&view_tree,
	&view_unreachable,
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
