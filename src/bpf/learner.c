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
#include "abi_walk.h"
#include "bpf/aliases.h"
#include "bpf/learner_process.h"
#include "bpf/mapped.h"
#include "bpf/rule_table.h"
#include "bpf/rule_walk.h"
#include "bpf/stack_pages.h"
#include "bpf/stack_store.h"
#include "unwind/walk.h"
#include "unwind_step.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define LEARNER_NICE (-20)

/* A batch, after which others get the lock; and how many there are for who has to see
 * all that was handed over: more than the ring holds. */
#define BATCH_MAX        512
#define CATCH_UP_BATCHES 128

/* How long the learner waits to be told, after walks and after none. */
#define BUSY_MS 1
#define IDLE_MS 100

/* How long the learner leaves the lock to others that wait for it. */
#define GIVE_WAY_TIMES 20
#define GIVE_WAY_US    50

/* Rules that a process is given for one walk: walks of others wait meanwhile. */
#define SHARED_AT_ONCE 4096

/* So old no walk is that comes once the ring is empty. */
#define MEMORY_NS UINT64_C(2000000000)

struct learner {
	struct learner_maps maps;
	struct rule_table rules;
	struct stack_store stacks;
	struct abi_moves *moves;
	size_t rules_bytes, index_bytes, moves_bytes;
	struct ring_buffer *ring;
	struct learner_processes processes;
	struct aliases aliases; /* under alias_lock */
	struct learner_counts counts;
	uint64_t *hits; /* by stack, then those without; NULL: they are not wanted */
	uint64_t handed_over; /* walks that came out of the ring */
	struct walk_frame frames[ABI_MAX_DEPTH + 1];
	uint64_t pcs[ABI_MAX_DEPTH + 1];
	struct stack_pages pages;
	uint8_t copy[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES]; /* of the walk at hand */
	unsigned batch;
	uint64_t pruned_ns; /* CLOCK_MONOTONIC */
	unsigned max_depth;
	pthread_mutex_t lock;       /* of all of the above */
	pthread_mutex_t alias_lock; /* held for a moment only, and taken last */
	unsigned waiting;           /* for the lock, while walks are ended */
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
	if (m->depth || m->inside == ABI_MISS_LEFT)
		return;
	unwind_registers_set(ret, ARCH_RBX, m->rbx);
	unwind_registers_set(ret, ARCH_R12, m->r12);
	unwind_registers_set(ret, ARCH_R13, m->r13);
	unwind_registers_set(ret, ARCH_R14, m->r14);
	unwind_registers_set(ret, ARCH_R15, m->r15);
}

