// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_tables.h"

#include <time.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/mapped.h"
#include "unwind/walk.h"
#include "util/clock.h"

/* A time for lookups of what is mapped now. */
#define AT_PRESENT (UINT64_MAX - 1)

/* How long to wait after a process's layout did not fit. */
#define SHOW_PAUSE_NS UINT64_C(1000000000)

struct error *miss_tables_init(struct miss_tables *tables, const struct miss_maps *maps,
			       struct miss_processes *processes)
{
	size_t bytes = ABI_UNWIND_RULES * sizeof(uint64_t);
	struct error *err;
	void *rules;

	tables->processes = processes;
	if (maps->unwind_rules < 0)
		return NULL;
	err = mapped_table(maps->unwind_rules, bytes, &rules);
	if (err)
		return err;
	tables->rules_bytes = bytes;
	unwind_tables_init(&tables->files, maps->unwind_pages, maps->sizes->unwind_pages,
			   rules, maps->control, maps->fence);
	layouts_init(&tables->layouts, maps->layouts, maps->sizes->layouts, maps->fence);
	return NULL;
}

void miss_tables_deinit(struct miss_tables *tables)
{
	mapped_close(tables->files.rules, tables->rules_bytes);
	unwind_tables_deinit(&tables->files);
	layouts_deinit(&tables->layouts);
}

void miss_tables_show(struct miss_tables *tables, uint32_t slot,
		      struct process_code *code)
{
	struct miss_process *p = &tables->processes->by_slot[slot];
	struct images_range ranges[LAYOUT_RANGES_MAX];
	uint64_t version = images_version(code->images) + 1;
	uint64_t number = 0;
	size_t count, kept = 0;

	if (!tables->files.rules || p->shown == version ||
	    clock_now_ns() < p->next_show_ns)
		return;
	count = images_list(code->images, AT_PRESENT, ranges, LAYOUT_RANGES_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct images_range *range = &ranges[i];

		if (!unwind_tables_add(&tables->files, range->code.number,
				       range->code.cfi, range->start - range->code.bias,
				       range->end - range->code.bias))
			continue;
		/* From here on the probes watch for moves there. */
		miss_processes_cover(tables->processes, slot, code, range->start);
		ranges[kept++] = *range;
	}
	/* Something may have moved since the mappings were read. */
	if (code->is_doubtful)
		return;
	if (kept)
		number = layouts_get(&tables->layouts, ranges, kept);
	miss_processes_set_layout(tables->processes, slot, number);
	if (number || !kept)
		p->shown = version;
	else
		p->next_show_ns = clock_now_ns() + SHOW_PAUSE_NS;
}

bool miss_tables_show_mapped(struct miss_tables *tables)
{
	struct process_code *code;
	bool is_any = false;
	uint32_t slot;

	while ((code = miss_processes_next_mapped(tables->processes, &slot))) {
		/* A process without a miss so far has no layout yet. */
		if (!tables->processes->by_slot[slot].layout)
			continue;
		miss_tables_show(tables, slot, code);
		is_any = true;
	}
	return is_any;
}

void miss_tables_follow(struct miss_tables *tables, uint32_t slot,
			struct process_code *code, const struct walk *walk)
{
	if (!tables->files.rules)
		return;
	miss_tables_show(tables, slot, code);
	for (size_t i = 0; i < walk->count; i++) {
		const struct walk_frame *frame = &walk->frames[i];
		uint64_t at = frame->pc - !frame->is_interrupted;
		struct walk_code found;

		if (images_find(code->images, at, AT_PRESENT, &found) && found.number)
			unwind_tables_want(&tables->files, found.number, at - found.bias);
	}
}
