// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <unistd.h>

#include "bpf/claims.h"
#include "trace/tracer_state.h"
#include "util/cleanup.h"
#include "util/clock.h"

static uint64_t owner_of(const struct abi_process *p)
{
	return __atomic_load_n(&p->tgid, __ATOMIC_ACQUIRE);
}

static bool change_owner(const struct tracer *t, struct abi_process *p, uint64_t from,
			 uint64_t to)
{
	uint64_t key = ABI_CLAIM_PROCESS((uint64_t)(p - t->processes));

	if (t->by_hash && !claims_take(t->claims, key, to))
		return false;

	bool is_changed = __atomic_compare_exchange_n(&p->tgid, &from, to, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);

	if (t->by_hash)
		claims_give(t->claims, key);
	return is_changed;
}

/* Like process_find() of probes/process.c. NULL: the process has no slot. */
static struct abi_process *find(const struct tracer *t, uint64_t tgid)
{
	uint32_t slots = t->source->sizes.process_slots;

	for (uint32_t i = 0; i < ABI_PROCESS_WAYS; i++) {
		struct abi_process *p = &t->processes[abi_process_slot(tgid, i, slots)];

		if (owner_of(p) == tgid)
			return p;
	}
	return NULL;
}

static void store_ranges(struct abi_process *p, const struct code_range ranges[],
			 size_t count)
{
	__atomic_store_n(&p->has_ranges, 0, __ATOMIC_SEQ_CST);
	/* Too many for the record: it says that the ranges are unknown. */
	if (count > ABI_MAX_ALLOCATORS)
		return;
	for (size_t i = 0; i < ABI_MAX_ALLOCATORS; i++)
		p->allocators[i] =
			i < count ? (struct abi_range){ranges[i].start, ranges[i].end}
				  : (struct abi_range){0};
	__atomic_store_n(&p->has_ranges, 1, __ATOMIC_SEQ_CST);
}

/* on_exec() also sets it when the process takes another slot. */
static void store_only_slot(struct tracer *t, const struct abi_process *p, uint64_t tgid)
{
	uint64_t *only = &t->control->only_slot;

	__atomic_store_n(only, (uint64_t)(p - t->processes), __ATOMIC_SEQ_CST);
	/* on_exec() may have set it just before. */
	if (owner_of(p) != tgid && (p = find(t, tgid)))
		__atomic_store_n(only, (uint64_t)(p - t->processes), __ATOMIC_SEQ_CST);
}

/* Like process_take_slot() of probes/process.c. */
static struct abi_process *take_slot(const struct tracer *t, uint64_t tgid)
{
	uint32_t slots = t->source->sizes.process_slots;

	for (uint32_t i = 0; i < ABI_PROCESS_WAYS; i++) {
		struct abi_process *p = &t->processes[abi_process_slot(tgid, i, slots)];

		if (owner_of(p))
			continue;
		/* Before the probes look. If another process takes the slot now, its
		 * ranges are unknown. */
		p->has_ranges = 0;
		if (change_owner(t, p, 0, tgid)) {
			__atomic_add_fetch(&t->control->slots_taken, 1, __ATOMIC_SEQ_CST);
			p->since_ns = clock_now_ns();
			p->lender = 0;
			p->code_went = 0;
			p->family = p->parting =
				ABI_FAMILY(p->since_ns, (uint64_t)(p - t->processes));
			return p;
		}
	}
	return NULL;
}

/* Like process_claim() of probes/process.c. */
static struct abi_process *claim(const struct tracer *t, uint64_t tgid)
{
	uint64_t key = ABI_CLAIM_SLOT_OF(tgid);
	struct abi_process *p;

	if (!claims_take(t->claims, key, tgid))
		return find(t, tgid);
	p = find(t, tgid);
	if (!p)
		p = take_slot(t, tgid);
	claims_give(t->claims, key);
	return p;
}