/* The copy of the stack, with the return addresses that were replaced put back. */
static struct stack_copy copy_of(struct learner *l, const struct abi_miss *m,
				 const struct stack_room *room, const uint64_t *present)
{
	size_t size = stack_room_copy(room, m, l->copy) * ABI_MISS_PAGE_BYTES;

	for (uint32_t i = 0; i < m->replacement_count && i < ABI_MISS_REPLACEMENTS; i++) {
		const struct abi_replacement *r = &room->more.replacement[i];
		uint64_t at = r->at - m->base;

		if (r->at >= m->sp && size >= 8 && at <= size - 8)
			memcpy((uint8_t *)l->copy + at, &r->return_address, 8);
	}
	return (struct stack_copy){
		.base = m->base, .bytes = l->copy, .size_bytes = size, .pages = present};
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

/* Where the code of a frame is looked up: a return address may lie behind its function.
 */
static uint64_t call_of(const struct walk_frame *frame)
{
	return frame->pc - !frame->is_interrupted;
}

/* How many frames lie in known code, from the leaf on. */
static size_t count_known(struct images_moment *then, const struct walk *walk)
{
	struct walk_code code;
	size_t i = 0;

	while (i < walk->count &&
	       images_find_then(then, call_of(&walk->frames[i]), &code))
		i++;
	return i;
}

/* What is known of code that nobody has told of is a guess: end there. True when it had
 * been known before. */
static bool cut_unknown(size_t known, struct walk *walk, uint32_t *end)
{
	if (known == walk->count)
		return false;
	for (size_t i = 0; i < known; i++) {
		if (UNWIND_TYPE(walk->frames[i].rule) != UNWIND_FP)
			continue;
		/* It was a guess that led there. */
		walk->count = known;
		*end = ABI_END_NO_FRAME;
		return false;
	}
	/* The pc itself is right, as in the registers. */
	walk->count = known + 1;
	*end = ABI_END_UNLEARNED;
	return true;
}

/* A rule for this process, and for others that map the same file. */
static void put(struct learner *l, uint32_t slot, const struct walk_frame *f,
		const struct walk_code *code)
{
	const struct known_rule rule = {f->pc - code->bias, f->is_interrupted, f->rule};

	rule_table_put(&l->rules, slot, f->pc, f->is_interrupted, f->rule);
	if (code->known && l->maps.scope != SCOPE_PROCESSES)
		known_rules_add(code->known, &rule);
}

static void learn(struct learner *l, uint32_t slot, const struct images_moment *then,
		  const struct walk *walk)
{
	bool is_slow = false;

	for (size_t i = 0; i < walk->count; i++) {
		const struct walk_frame *f = &walk->frames[i];
		struct images_moment now = {then->images, UINT64_MAX - 1};
		struct walk_code was, is;

		is_slow |= UNWIND_TYPE(f->rule) == UNWIND_SLOW;
		/* Nothing holds of a pc that is in no code, or in other code by now. */
		if (images_find_then((void *)(uintptr_t)then, call_of(f), &was) &&
		    images_find_then(&now, call_of(f), &is) && was.cfi == is.cfi &&
		    was.bias == is.bias)
			put(l, slot, f, &is);
	}
	l->counts.slow += is_slow;
}

/* How many of the file's rules the process has been given. */
static size_t *given_of(struct process_code *code, uint32_t slot,
			const struct walk_code *of)
{
	if (code->shared_slot != slot)
		code->shared.len = 0;
	code->shared_slot = slot;
	vec_foreach (shared, &code->shared)
		if (shared->known == of->known && shared->bias == of->bias)
			return &shared->count;
	if (!vec_push(&code->shared, ((struct shared_rules){of->known, of->bias, 0})))
		return NULL;
	return &code->shared.data[code->shared.len - 1].count;
}

/* Room is left for what processes have for themselves. */
static bool has_room(const struct learner *l)
{
	return l->rules.count < (uint64_t)l->rules.bucket_count * ABI_RULE_WAYS / 2;
}

/* Give the process the rules that others have learned of the code around this frame. */
static void share(struct learner *l, uint32_t slot, struct process_code *code,
		  const struct walk_frame *frame)
{
	struct images_moment now = {code->images, UINT64_MAX - 1};
	uint64_t start, end;
	struct walk_code of, is;
	size_t *given;

	if (!images_find_then(&now, call_of(frame), &of) || !of.known ||
	    !images_extent(code->images, call_of(frame), UINT64_MAX - 1, &start, &end))
		return;
	given = given_of(code, slot, &of);
	for (size_t n = 0;
	     given && *given < of.known->list.len && n < SHARED_AT_ONCE && has_room(l);
	     n++) {
		const struct known_rule *rule = &of.known->list.data[(*given)++];
		const struct walk_frame at = {.pc = rule->address + of.bias,
					      .rule = rule->rule,
					      .is_interrupted = rule->is_interrupted};

		/* The probes look for moves in this part of the code, and in no other. */
		if (call_of(&at) >= start && call_of(&at) < end &&
		    images_find_then(&now, call_of(&at), &is) && is.cfi == of.cfi &&
		    is.bias == of.bias)
			rule_table_put(&l->rules, slot, at.pc, at.is_interrupted,
				       at.rule);
	}
}

/* By what was learned meanwhile, if no code of the process has changed since. */
static bool walk_by_rules(struct learner *l, const struct abi_miss *m,
			  const struct stack_copy *copy, size_t before, size_t *count)
{
	const struct unwind_regs start = {m->pc, m->sp, m->bp};

	return !m->is_interrupted &&
	       learner_processes_unchanged(&l->processes, m->process, m->time_ns) &&
	       rule_walk(&l->rules, m->process, &start, copy, l->pcs + before,
			 l->max_depth - before, count);
}

/* The probes look for moves where a rule is to be before it is there. Is all this code
 * still where it was read to be? */
static bool cover(struct learner *l, uint32_t slot, struct process_code *code,
		  const struct walk *walk)
{
	for (size_t i = 0; i < walk->count; i++)
		learner_processes_cover(&l->processes, slot, code,
					call_of(&walk->frames[i]));
	return !code->is_doubtful;
}

/* Reading once more leaves parts in doubt only that are new then. */
#define WALK_TRIES 3

/* Walk by unwind information; false when it may not be that of this code. */
static bool walk_code(struct learner *l, const struct abi_miss *m,
		      const struct stack_copy *copy, struct process_code *code,
		      struct images_moment *then, struct walk *walk)
{
	struct unwind_registers registers;

	registers_of(m, &registers);
	for (int i = 0; i < WALK_TRIES; i++) {
		walk_stack(&registers, m->is_interrupted, copy, images_find_then, then,
			   walk);
		if (!code || cover(l, m->process, code, walk))
			return true;

		uint64_t read_ns = code->read_ns;

		(void)learner_processes_look(&l->processes, m->process, code);
		if (code->read_ns == read_ns)
			break;
	}
	return false;
}

/* By unwind information, which tells the rules; where it ended. */
static uint32_t walk_and_learn(struct learner *l, const struct abi_miss *m,
			       const struct stack_copy *copy, size_t before,
			       size_t *count)
{
	struct process_code *code = learner_processes_get(&l->processes, m->process);
	struct images_moment then = {code ? code->images : NULL, m->time_ns};
	bool is_inside = m->inside == ABI_MISS_INSIDE;
	struct walk walk = {.frames = l->frames,
			    .capacity = l->max_depth - before + is_inside};
	bool is_sure = walk_code(l, m, copy, code, &then, &walk);
	size_t known = count_known(&then, &walk);
	uint32_t end;

	if (code && known < walk.count &&
	    learner_processes_look_again(&l->processes, m->process, code)) {
		is_sure = walk_code(l, m, copy, code, &then, &walk);
		known = count_known(&then, &walk);
	}
	end = end_of(&walk);
	l->counts.lost += cut_unknown(known, &walk, &end) || !is_sure;
	for (size_t i = 0; l->maps.no_frame_pointers && i < walk.count; i++) {
		if (UNWIND_TYPE(walk.frames[i].rule) == UNWIND_FP) {
			walk.count = i + 1;
			end = ABI_END_NO_FRAME;
		}
	}
	if (is_sure)
		learn(l, m->process, &then, &walk);
	for (size_t i = 0; i < walk.count && is_sure && code; i++)
		share(l, m->process, code, &walk.frames[i]);
	*count = 0;
	for (size_t i = is_inside; i < walk.count; i++)
		l->pcs[before + (*count)++] =
			walk.frames[i].pc +
			(l->maps.marks_interrupted && walk.frames[i].is_interrupted);
	return end;
}

static void end_walk(struct learner *l, const struct abi_miss *m,
		     const struct stack_room *room, uint32_t *ret)
{
	const uint64_t present = m->present;
	const struct stack_copy copy = copy_of(l, m, room, &present);
	size_t before = m->depth + m->leading, count = 0;
	uint32_t end = ABI_END_COMPLETE;

	if (before > l->max_depth)
		before = l->max_depth;
	if (!walk_by_rules(l, m, &copy, before, &count))
		end = walk_and_learn(l, m, &copy, before, &count);
	memcpy(l->pcs, room->more.walked, before * sizeof(*l->pcs));
	l->counts.walks++;
	l->counts.unreadable += end == ABI_END_UNREADABLE;
	l->counts.truncated += end == ABI_END_DEPTH;
	*ret = stack_store_number(&l->stacks, &(const struct stored_stack){
						      .process = m->process,
						      .allocator = m->allocator,
						      .pcs = l->pcs,
						      .depth = before + count,
						      .end = end,
					      });
}

static uint32_t hit_of(const struct learner *l, uint32_t stack)
{
	return stack < l->maps.sizes->max_stacks ? stack : l->maps.sizes->max_stacks;
}

static int on_record(void *arg, void *data, size_t size)
{
	struct learner *l = arg;
	const struct stack_room *room;
	const struct abi_miss *m = stack_pages_take(&l->pages, data, size, &room);
	uint32_t stack = ABI_NO_STACK;

	if (!m)
		return 0;
	l->handed_over++;
	if (m->process < l->maps.sizes->process_slots) {
		end_walk(l, m, room, &stack);
		/* A hit is counted here, and nobody asks for its stack. */
		if (l->hits && m->allocator == ABI_EVENT_STACKS) {
			l->hits[hit_of(l, stack)]++;
		} else {
			pthread_mutex_lock(&l->alias_lock);
			if (!aliases_put(&l->aliases, m->number, stack))
				l->counts.stacks_refused++;
			pthread_mutex_unlock(&l->alias_lock);
		}
	}
	return ++l->batch < BATCH_MAX ? 0 : -EAGAIN;
}

/* --- the thread ------------------------------------------------------------------- */

/* For all but the learner itself. */
static void lock_soon(struct learner *l)
{
	__atomic_add_fetch(&l->waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&l->lock);
	__atomic_sub_fetch(&l->waiting, 1, __ATOMIC_SEQ_CST);
}

/* End walks that were handed over: how many. With BATCH_MAX of them there may be more. */
static unsigned consume(struct learner *l, bool is_learner)
{
	unsigned batch;

	if (is_learner)
		pthread_mutex_lock(&l->lock);
	else
		lock_soon(l);

	uint64_t now_ns = clock_now_ns();

	l->batch = 0;
	learner_code_catch_up(&l->processes.code);
	learner_processes_look_at_parents(&l->processes);
	ring_buffer__consume(l->ring);
	batch = l->batch;
	if (rule_table_is_crowded(&l->rules))
		learner_processes_evict(&l->processes);
	if (batch < BATCH_MAX && now_ns - l->pruned_ns > 2 * MEMORY_NS) {
		learner_code_prune(&l->processes.code, now_ns - MEMORY_NS);
		l->pruned_ns = now_ns;
	}
	pthread_mutex_unlock(&l->lock);
	return batch;
}

static void *run(void *arg)
{
	struct learner *l = arg;
	int epoll_fd = ring_buffer__epoll_fd(l->ring);
	struct epoll_event event;
	unsigned batch = 0;
	uint64_t stop;

	/* Ahead of the targets: what they hand over meanwhile is lost once the ring is
	 * full. A thread has a priority of its own (setpriority(2)). */
	(void)setpriority(PRIO_PROCESS, 0, LEARNER_NICE);
	while (read(l->stop_fd, &stop, sizeof(stop)) < 0) {
		/* Events of the ring come by edge, and a batch may have left some. New
		 * call sites come in bursts, and the kernel may tell of the next one
		 * only with its next tick. */
		epoll_wait(epoll_fd, &event, 1,
			   batch >= BATCH_MAX ? 0
			   : batch            ? BUSY_MS
					      : IDLE_MS);
		batch = consume(l, true);
		/* Or they would wait for as long as walks come. */
		for (int i = 0;
		     i < GIVE_WAY_TIMES && __atomic_load_n(&l->waiting, __ATOMIC_SEQ_CST);
		     i++)
			usleep(GIVE_WAY_US);
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
	l->ring = ring_buffer__new(l->maps.misses, on_record, l, NULL);
	if (!l->ring || l->stop_fd < 0 ||
	    epoll_ctl(ring_buffer__epoll_fd(l->ring), EPOLL_CTL_ADD, l->stop_fd,
		      &event) ||
	    (l->processes.code.watch &&
	     epoll_ctl(ring_buffer__epoll_fd(l->ring), EPOLL_CTL_ADD,
		       watch_fd(l->processes.code.watch), &event)))
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
	void *rules, *index = NULL, *moves;
	struct error *err;

	if (!l)
		return error_no_memory();
	l->maps = *maps;
	l->stop_fd = -1;
	l->max_depth = (maps->sizes->stack_record_bytes -
			(unsigned)sizeof(struct abi_stack_head)) /
		       sizeof(uint64_t);
	if (maps->counts_hits)
		l->hits = calloc((size_t)maps->sizes->max_stacks + 1, sizeof(*l->hits));
	if (maps->counts_hits && !l->hits)
		return error_no_memory();
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->alias_lock, NULL);
	err = stack_pages_init(&l->pages, maps->sizes->cpu_slots);
	if (err)
		return err;
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
	if (maps->stack_index >= 0)
		err = map_table(maps->stack_index,
				(size_t)maps->sizes->stack_buckets *
					sizeof(struct abi_stack_bucket),
				&l->index_bytes, &index);
	if (err)
		return err;
	l->stacks = (struct stack_store){.index = index,
					 .numbers_fd = maps->stack_numbers,
					 .claims_fd = maps->stack_claims,
					 .sizes = maps->sizes,
					 .control = maps->control};
	record_windows_init(&l->stacks.records, maps->stacks,
			    maps->sizes->stack_record_bytes, maps->sizes->max_stacks);
	err = map_table(maps->moves,
			(size_t)maps->sizes->process_slots * sizeof(struct abi_moves),
			&l->moves_bytes, &moves);
	if (err)
		return err;
	l->moves = moves;
	err = learner_processes_init(&l->processes, &l->maps, &l->rules, l->moves);
	if (!err)
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
	record_windows_deinit(&l->stacks.records);
	learner_processes_deinit(&l->processes);
	mapped_close(l->moves, l->moves_bytes);
	mapped_close(l->rules.buckets, l->rules_bytes);
	mapped_close(l->stacks.index, l->index_bytes);
	rule_table_deinit(&l->rules);
	aliases_deinit(&l->aliases);
	stack_pages_deinit(&l->pages);
	free(l->hits);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->alias_lock);
	free(l);
}

