// SPDX-License-Identifier: Apache-2.0
#include "reach/memory.h"

#include <string.h>

#include "reach/shared.h"

/* Memory of the kernel that every process has (arch_vma_name() and special mappings). */
static bool is_of_kernel(const struct proc_mapping *m)
{
	static const char *const names[] = {"[vvar", "[vdso]", "[vsyscall]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(m->path, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool add(int tid, const struct proc_mapping *m, struct reach_regions *ret)
{
	if (m->shared)
		return reach_shared_add(tid, m, ret);
	return vec_push(&ret->list, (struct reach_region){
					    .start = m->start,
					    .end = m->end,
					    .only_present = true,
					    .is_read_only = !m->writable,
					    .is_heap = !strcmp(m->path, "[heap]"),
				    });
}

struct error *reach_regions_init(const struct proc_maps *maps, int tid,
				 struct reach_regions *ret)
{
	ret->list.data = NULL;
	ret->list.len = ret->list.cap = 0;
	vec_foreach (m, &maps->mappings) {
		if (!m->readable || is_of_kernel(m))
			continue;
		if (!add(tid, m, ret)) {
			reach_regions_deinit(ret);
			return error_no_memory();
		}
	}
	return NULL;
}

void reach_regions_deinit(struct reach_regions *regions)
{
	vec_deinit(&regions->list);
}

struct error *reach_regions_cut(struct reach_regions *regions, uint64_t start,
				uint64_t end)
{
	for (size_t i = 0; i < regions->list.len; i++) {
		struct reach_region *r = &regions->list.data[i], rest = *r;

		if (r->end <= start || r->start >= end)
			continue;
		if (r->start >= start && r->end <= end) {
			r->end = r->start;
		} else if (r->start >= start) {
			r->start = end;
		} else if (r->end <= end) {
			r->end = start;
		} else {
			rest.start = end;
			r->end = start;
			if (!vec_push(&regions->list, rest))
				return error_no_memory();
			/* Keep the order. */
			memmove(&regions->list.data[i + 2], &regions->list.data[i + 1],
				(regions->list.len - i - 2) * sizeof(rest));
			regions->list.data[i + 1] = rest;
			i++;
		}
	}
	return NULL;
}
