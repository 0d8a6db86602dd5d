// SPDX-License-Identifier: Apache-2.0
#include "drain/drain_kept.h"

#include "drain/drain.h"
#include "drain/drain_blocks.h"

/* They take 3 MB. */
#define KEPT_MAX 65536

static uint64_t read_sum(const struct drain *d)
{
	const struct abi_counters counters =
		drain_sum_counters(d->maps, d->sizes->cpu_slots);
	uint64_t sum = 0;

	for (int i = 0; i < ABI_COUNTER_COUNT; i++)
		sum += counters.value[i];
	return sum;
}

static bool copy_out(const struct drain_kept *kept, struct drain *d)
{
	d->keys.len = 0;
	d->snap->blocks[d->maps->class].len = 0;
	if (!vec_reserve(&d->keys, kept->keys.len) ||
	    !vec_reserve(&d->snap->blocks[d->maps->class], kept->blocks.len))
		return false;
	for (size_t i = 0; i < kept->keys.len; i++) {
		struct snapshot_block block = kept->blocks.data[i];
		uint32_t slot = ABI_KEY_SLOT(kept->keys.data[i]);

		block.process = slot < d->sizes->process_slots ? d->slots->process[slot]
							       : SNAPSHOT_NO_PROCESS;
		if (!vec_push(&d->keys, kept->keys.data[i]) ||
		    !vec_push(&d->snap->blocks[d->maps->class], block))
			return false;
	}
	return true;
}

bool drain_kept_begin(struct drain_kept *kept, struct drain *d)
{
	/* Programs that were running when the last reading began have ended. */
	bool is_fenced = fence_end(d->maps->fence);
	uint64_t sum = read_sum(d);
	bool is_same = kept->is_known && is_fenced && sum == kept->sum;

	d->fence_failed = !is_fenced;
	if (!is_same)
		kept->repeats = 0;
	else if (kept->repeats < 2)
		kept->repeats++;
	if (is_same && kept->is_confirmed && copy_out(kept, d))
		return true;
	kept->sum = sum;
	kept->is_known = true;
	kept->is_confirmed = is_same;
	return false;
}

void drain_kept_end(struct drain_kept *kept, const struct drain *d, bool settled)
{
	size_t count = d->keys.len;

	kept->keys.len = kept->blocks.len = 0;
	if (!settled)
		drain_kept_drop(kept);
	if (!kept->is_confirmed)
		return;
	kept->is_confirmed = count <= KEPT_MAX && vec_reserve(&kept->keys, count) &&
			     vec_reserve(&kept->blocks, count);
	for (size_t i = 0; kept->is_confirmed && i < count; i++)
		kept->is_confirmed =
			!d->keys.data[i] ||
			(vec_push(&kept->keys, d->keys.data[i] & ~DRAIN_HELD) &&
			 vec_push(&kept->blocks,
				  d->snap->blocks[d->maps->class].data[i]));
}

void drain_kept_drop(struct drain_kept *kept)
{
	kept->is_known = kept->is_confirmed = false;
	kept->repeats = 0;
}

void drain_kept_deinit(struct drain_kept *kept)
{
	vec_deinit(&kept->keys);
	vec_deinit(&kept->blocks);
}