struct error *tracer_trace(struct tracer *t, const struct proc *proc,
			   const struct code_range ranges[], size_t count, uint32_t *ret)
{
	int pid = proc->pid;
	uint64_t tgid = (uint64_t)pid;
	struct abi_process *p = find(t, tgid);

	if (!p)
		p = claim(t, tgid);
	if (!p)
		return error_create(ERROR_UNSUPPORTED,
				    "process %d: too many processes are traced at once: "
				    "raise --max-processes",
				    pid);
	if (ranges)
		store_ranges(p, ranges, count);
	*ret = (uint32_t)(p - t->processes);
	if (t->run.one_process)
		store_only_slot(t, p, tgid);
	tracer_unwind_begin(t, proc, *ret);
	if (t->mode->begin_process)
		t->mode->begin_process(t, pid, *ret);
	return NULL;
}

void tracer_detach_process(struct tracer *t, int pid)
{
	size_t kept = 0;

	if (t->attachment.ops)
		t->attachment.ops->detach_process(&t->attachment, pid);
	tracer_remove_returns(t, pid);
	vec_foreach (site, &t->sites)
		if (site->pid != pid)
			t->sites.data[kept++] = *site;
	t->sites.len = kept;
	tracer_unwatch_code(t, pid);
}

bool tracer_probes_ended(struct tracer *t, int pid)
{
	bool ended = false;

	if (t->run.scope != SCOPE_PROCESSES || !t->attachment.ops)
		return false;
	vec_foreach (at, &t->attachment.list)
		ended |= at->pid == pid && t->attachment.ops->is_dead(at);
	if (!ended)
		return false;
	tracer_detach_process(t, pid);
	return true;
}

void tracer_process_ended(struct tracer *t, int pid)
{
	struct attachment *a = &t->attachment;
	bool has_others = false;

	if (t->run.scope != SCOPE_PROCESSES || !a->ops)
		return;
	tracer_remove_returns(t, pid);
	vec_foreach (at, &a->list)
		has_others |= at->pid != pid;
	/* With the last process everything is detached soon anyway. */
	if (!a->is_wide || !has_others)
		return;
	tracer_detach_process(t, pid);
	/* If another process needs it, it is set again. */
	a->is_wide = false;
}

struct error *tracer_lost_first(struct tracer *t, int pid, enum tracer_probes *ret)
{
	bool is_own = t->run.scope == SCOPE_PROCESSES && t->attachment.ops;

	*ret = TRACER_PROBES_STAY;
	if (is_own && t->attachment.ops->hold)
		return t->attachment.ops->hold(&t->attachment, pid);
	if (is_own && t->attachment.list.len)
		*ret = tracer_probes_ended(t, pid) ? TRACER_PROBES_ENDED
						   : TRACER_PROBES_END;
	return NULL;
}

bool tracer_is_wide(const struct tracer *t)
{
	return t->attachment.is_wide;
}

static void describe(const struct tracer *t, uint32_t slot, uint64_t tgid,
		     struct tracer_process *ret)
{
	ret->pid = (int)tgid;
	ret->slot = slot;
	memcpy(ret->command, t->processes[slot].command, sizeof(ret->command));
	ret->command[sizeof(ret->command) - 1] = 0;
}

bool tracer_find_process(const struct tracer *t, int pid, struct tracer_process *ret)
{
	const struct abi_process *p = find(t, (uint64_t)pid);

	if (p)
		describe(t, (uint32_t)(p - t->processes), (uint64_t)pid, ret);
	return p;
}

/* The next slot from *cursor on that may be in use. */
static bool next_used(struct tracer *t, uint32_t *cursor, uint32_t *ret)
{
	/* With hashes a probe's count may be visible before the owner of its slot. */
	return used_slots_next(&t->used_slots, t->control, t->processes,
			       tracer_slot_count(t), t->by_hash, cursor, ret);
}

bool tracer_next_process(struct tracer *t, uint32_t *cursor, struct tracer_process *ret)
{
	uint32_t slot;

	while (next_used(t, cursor, &slot)) {
		uint64_t tgid = owner_of(&t->processes[slot]);

		if (!tgid || tgid & ABI_PROCESS_RETIRED)
			continue;
		describe(t, slot, tgid, ret);
		return true;
	}
	return false;
}

