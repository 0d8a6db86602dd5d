// SPDX-License-Identifier: Apache-2.0
#include "tracees/system_wide.h"

bool system_wide_maps(const struct tracees *ts, const struct proc_mapping *m)
{
	const struct file_name name = file_name_of(m);

	return m->executable && file_names_have(&ts->library, &name);
}

struct error *system_wide_ranges(const struct tracees *ts, struct tracee *t)
{
	struct code_range range = {0};

	vec_foreach (m, &t->modules.maps.mappings) {
		if (!system_wide_maps(ts, m))
			continue;
		if (!range.end)
			range.start = m->start;
		range.end = m->end;
	}
	t->ranges.len = 0;
	return !range.end || vec_push(&t->ranges, range) ? NULL : error_no_memory();
}
