// SPDX-License-Identifier: Apache-2.0
#include "bpf/learner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "abi.h"
#include "bpf/learner_process.h"
#include "bpf/mapped.h"
#include "bpf/rule_table.h"
#include "bpf/stack_store.h"
#include "unwind/walk.h"
#include "unwind_step.h"
#include "util/cleanup.h"

#define LEARNER_NICE (-20)

/* A batch, after which others get the lock: about what the ring holds. */
#define BATCH_MAX        512
#define CATCH_UP_BATCHES 4

/* Walks whose numbers are kept, 4 bytes each. */
#define ALIASES_MAX (UINT32_C(1) << 26)

struct learner {
	struct learner_maps maps;
	struct rule_table rules;
	struct stack_store stacks;
	size_t rules_bytes, index_bytes;
	struct ring_buffer *ring;
	struct learner_processes processes;
	VEC(uint32_t) aliases; /* by the number of the walk */
	struct learner_counts counts;
	struct walk_frame frames[ABI_MAX_DEPTH + 1];
	uint64_t pcs[ABI_MAX_DEPTH + 1];
	uint8_t patched[ABI_MISS_PAGES * ABI_MISS_PAGE_BYTES];
	unsigned batch;
	unsigned max_depth;
	pthread_mutex_t lock; /* of all of the above */
	pthread_t thread;
	bool is_running;
	int stop_fd;
};

DEFINE_CLEANUP(struct learner *, learner_destroy);

/* --- one walk --------------------------------------------------------------------- */

static void registers_of(const struct abi_miss *m, struct unwind_registers *ret)
{
	ret->known = 0;
	unwind_registers_set(ret, ARCH_PC, m->pc);
	unwind_registers_set(ret, ARCH_SP, m->sp);
	unwind_registers_set(ret, ARCH_BP, m->bp);
	if (m->depth)
		return;
	unwind_registers_set(ret, ARCH_RBX, m->rbx);
	unwind_registers_set(ret, ARCH_R12, m->r12);
	unwind_registers_set(ret, ARCH_R13, m->r13);
	unwind_registers_set(ret, ARCH_R14, m->r14);
	unwind_registers_set(ret, ARCH_R15, m->r15);
}

/* The copy with the return addresses that were replaced put back. */
static const void *put_back(struct learner *l, const struct abi_miss *m)
{
	const void *bytes = m->pages;

	for (uint32_t i = 0; i < m->replacement_count && i < ABI_MISS_REPLACEMENTS; i++) {
		uint64_t at = m->replacement[i].at - m->base;

		if (m->replacement[i].at < m->sp || at > sizeof(m->pages) - 8)
			continue;
		if (bytes == m->pages)
			bytes = memcpy(l->patched, m->pages, sizeof(m->pages));
		memcpy(l->patched + at, &m->replacement[i].return_address, 8);
	}
	return bytes;
}

static bool find_code(void *argument, uint64_t pc, struct walk_code *ret)
{
	const struct learner_process *p = argument;

	return p && p->images && images_find(p->images, pc, ret);
}

static uint32_t end_of(const struct walk *walk)
{
	switch (walk->end) {
	case WALK_COMPLETE:
		return ABI_END_COMPLETE;
	case WALK_NO_MEMORY:
		return ABI_END_UNREADABLE;
	case WALK_TOO_DEEP:
		return ABI_END_DEPTH;
	case WALK_CORRUPT:
		return ABI_END_CORRUPT;
	case WALK_NO_CFI:
	case WALK_NO_REGISTER:
		break;
	}
	return ABI_END_NO_FRAME;
}

/* Does some frame lie in no code that is known? */
static bool has_unknown(const struct learner_process *p, const struct walk *walk)
{
	struct walk_code code;

	for (size_t i = 0; i < walk->count; i++)
		if (!find_code((void *)(uintptr_t)p,
			       walk->frames[i].pc - !walk->frames[i].is_interrupted,
			       &code))
			return true;
	return false;
}

/* How many frames lie in code that is mapped now as it was when the copy was made; those
 * above were found by other code's information. */
static size_t count_current(const struct learner_process *p, const struct abi_miss *m,
			    const struct walk *walk)
{
	uint64_t generation;
	size_t i = 0;

	if (m->code_changes == p->known &&
	    p->known_generation == images_generation(p->images))
		return walk->count;
	if (!learner_process_generation(p, m->code_changes, &generation))
		return 0;
	for (; i < walk->count; i++) {
		struct walk_code code;

		if (!find_code((void *)(uintptr_t)p,
			       walk->frames[i].pc - !walk->frames[i].is_interrupted,
			       &code) ||
		    code.since > generation)
			break;
	}
	return i;
}

