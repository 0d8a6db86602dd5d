// SPDX-License-Identifier: Apache-2.0
/* What other threads ask of the miss handler. */
#include "unwind_miss/miss_handler.h"

#include <unistd.h>

#include "unwind_miss/miss_state.h"
#include "util/clock.h"

struct miss_ring *miss_handler_ring(struct miss_handler *h)
{
	return &h->rings[ABI_MISS_RING];
}

struct error *miss_handler_wait(struct miss_handler *h)
{
	struct error *err = NULL;

	for (int i = 0; !err && i < ABI_MISS_RINGS; i++)
		err = miss_ring_wait(&h->rings[i]);
	return err;
}

/* Build unwind tables before counting begins, so that the first stacks find them. */
static void sweep_first(struct miss_handler *h)
{
	uint64_t begun_ns = clock_now_ns(), limit_ns = h->maps.first_sweep_ns;

	if (h->swept_ns >= limit_ns)
		return;
	(void)unwind_tables_sweep(&h->tables.files, limit_ns,
				  begun_ns + limit_ns - h->swept_ns);
	h->swept_ns += clock_now_ns() - begun_ns;
}

void miss_handler_wake(struct miss_handler *h)
{
	const uint64_t one = 1;

	(void)!write(h->wake_fd, &one, sizeof(one));
}

void miss_handler_prepare(struct miss_handler *h, uint32_t slot)
{
	/* Once counting has begun, the miss handler must not wait for this thread, and it
	 * receives the kernel's reports itself. */
	if (__atomic_load_n(&h->maps.control->enabled, __ATOMIC_SEQ_CST))
		return;
	miss_handler_lock(h);

	struct process_code *code = miss_processes_get(&h->processes, slot);

	if (code)
		miss_tables_show(&h->tables, slot, code);
	sweep_first(h);
	pthread_mutex_unlock(&h->lock);
	/* To build the rest of the tables. */
	miss_handler_wake(h);
}

/* Number of misses in the rings that have not been read. */
static uint64_t in_rings(const struct miss_handler *h)
{
	const struct abi_control *control = h->maps.control;
	/* Read the lost ones first: each has been counted in `misses` already. */
	uint64_t lost = __atomic_load_n(&control->misses_lost, __ATOMIC_SEQ_CST);

	return __atomic_load_n(&control->misses, __ATOMIC_SEQ_CST) - lost - h->taken;
}

void miss_handler_catch_up(struct miss_handler *h)
{
	uint64_t left[ABI_MISS_RINGS]; /* of each ring, at most */

	if (h->is_cut_off)
		return;
	miss_handler_lock(h);
	for (int i = 0; i < ABI_MISS_RINGS; i++)
		left[i] = in_rings(h);
	pthread_mutex_unlock(&h->lock);
	/* Not those that come meanwhile: they may come faster than they are handled. */
	do {
		struct miss_batch batch = miss_handler_consume(h, NULL);

		for (int i = 0; i < ABI_MISS_RINGS; i++)
			left[i] = batch.has_more[i] && left[i] > batch.walks[i]
					  ? left[i] - batch.walks[i]
					  : 0;
	} while (left[ABI_MISS_RING] || left[ABI_MISS_RING_FIRST]);
}

void miss_handler_look_over(struct miss_handler *h)
{
	if (h->is_cut_off)
		return;
	miss_handler_lock(h);
	miss_processes_look_over(&h->processes);
	pthread_mutex_unlock(&h->lock);
}

void miss_handler_remove(struct miss_handler *h, const uint32_t slots[], size_t count)
{
	/* The ring may still have misses of them: with many processes, more than one
	 * batch. They must be handled before a slot gets another process with other code.
	 */
	miss_handler_catch_up(h);
	miss_handler_lock(h);
	for (size_t i = 0; i < count; i++)
		miss_processes_remove(&h->processes, slots[i]);
	pthread_mutex_unlock(&h->lock);
}

uint32_t miss_handler_stack(struct miss_handler *h, uint32_t stack)
{
	uint32_t found;

	if (stack == ABI_NO_STACK || !(stack & ABI_MISS_STACK_BIT))
		return stack;
	pthread_mutex_lock(&h->alias_lock);
	found = aliases_get(&h->aliases, stack & ~ABI_MISS_STACK_BIT);
	pthread_mutex_unlock(&h->alias_lock);
	return found;
}

bool miss_handler_add_hits(struct miss_handler *h, struct hit_counts *hits)
{
	uint64_t waiting;
	bool has_memory;

	miss_handler_lock(h);
	waiting = in_rings(h);
	has_memory = hit_counts_add(hits, h->hits, h->hits_end) &&
		     hit_counts_add(hits, &waiting, 1);
	pthread_mutex_unlock(&h->lock);
	return has_memory;
}

bool miss_handler_has_many_stacks(struct miss_handler *h)
{
	bool are_many;

	pthread_mutex_lock(&h->alias_lock);
	are_many = aliases_are_many(&h->aliases);
	pthread_mutex_unlock(&h->alias_lock);
	return are_many;
}

void miss_handler_sweep(struct miss_handler *h)
{
	if (h->is_cut_off)
		return;
	pthread_mutex_lock(&h->alias_lock);
	aliases_sweep(&h->aliases);
	pthread_mutex_unlock(&h->alias_lock);
}

void miss_handler_count(struct miss_handler *h, struct miss_handler_counts *ret)
{
	miss_handler_lock(h);
	*ret = h->counts;
	ret->rules = h->rules.count;
	if (!h->is_cut_off)
		ret->table_bytes = unwind_tables_size_bytes(&h->tables.files);
	ret->rules_refused = h->rules.refused;
	ret->stacks_refused += h->stacks.refused;
	ret->lost += h->processes.doubtful;
	if (h->is_cut_off)
		ret->lost += in_rings(h);
	pthread_mutex_unlock(&h->lock);
}

bool miss_handler_cut_off(struct miss_handler *h)
{
	/* The thread was changing the table of stacks when this process was forked. */
	if (pthread_mutex_trylock(&h->alias_lock))
		return false;
	pthread_mutex_unlock(&h->alias_lock);
	/* A thread that does not exist here may hold it. What is still read are numbers
	 * of stacks and counts. */
	pthread_mutex_init(&h->lock, NULL);
	h->is_cut_off = true;
	return true;
}