/* --- for others ------------------------------------------------------------------- */

void learner_prepare(struct learner *l, uint32_t slot)
{
	/* While walks come the learner is not to wait for us, and hears for itself. */
	if (__atomic_load_n(&l->maps.control->enabled, __ATOMIC_SEQ_CST))
		return;
	lock_soon(l);
	(void)learner_processes_get(&l->processes, slot);
	pthread_mutex_unlock(&l->lock);
}

void learner_catch_up(struct learner *l)
{
	unsigned batch = BATCH_MAX;

	/* Bounded, should they come faster than we walk. */
	for (int i = 0; i < CATCH_UP_BATCHES && batch >= BATCH_MAX; i++)
		batch = consume(l, false);
}

void learner_look_over(struct learner *l)
{
	lock_soon(l);
	learner_processes_look_over(&l->processes);
	pthread_mutex_unlock(&l->lock);
}

void learner_forget(struct learner *l, uint32_t slot)
{
	/* Walks of it may be on their way: more than one batch of them, if it is one of
	 * many. The slot's next process has other code. */
	learner_catch_up(l);
	lock_soon(l);
	learner_processes_forget(&l->processes, slot);
	pthread_mutex_unlock(&l->lock);
}

uint32_t learner_stack(struct learner *l, uint32_t stack)
{
	uint32_t found;

	if (stack == ABI_NO_STACK || !(stack & ABI_MISS_STACK_BIT))
		return stack;
	pthread_mutex_lock(&l->alias_lock);
	found = aliases_get(&l->aliases, stack & ~ABI_MISS_STACK_BIT);
	pthread_mutex_unlock(&l->alias_lock);
	return found;
}

