// SPDX-License-Identifier: Apache-2.0
#include "session/trim.h"

/* Reports of so many blocks and frames take 3 MB for them. */
#define SMALL_MAX 65536

#define KEPT_NS   UINT64_C(60000000000)

void trim_note(struct trim *trim, const struct snapshot *snap)
{
	size_t count = snap->frames.len;

	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		count += snap->blocks[i].len;
	trim->is_small = count <= SMALL_MAX;
}

bool trim_is_due(struct trim *trim, bool is_quiet, uint64_t now_ns)
{
	if (is_quiet && trim->is_small && now_ns - trim->last_ns < KEPT_NS)
		return false;
	trim->last_ns = now_ns;
	return true;
}
