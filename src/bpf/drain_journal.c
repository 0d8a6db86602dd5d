// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <time.h>

#include "bpf/drain_blocks.h"
#include "bpf/mapped.h"

/* Programs that looked at `draining` just before it was set are done by then. */
#define GRACE_NS 200000

void drain_pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

bool drain_apply(struct drain *d, const struct abi_journal *e)
{
	const struct abi_block block = {e->size_bytes, e->stack, e->thread, e->tick, 0};
	uint64_t gone = e->kind == ABI_JOURNAL_TAKEN ? e->key : e->old_key;

	if (gone)
		drain_remove(d, gone);
	return e->kind != ABI_JOURNAL_PUT || drain_add(d, e->key, &block);
}

static bool apply_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_journal *entries = elements;
	struct drain *d = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const volatile uint32_t *kind = &entries[i].kind;

		for (int tries = 0; !*kind && tries < DRAIN_ENTRY_TRIES; tries++)
			drain_pause_ns(1000);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!*kind) {
			d->settled = false;
			continue;
		}

		struct abi_journal entry = entries[i];

		if (!drain_apply(d, &entry))
			return false;
	}
	return true;
}

static bool clear_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	(void)first;
	(void)arg;
	/* mapped_walk() maps read-only for all but this. */
	memset((void *)(uintptr_t)elements, 0,
	       (size_t)count * sizeof(struct abi_journal));
	return true;
}

static bool is_ring(const struct drain *d)
{
	return d->maps->live < 0;
}

static uint64_t entries_used(const struct drain *d)
{
	return __atomic_load_n(&d->control->journal_used, __ATOMIC_SEQ_CST);
}

struct error *drain_journal_open(struct drain *d)
{
	uint64_t used = entries_used(d);
	struct error *err;

	/* Those of the last time. Whoever was late to write one has done so by now. */
	if (used > ABI_JOURNAL_ENTRIES)
		used = ABI_JOURNAL_ENTRIES;
	err = is_ring(d) ? drain_ring_clear(d)
			 : mapped_walk_writable(d->maps->journal, (uint32_t)used,
						sizeof(struct abi_journal), clear_journal,
						NULL);
	if (err)
		return err;
	__atomic_store_n(&d->control->journal_used, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&d->control->draining, 1, __ATOMIC_SEQ_CST);
	drain_pause_ns(GRACE_NS);
	return NULL;
}

struct error *drain_journal_close(struct drain *d, bool *settled)
{
	uint64_t used = entries_used(d);
	struct error *err;

	d->settled = is_ring(d) ? used < ABI_JOURNAL_LOST : used <= ABI_JOURNAL_ENTRIES;
	if (!d->settled)
		used = is_ring(d) ? 0 : ABI_JOURNAL_ENTRIES;
	err = is_ring(d) ? drain_ring_apply(d, used)
			 : mapped_walk(d->maps->journal, (uint32_t)used,
				       sizeof(struct abi_journal), apply_journal, d);
	__atomic_store_n(&d->control->draining, 0, __ATOMIC_SEQ_CST);
	*settled = d->settled;
	return err;
}