static void learn(struct learner *l, uint32_t slot, const struct learner_process *p,
		  const struct walk *walk, size_t count)
{
	bool is_slow = false;

	for (size_t i = 0; i < count; i++) {
		const struct walk_frame *f = &walk->frames[i];
		struct walk_code code;

		is_slow |= UNWIND_TYPE(f->rule) == UNWIND_SLOW;
		/* Nothing holds of a pc that is in no code. */
		if (find_code((void *)(uintptr_t)p, f->pc - !f->is_interrupted, &code))
			rule_table_put(&l->rules, slot, f->pc, f->is_interrupted,
				       f->rule);
	}
	l->counts.slow += is_slow;
}

static void end_walk(struct learner *l, const struct abi_miss *m, uint32_t *ret)
{
	struct learner_process *p = learner_processes_get(
		&l->processes, &l->maps, &l->rules, m->process, m->code_changes);
	uint64_t present = m->present;
	const struct stack_copy copy = {
		.base = m->base,
		.bytes = put_back(l, m),
		.size_bytes = sizeof(m->pages),
		.pages = &present,
	};
	size_t before = m->depth + m->leading;
	struct walk walk = {.frames = l->frames, .capacity = 0};
	struct unwind_registers registers;
	uint32_t end;

	if (before > l->max_depth)
		before = l->max_depth;
	walk.capacity = l->max_depth - before;
	registers_of(m, &registers);
	walk_stack(&registers, m->is_interrupted, &copy, find_code, p, &walk);
	if (p && has_unknown(p, &walk) &&
	    learner_process_look_again(p, &l->maps, &l->rules))
		walk_stack(&registers, m->is_interrupted, &copy, find_code, p, &walk);

	size_t count = p ? count_current(p, m, &walk) : walk.count;

	end = count < walk.count ? ABI_END_UNLEARNED : end_of(&walk);
	for (size_t i = 0; l->maps.no_frame_pointers && i < count; i++) {
		if (UNWIND_TYPE(walk.frames[i].rule) == UNWIND_FP) {
			count = i + 1;
			end = ABI_END_NO_FRAME;
		}
	}
	/* The first pc was in the registers: it is right whatever it lies in. */
	if (!count && walk.count)
		count = 1;
	if (p)
		learn(l, m->process, p, &walk, end == ABI_END_UNLEARNED ? 0 : count);
	memcpy(l->pcs, m->walked, before * sizeof(*l->pcs));
	for (size_t i = 0; i < count; i++)
		l->pcs[before + i] = walk.frames[i].pc + (l->maps.marks_interrupted &&
							  walk.frames[i].is_interrupted);
	l->counts.walks++;
	l->counts.unreadable += end == ABI_END_UNREADABLE;
	l->counts.truncated += end == ABI_END_DEPTH;
	l->counts.changed += end == ABI_END_UNLEARNED;
	*ret = stack_store_number(&l->stacks, &(const struct stored_stack){
						      .process = m->process,
						      .allocator = m->allocator,
						      .pcs = l->pcs,
						      .depth = before + count,
						      .end = end,
					      });
}

static void remember(struct learner *l, uint64_t number, uint32_t stack)
{
	if (number >= ALIASES_MAX || !vec_reserve(&l->aliases, (size_t)number + 1)) {
		l->counts.stacks_refused++;
		return;
	}
	while (l->aliases.len <= number)
		l->aliases.data[l->aliases.len++] = ABI_NO_STACK;
	l->aliases.data[number] = stack;
}

static int on_miss(void *arg, void *data, size_t size)
{
	struct learner *l = arg;
	const struct abi_miss *m = data;
	uint32_t stack = ABI_NO_STACK;

	if (size >= sizeof(*m) && m->process < l->maps.sizes->process_slots) {
		end_walk(l, m, &stack);
		remember(l, m->number, stack);
	}
	return ++l->batch < BATCH_MAX ? 0 : -EAGAIN;
}

/* --- the thread ------------------------------------------------------------------- */

/* End walks that were handed over; true when there may be more of them. */
static bool consume(struct learner *l)
{
	bool is_full;

	pthread_mutex_lock(&l->lock);
	l->batch = 0;
	ring_buffer__consume(l->ring);
	is_full = l->batch >= BATCH_MAX;
	pthread_mutex_unlock(&l->lock);
	return is_full;
}

static void *run(void *arg)
{
	struct learner *l = arg;
	int epoll_fd = ring_buffer__epoll_fd(l->ring);
	struct epoll_event event;
	uint64_t stop;
	bool is_full = false;

	/* Ahead of the targets: what they hand over meanwhile is lost once the ring is
	 * full. A thread has a priority of its own (setpriority(2)). */
	(void)setpriority(PRIO_PROCESS, 0, LEARNER_NICE);
	while (read(l->stop_fd, &stop, sizeof(stop)) < 0) {
		/* Events of the ring come by edge, and a batch may have left some. */
		epoll_wait(epoll_fd, &event, 1, is_full ? 0 : 100);
		is_full = consume(l);
	}
	return NULL;
}

