// SPDX-License-Identifier: Apache-2.0
#include "snapshot/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/stack_identity.h"
#include "util/cleanup.h"
#include "util/saturate.h"

/* Not the pid of any process: the stack's identity is not decided yet. */
#define PID_NONE (-1)

/* The highest sum over all members of a stack that a snapshot has shown. */
struct seen_peak {
	uint64_t bytes, count, time_ns, estimated_bytes;
};

struct known {
	uint64_t second; /* second half of the identity */
	uint32_t number;
};

struct snapshot_merge {
	bool is_on; /* the run has had several processes */
	bool has_pid;
	int pid; /* the only process so far */
	struct stack_identities identities;
	struct hashmap
		by_first; /* first half of the identity, to an index into `known` */
	VEC(struct known) known;
	/* By stack. */
	VEC(uint32_t) numbers;       /* the stack that it is shown as; initially itself */
	VEC(int) pids;               /* process whose mappings decided, or PID_NONE */
	VEC(uint32_t) members;       /* number of stacks shown as this one */
	VEC(struct seen_peak) peaks; /* with --traffic */
};

struct snapshot_merge *snapshot_merge_create(void)
{
	struct snapshot_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return NULL;
	stack_identities_init(&merge->identities);
	hashmap_init(&merge->by_first, hashmap_seed());
	return merge;
}

void snapshot_merge_destroy(struct snapshot_merge *merge)
{
	if (!merge)
		return;
	stack_identities_deinit(&merge->identities);
	hashmap_deinit(&merge->by_first);
	vec_deinit(&merge->known);
	vec_deinit(&merge->numbers);
	vec_deinit(&merge->pids);
	vec_deinit(&merge->members);
	vec_deinit(&merge->peaks);
	free(merge);
}

/* --- decisions ---------------------------------------------------------------------- */

/* Is there anything to merge, now or later in the run? */
static bool turn_on(struct snapshot_merge *merge, const struct snapshot *snap)
{
	if (snap->processes.len > 1 || snap->library)
		merge->is_on = true;
	vec_foreach (process, &snap->processes) {
		if (merge->has_pid && merge->pid != process->pid)
			merge->is_on = true;
		merge->has_pid = true;
		merge->pid = process->pid;
	}
	return merge->is_on;
}

static bool add_stacks(struct snapshot_merge *merge, const struct snapshot *snap)
{
	size_t count = snap->stacks.len;

	if (!vec_reserve(&merge->numbers, count) || !vec_reserve(&merge->pids, count) ||
	    !vec_reserve(&merge->members, count))
		return false;
	while (merge->numbers.len < count) {
		uint32_t number = (uint32_t)merge->numbers.len;

		if (!vec_push(&merge->numbers, number) ||
		    !vec_push(&merge->pids, PID_NONE) || !vec_push(&merge->members, 1))
			return false;
	}
	return true;
}

/* Find the first stack with this identity, which may be `stack` itself. */
static bool find_first(struct snapshot_merge *merge, const struct stack_identity *id,
		       uint32_t stack, uint32_t *ret)
{
	struct known new = {.second = id->second, .number = stack};
	uint64_t at;

	*ret = stack;
	if (hashmap_get(&merge->by_first, id->first, &at)) {
		if (merge->known.data[at].second == id->second)
			*ret = merge->known.data[at].number;
		return true;
	}
	return vec_push(&merge->known, new) &&
	       hashmap_put(&merge->by_first, id->first, merge->known.len - 1);
}

static bool decide(struct snapshot_merge *merge, const struct snapshot *snap,
		   uint32_t stack)
{
	const struct snapshot_stack *s = &snap->stacks.data[stack];
	uint32_t *number = &merge->numbers.data[stack];
	struct stack_identity id;

	if (!stack_identities_get(&merge->identities, s, &id) ||
	    !find_first(merge, &id, stack, number))
		return false;
	merge->pids.data[stack] = snap->processes.data[s->process].pid;
	if (*number != stack)
		merge->members.data[*number]++;
	return true;
}

/* Does the stack still have the identity that was decided? Its process has changed: to
 * one that shares its layout, or to one that has replaced it. */
