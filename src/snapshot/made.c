// SPDX-License-Identifier: Apache-2.0
#include "snapshot/made.h"

#include <stdlib.h>
#include <string.h>

void made_init(struct snapshot_made *made, struct snapshot *snap)
{
	made->snap = snap;
	made->view.made_of = NULL;
}

void made_begin(struct snapshot_made *made)
{
	struct snapshot *snap = made->snap;

	made->view = *snap;
	made->view.made_of = snap;
	made->snap = &made->view;
}

bool made_zeroed_(void **data, size_t *len, size_t *cap, size_t count, size_t bytes)
{
	*data = calloc(count + 1, bytes);
	*len = *cap = *data ? count : 0;
	return *data;
}

bool made_copy_(void **data, size_t *len, size_t *cap, size_t bytes)
{
	const void *from = *data;
	size_t count = *len;

	/* One element more, since malloc(0) may return NULL. */
	*data = malloc((count + 1) * bytes);
	*len = *cap = *data ? count : 0;
	if (*data && count)
		memcpy(*data, from, count * bytes);
	return *data;
}

#define FREE_OWN(view, member)                                                           \
	do {                                                                             \
		if ((view)->member.data != (view)->made_of->member.data)                 \
			free((view)->member.data);                                       \
	} while (0)

void snapshot_made_deinit(struct snapshot_made *made)
{
	struct snapshot *view = &made->view;

	if (!view->made_of)
		return;
	FREE_OWN(view, stacks);
	FREE_OWN(view, traffic);
	FREE_OWN(view, at_peak);
	FREE_OWN(view, unreachable);
	FREE_OWN(view, lifetimes);
	FREE_OWN(view, path_sizes);
	FREE_OWN(view, moments);
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		FREE_OWN(view, blocks[i]);
		FREE_OWN(view, trends[i]);
		FREE_OWN(view, before.stacks[i]);
	}
	FREE_OWN(view, before.traffic);
	view->made_of = NULL;
}
