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

/* Is it mapped from a file, or above what is: global variables? musl allocates blocks in
 * the rest of their pages (reclaim_gaps(), ldso/dynlink.c). */
static bool has_globals(const struct proc_maps *maps, const struct proc_mapping *m)
{
	const struct proc_mapping *below = m > maps->mappings.data ? m - 1 : NULL;

	return *m->path == '/' ||
	       (below && *below->path == '/' && below->end == m->start);
}

static bool add(int tid, const struct proc_maps *maps, const struct proc_mapping *m,
		struct reach_regions *ret)
{
	if (m->shared)
		return reach_shared_add(tid, m, ret);
	return vec_push(&ret->list, (struct reach_region){
					    .start = m->start,
					    .end = m->end,
					    .only_present = true,
					    .is_read_only = !m->writable,
					    .is_heap = !strcmp(m->path, "[heap]"),
					    .has_roots = has_globals(maps, m),
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
		if (!add(tid, maps, m, ret)) {
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
	size_t i = vec_count_up_to(&regions->list, start, start);

	/* The last region that starts there or before, and those behind it. */
	for (i -= i > 0; i < regions->list.len && regions->list.data[i].start < end;
	     i++) {
		struct reach_region *r = &regions->list.data[i], rest = *r;

		if (r->end <= start)
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