static bool is_still(struct snapshot_merge *merge, const struct snapshot *snap,
		     uint32_t stack, bool *ret)
{
	const struct snapshot_stack *s = &snap->stacks.data[stack];
	struct stack_identity id;
	uint64_t at;

	if (!stack_identities_get(&merge->identities, s, &id))
		return false;
	*ret = hashmap_get(&merge->by_first, id.first, &at) &&
	       merge->known.data[at].second == id.second &&
	       merge->known.data[at].number == merge->numbers.data[stack];
	if (*ret)
		merge->pids.data[stack] = snap->processes.data[s->process].pid;
	return true;
}

/* How suitable a member is to lend its frames; higher is better. */
enum lender {
	LENDER_NONE,
	LENDER_EXITED,
	LENDER_LIVES
};

/*
 * Decide on new stacks whose process is known. For each stack that stands for others
 * find the member whose frames it shows: `lenders`, by stack, initially the stack
 * itself.
 */
static bool look_at_stacks(struct snapshot_merge *merge, const struct snapshot *snap,
			   uint32_t lenders[], unsigned char ranks[])
{
	for (uint32_t i = 0; i < snap->stacks.len; i++) {
		const struct snapshot_process *process =
			snapshot_process(snap, snap->stacks.data[i].process);
		bool is_same = true;

		if (!process)
			continue;
		if (merge->pids.data[i] == PID_NONE) {
			if (!decide(merge, snap, i))
				return false;
		} else if (merge->pids.data[i] != process->pid &&
			   !is_still(merge, snap, i, &is_same)) {
			return false;
		}

		unsigned char rank = process->exited ? LENDER_EXITED : LENDER_LIVES;
		uint32_t number = merge->numbers.data[i];

		/* `number` is out of range only in a run that has lost stacks. */
		if (!is_same || number >= snap->stacks.len || rank <= ranks[number])
			continue;
		lenders[number] = i;
		ranks[number] = rank;
	}
	return true;
}

/* --- sums --------------------------------------------------------------------------- */