static struct error *map_table(int fd, size_t bytes, size_t *bytes_ret, void **ret)
{
	*bytes_ret = bytes;
	*ret = mapped_open(fd, bytes);
	return *ret ? NULL
		    : error_errno(ERROR_IO, errno, "cannot map a table of the unwinder");
}

static struct error *start_thread(struct learner *l)
{
	struct epoll_event event = {.events = EPOLLIN};

	l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->ring = ring_buffer__new(l->maps.misses, on_miss, l, NULL);
	if (!l->ring || l->stop_fd < 0 ||
	    epoll_ctl(ring_buffer__epoll_fd(l->ring), EPOLL_CTL_ADD, l->stop_fd, &event))
		return error_errno(ERROR_IO, errno, "cannot open the unwinder's ring");

	int err = pthread_create(&l->thread, NULL, run, l);

	if (err)
		return error_errno(ERROR_IO, err, "cannot start the unwinder's thread");
	l->is_running = true;
	return NULL;
}

struct error *learner_create(const struct learner_maps *maps, struct learner **ret)
{
	_cleanup_(learner_destroyp) struct learner *l = calloc(1, sizeof(*l));
	void *rules, *index;
	struct error *err;

	if (!l)
		return error_no_memory();
	l->maps = *maps;
	l->stop_fd = -1;
	l->max_depth = (maps->sizes->stack_record_bytes -
			(unsigned)sizeof(struct abi_stack_head)) /
		       sizeof(uint64_t);
	pthread_mutex_init(&l->lock, NULL);
	err = map_table(maps->rules,
			(size_t)maps->sizes->rule_buckets *
				sizeof(struct abi_rule_bucket),
			&l->rules_bytes, &rules);
	if (err)
		return err;
	l->rules = (struct rule_table){.buckets = rules,
				       .bucket_count = maps->sizes->rule_buckets,
				       .spill_fd = maps->rule_spill,
				       .control = maps->control};
	err = map_table(maps->stack_index,
			(size_t)maps->sizes->stack_buckets *
				sizeof(struct abi_stack_bucket),
			&l->index_bytes, &index);
	if (err)
		return err;
	l->stacks = (struct stack_store){.index = index,
					 .sizes = maps->sizes,
					 .stacks_fd = maps->stacks,
					 .control = maps->control};
	err = start_thread(l);
	if (!err)
		*ret = take(l);
	return err;
}

void learner_destroy(struct learner *l)
{
	const uint64_t one = 1;

	if (!l)
		return;
	if (l->is_running && write(l->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(l->thread, NULL);
	if (l->stop_fd >= 0)
		close(l->stop_fd);
	ring_buffer__free(l->ring);
	learner_processes_deinit(&l->processes);
	mapped_close(l->rules.buckets, l->rules_bytes);
	mapped_close(l->stacks.index, l->index_bytes);
	rule_table_deinit(&l->rules);
	vec_deinit(&l->aliases);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* --- for others ------------------------------------------------------------------- */

void learner_prepare(struct learner *l, uint32_t slot)
{
	pthread_mutex_lock(&l->lock);
	(void)learner_processes_get(
		&l->processes, &l->maps, &l->rules, slot,
		__atomic_load_n(&l->maps.processes[slot].code_changes, __ATOMIC_SEQ_CST));
	pthread_mutex_unlock(&l->lock);
}

void learner_forget(struct learner *l, uint32_t slot)
{
	/* Walks of it may be on their way. */
	(void)consume(l);
	pthread_mutex_lock(&l->lock);
	learner_processes_forget(&l->processes, slot);
	rule_table_purge(&l->rules, slot, NULL, NULL);
	pthread_mutex_unlock(&l->lock);
}

void learner_catch_up(struct learner *l)
{
	bool is_full = true;

	/* Bounded, should they come faster than we walk. */
	for (int i = 0; i < CATCH_UP_BATCHES && is_full; i++)
		is_full = consume(l);
}

uint32_t learner_stack(struct learner *l, uint32_t stack)
{
	uint32_t number = stack & ~ABI_MISS_STACK_BIT, found = ABI_NO_STACK;

	if (stack == ABI_NO_STACK || !(stack & ABI_MISS_STACK_BIT))
		return stack;
	pthread_mutex_lock(&l->lock);
	if (number < l->aliases.len)
		found = l->aliases.data[number];
	pthread_mutex_unlock(&l->lock);
	return found;
}

void learner_count(struct learner *l, struct learner_counts *ret)
{
	pthread_mutex_lock(&l->lock);
	*ret = l->counts;
	ret->rules = l->rules.count;
	ret->rules_refused = l->rules.refused;
	ret->stacks_refused += l->stacks.refused;
	pthread_mutex_unlock(&l->lock);
}