void learner_add_hits(struct learner *l, uint64_t hits[], size_t len)
{
	const struct abi_control *control = l->maps.control;

	lock_soon(l);
	for (size_t i = 0; l->hits && i < len; i++)
		hits[i] += l->hits[i];

	/* First those that were lost: each has a number by then. */
	uint64_t lost = __atomic_load_n(&control->misses_lost, __ATOMIC_SEQ_CST);

	hits[len - 1] += __atomic_load_n(&control->misses, __ATOMIC_SEQ_CST) - lost -
			 l->handed_over;
	pthread_mutex_unlock(&l->lock);
}

bool learner_has_many_stacks(struct learner *l)
{
	bool are_many;

	pthread_mutex_lock(&l->alias_lock);
	are_many = aliases_are_many(&l->aliases);
	pthread_mutex_unlock(&l->alias_lock);
	return are_many;
}

void learner_sweep(struct learner *l)
{
	pthread_mutex_lock(&l->alias_lock);
	aliases_sweep(&l->aliases);
	pthread_mutex_unlock(&l->alias_lock);
}

void learner_count(struct learner *l, struct learner_counts *ret)
{
	lock_soon(l);
	*ret = l->counts;
	ret->rules = l->rules.count;
	ret->rules_refused = l->rules.refused;
	ret->stacks_refused += l->stacks.refused;
	ret->lost += l->processes.doubtful;
	pthread_mutex_unlock(&l->lock);
}