static void add_counts(uint64_t to[], const uint64_t from[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = saturate_add(to[i], from[i]);
}

static void add_traffic(struct snapshot_traffic *to, const struct snapshot_traffic *from)
{
	to->allocations = saturate_add(to->allocations, from->allocations);
	to->allocated_bytes = saturate_add(to->allocated_bytes, from->allocated_bytes);
	to->frees = saturate_add(to->frees, from->frees);
	to->freed_bytes = saturate_add(to->freed_bytes, from->freed_bytes);
	to->temporary = saturate_add(to->temporary, from->temporary);
	to->estimated_allocations =
		saturate_add(to->estimated_allocations, from->estimated_allocations);
	to->estimated_allocated_bytes = saturate_add(to->estimated_allocated_bytes,
						     from->estimated_allocated_bytes);
	to->estimated_frees = saturate_add(to->estimated_frees, from->estimated_frees);
	to->estimated_freed_bytes =
		saturate_add(to->estimated_freed_bytes, from->estimated_freed_bytes);
	to->estimated_temporary =
		saturate_add(to->estimated_temporary, from->estimated_temporary);
	if (from->peak_bytes <= to->peak_bytes)
		return;
	to->peak_bytes = from->peak_bytes;
	to->peak_time_ns = from->peak_time_ns;
	to->peak_count = from->peak_count;
	to->estimated_peak_bytes = from->estimated_peak_bytes;
}

static void add_trend(struct snapshot_trend *to, const struct snapshot_trend *from)
{
	if (!from->intervals && !from->rise_bytes)
		return;
	if (!to->intervals && !to->rise_bytes) {
		*to = *from;
		return;
	}
	to->intervals = from->intervals > to->intervals ? from->intervals : to->intervals;
	to->grew = from->grew > to->grew ? from->grew : to->grew;
	to->shrank = from->shrank > to->shrank ? from->shrank : to->shrank;
	to->stands = from->stands > to->stands ? from->stands : to->stands;
	if (isfinite(to->slope_bytes_per_s + from->slope_bytes_per_s))
		to->slope_bytes_per_s += from->slope_bytes_per_s;
	if (from->determination < to->determination)
		to->determination = from->determination;
	to->rise_bytes = saturate_add(to->rise_bytes, from->rise_bytes);
	to->fall_bytes = saturate_add(to->fall_bytes, from->fall_bytes);
}

static void add_before(struct snapshot_stack_before *to,
		       const struct snapshot_stack_before *from)
{
	to->size_bytes = saturate_add(to->size_bytes, from->size_bytes);
	to->count = saturate_add(to->count, from->count);
	to->estimated_bytes += from->estimated_bytes;
	to->estimated_count += from->estimated_count;
}

/* For each stack `i` that is shown as another one, `to`. */
#define FOREACH_MEMBER(merge, snap, i, to)                                               \
	for (uint32_t i = 0, to; i < (snap)->stacks.len; i++)                            \
		if ((to = (merge)->numbers.data[i]) != i && to < (snap)->stacks.len)

static void move_traffic(const struct snapshot_merge *merge, struct snapshot *view)
{
	FOREACH_MEMBER(merge, view, i, to)
	{
		if (i < view->traffic.len && to < view->traffic.len) {
			add_traffic(&view->traffic.data[to], &view->traffic.data[i]);
			view->traffic.data[i] = (struct snapshot_traffic){0};
		}
		if (i < view->at_peak.len && to < view->at_peak.len) {
			struct snapshot_at_peak *sum = &view->at_peak.data[to];
			struct snapshot_at_peak *part = &view->at_peak.data[i];

			sum->bytes = saturate_add(sum->bytes, part->bytes);
			sum->count = saturate_add(sum->count, part->count);
			*part = (struct snapshot_at_peak){0};
		}
		if (i < view->unreachable.len && to < view->unreachable.len) {
			snapshot_unreachable_add(&view->unreachable.data[to],
						 &view->unreachable.data[i]);
			view->unreachable.data[i] = (struct snapshot_unreachable){0};
		}
		if (i < view->lifetimes.len && to < view->lifetimes.len) {
			add_counts(view->lifetimes.data[to].count,
				   view->lifetimes.data[i].count, SNAPSHOT_LIFETIMES);
			view->lifetimes.data[i] = (struct snapshot_lifetimes){{0}};
		}
		if (i < view->path_sizes.len && to < view->path_sizes.len) {
			add_counts(view->path_sizes.data[to].count,
				   view->path_sizes.data[i].count, SNAPSHOT_PATH_SIZES);
			view->path_sizes.data[i] = (struct snapshot_path_sizes){{0}};
		}
	}
}

static void move_trends(const struct snapshot_merge *merge, struct snapshot *view)
{
	for (size_t class = 0; class < BLOCK_CLASS_COUNT; class ++) {
		struct snapshot_trend *trends = view->trends[class].data;
		size_t len = view->trends[class].len;

		FOREACH_MEMBER(merge, view, i, to)
		{
			if (i >= len || to >= len)
				continue;
			add_trend(&trends[to], &trends[i]);
			trends[i] = (struct snapshot_trend){0};
		}
	}
}

/* Raise peaks to the current sums: live bytes are allocated minus freed bytes. */
static bool raise_peaks(struct snapshot_merge *merge, struct snapshot *view)
{
	size_t known = merge->peaks.len, count = view->traffic.len;

	if (!vec_reserve(&merge->peaks, count))
		return false;
	if (count > known) {
		memset(merge->peaks.data + known, 0,
		       (count - known) * sizeof(*merge->peaks.data));
		merge->peaks.len = count;
	}
	for (size_t i = 0; i < count && i < merge->members.len; i++) {
		struct snapshot_traffic *t = &view->traffic.data[i];
		struct seen_peak *seen = &merge->peaks.data[i];
		uint64_t held = saturate_subtract(t->allocated_bytes, t->freed_bytes);

		if (merge->members.data[i] < 2)
			continue;
		if (held > seen->bytes)
			*seen = (struct seen_peak){
				.bytes = held,
				.count = saturate_subtract(t->allocations, t->frees),
				.time_ns = view->time_ns,
				.estimated_bytes =
					saturate_subtract(t->estimated_allocated_bytes,
							  t->estimated_freed_bytes),
			};
		if (seen->bytes <= t->peak_bytes)
			continue;
		t->peak_bytes = seen->bytes;
		t->peak_count = seen->count;
		t->peak_time_ns = seen->time_ns;
		t->estimated_peak_bytes = seen->estimated_bytes;
	}
	return true;
}

static bool merge_before(const struct snapshot_merge *merge, const struct snapshot *snap,
			 struct snapshot *view)
{
	size_t count = snap->stacks.len;

	for (size_t class = 0; class < BLOCK_CLASS_COUNT; class ++) {
		size_t len = snap->before.stacks[class].len;

		memset(&view->before.stacks[class], 0,
		       sizeof(view->before.stacks[class]));
		if (!len)
			continue;
		if (!MADE_ZEROED(&view->before.stacks[class], count + 1))
			return false;

		struct snapshot_stack_before *to = view->before.stacks[class].data;

		/* The last element is for blocks without a stack. */
		to[count] = snap->before.stacks[class].data[len - 1];
		for (size_t i = 0; i + 1 < len && i < count; i++) {
			uint32_t number = merge->numbers.data[i];

			add_before(&to[number < count ? number : i],
				   &snap->before.stacks[class].data[i]);
		}
	}
	memset(&view->before.traffic, 0, sizeof(view->before.traffic));
	if (!snap->before.traffic.len)
		return true;
	if (!MADE_ZEROED(&view->before.traffic, count))
		return false;
	for (size_t i = 0; i < snap->before.traffic.len && i < count; i++) {
		uint32_t number = merge->numbers.data[i];

		add_traffic(&view->before.traffic.data[number < count ? number : i],
			    &snap->before.traffic.data[i]);
	}
	return true;
}

/* Copy before clearing: a lender may be a member that is cleared afterwards. */
static void place_stacks(const struct snapshot_merge *merge, struct snapshot *view,
			 const uint32_t lenders[])
{
	for (uint32_t i = 0; i < view->stacks.len; i++)
		if (merge->numbers.data[i] == i && lenders[i] != i)
			view->stacks.data[i] = view->stacks.data[lenders[i]];
	FOREACH_MEMBER(merge, view, i, to)
	view->stacks.data[i] = (struct snapshot_stack){.process = SNAPSHOT_NO_PROCESS};
}

bool snapshot_merge(struct snapshot_merge *merge, struct snapshot *snap, bool keep,
		    struct snapshot_made *ret)
{
	size_t count = snap->stacks.len;
	_cleanup_(freep) uint32_t *lenders = NULL;
	_cleanup_(freep) unsigned char *ranks = NULL;
	struct snapshot *view = &ret->view;
	bool ok;

	made_init(ret, snap);
	if (!turn_on(merge, snap))
		return true;
	lenders = calloc(count + 1, sizeof(*lenders));
	ranks = calloc(count + 1, sizeof(*ranks));
	if (!lenders || !ranks || !add_stacks(merge, snap))
		return false;
	for (uint32_t i = 0; i < count; i++)
		lenders[i] = i;
	ok = stack_identities_begin(&merge->identities, snap) &&
	     look_at_stacks(merge, snap, lenders, ranks);
	stack_identities_end(&merge->identities);
	if (!ok)
		return false;

	made_begin(ret);
	view->stack_numbers = merge->numbers.data;
	view->stack_number_count = count;
	view->stack_members = merge->members.data;
	view->stack_member_count = merge->members.len;
	if (!MADE_COPY(ret, trends[BLOCK_HEAP]) ||
	    !MADE_COPY(ret, trends[BLOCK_MAPPING]) ||
	    !MADE_COPY(ret, trends[BLOCK_EVENT]) ||
	    !MADE_COPY(ret, trends[BLOCK_KERNEL]) || !MADE_COPY(ret, moments))
		return false;
	if (keep && (!MADE_COPY(ret, stacks) || !MADE_COPY(ret, traffic) ||
		     !MADE_COPY(ret, lifetimes) || !MADE_COPY(ret, path_sizes) ||
		     !MADE_COPY(ret, at_peak) || !MADE_COPY(ret, unreachable)))
		return false;
	place_stacks(merge, view, lenders);
	move_traffic(merge, view);
	move_trends(merge, view);
	return raise_peaks(merge, view) && merge_before(merge, snap, view);
}
