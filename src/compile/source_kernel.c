// SPDX-License-Identifier: Apache-2.0
#include "compile/source_kernel.h"

#include <inttypes.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "compile/source_run.h"

/* Write the KERNEL_BY_... ranges of probes/kernel.c. The pages of a class that is not
 * traced itself are counted as pages. */
void source_append_ranges(struct strbuf *text, const struct source_run *o)
{
	static const struct {
		enum kernel_place place;
		const char *name;
		enum kernel_class kind; /* KERNEL_CLASS_COUNT: no class */
	} places[] = {
		{KERNEL_PLACE_SLAB, "KERNEL_BY_SLAB", KERNEL_SLAB},
		{KERNEL_PLACE_PERCPU, "KERNEL_BY_PERCPU", KERNEL_PERCPU},
		{KERNEL_PLACE_VMALLOC, "KERNEL_BY_VMALLOC", KERNEL_VMALLOC},
		{KERNEL_PLACE_INTERRUPT, "KERNEL_IN_INTERRUPT", KERNEL_CLASS_COUNT},
	};

	strbuf_append(text, "#define KERNEL_RANGES");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (places[i].kind < KERNEL_CLASS_COUNT &&
		    !o->kernel_points->is_seen[places[i].kind])
			continue;
		vec_foreach (range, &o->kernel->places[places[i].place])
			strbuf_appendf(
				text,
				" KERNEL_RANGE(%s, %#" PRIx64 "ull, %#" PRIx64 "ull)",
				places[i].name, range->start, range->end - range->start);
	}
	strbuf_append_char(text, '\n');
}

static void append_value(struct strbuf *text, const struct kernel_value *value)
{
	unsigned bits = value->bytes * 8u;

	if (value->behind_bytes)
		strbuf_append(text, "kernel_behind(");
	strbuf_appendf(text, "KERNEL_WORD(ctx, %u, u%u)", value->offset, bits);
	if (value->behind_bytes)
		strbuf_appendf(text, ", %u, %u)", value->behind_offset,
			       value->behind_bytes);
}

void source_append_point(struct strbuf *text, const struct kernel_point *point)
{
	int cpus = libbpf_num_possible_cpus();
	char name[PROGRAM_NAME_MAX];

	source_point_name(point, name);
	strbuf_appendf(text, "%s(%s, %d, ",
		       point->is_allocation ? "KERNEL_ALLOCATES" : "KERNEL_FREES", name,
		       (int)point->kind);
	if (point->failed.bytes) {
		append_value(text, &point->failed);
		strbuf_append(text, " ? 0 : ");
	}
	append_value(text, &point->address);
	if (point->is_allocation) {
		strbuf_append(text, point->size_is_order
					    ? ", (u64)MEMTRACE_PAGE_SIZE << (63 & "
					    : ", (u64)(");
		append_value(text, &point->size);
		strbuf_append_char(text, ')');
		/* The size is per processor; each has a copy. */
		if (point->kind == KERNEL_PERCPU)
			strbuf_appendf(text, " * %d", cpus > 0 ? cpus : 1);
	}
	strbuf_append(text, ")\n");
}

void source_point_name(const struct kernel_point *point, char ret[PROGRAM_NAME_MAX])
{
	snprintf(ret, PROGRAM_NAME_MAX, "on_%s", point->name);
}