bool tracer_next_retired(struct tracer *t, uint32_t *cursor, uint32_t *ret)
{
	while (next_used(t, cursor, ret))
		if (tracer_is_retired(t, *ret))
			return true;
	return false;
}

uint32_t tracer_slot_count(const struct tracer *t)
{
	return t->source->sizes.process_slots;
}

bool tracer_is_retired(const struct tracer *t, uint32_t slot)
{
	return owner_of(&t->processes[slot]) & ABI_PROCESS_RETIRED;
}

uint64_t tracer_slot_since_ns(const struct tracer *t, uint32_t slot)
{
	return *(volatile uint64_t *)&t->processes[slot].since_ns;
}

uint64_t tracer_family(const struct tracer *t, uint32_t slot)
{
	return *(volatile uint64_t *)&t->processes[slot].family;
}

bool tracer_sees_execs(const struct tracer *t)
{
	return t->raw_links[RAW_EXEC] >= 0;
}

void tracer_retire(struct tracer *t, uint32_t slot)
{
	struct abi_process *p = &t->processes[slot];
	uint64_t tgid = owner_of(p);

	/* An exec may have retired it just now. */
	if (tgid && !(tgid & ABI_PROCESS_RETIRED))
		change_owner(t, p, tgid, tgid | ABI_PROCESS_RETIRED);
	if (t->run.traffic)
		traffic_tables_end_process(&t->traffic, slot);
}

/* Make the slots available to other processes. Sets held[slot] if its process had
 * mappings. */
static void free_slots(struct tracer *t, const uint32_t slots[], size_t count,
		       bool held[])
{
	if (!count)
		return;
	/* Their events may still be in the ring; they make no further ones. Once for all
	 * of them: hundreds may exit at once. */
	tracer_poll(t);
	for (size_t i = 0; i < count; i++) {
		held[slots[i]] |= tracer_remove_mappings(t, slots[i]);
		if (t->mode->end_process)
			t->mode->end_process(t, slots[i]);
	}
	if (t->handler)
		miss_handler_remove(t->handler, slots, count);
	for (size_t i = 0; i < count; i++) {
		struct abi_process *p = &t->processes[slots[i]];

		memset(p->command, 0, sizeof(p->command));
		p->has_ranges = 0;
		__atomic_store_n(&p->tgid, 0, __ATOMIC_SEQ_CST);
	}
}

/* The slots of `gone`, in the order of `slots` and without repetitions. Returns their
 * number. */
static size_t list_gone(const uint32_t slots[], size_t count, bool gone[], uint32_t ret[])
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		if (gone[slots[i]])
			ret[len++] = slots[i];
		gone[slots[i]] = false;
	}
	return len;
}

struct error *tracer_remove(struct tracer *t, const uint32_t slots[], size_t count,
			    uint64_t *held_ret)
{
	uint32_t slot_count = t->source->sizes.process_slots;
	_cleanup_(freep) bool *gone = calloc(slot_count, sizeof(*gone));
	_cleanup_(freep) bool *held = calloc(slot_count, sizeof(*held));
	_cleanup_(freep) uint32_t *freed = calloc(slot_count, sizeof(*freed));
	struct error *err;
	size_t len;

	if (!gone || !held || !freed)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		gone[slots[i]] = tracer_is_retired(t, slots[i]);
		if (gone[slots[i]] && t->run.traffic)
			traffic_tables_end_process(&t->traffic, slots[i]);
	}
	/* Count their late events before their end. */
	tracer_poll_traffic(t);
	err = t->mode->drop_slots(t, gone, held);
	if (!err && t->run.traffic)
		err = traffic_tables_remove(&t->traffic, gone);
	/* Clear the sites' addresses: the next process in such a slot has its code
	 * elsewhere. */
	for (long i = 0; t->sites_at && i < sysconf(_SC_PAGESIZE); i++)
		__atomic_store_n(&t->sites_at[i].entry, 0, __ATOMIC_SEQ_CST);
	if (err)
		return err;
	len = list_gone(slots, count, gone, freed);
	free_slots(t, freed, len, held);
	for (size_t i = 0; held_ret && i < len; i++)
		*held_ret += held[freed[i]];
	return NULL;
}
