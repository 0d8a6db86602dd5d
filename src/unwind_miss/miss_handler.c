// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_handler.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/mapped.h"
#include "unwind_miss/miss_record.h"
#include "unwind_miss/miss_state.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/memory_limit.h"

/* The thread's name in ps and top; at most 15 characters. */
#define THREAD_NAME "memtrace-unwind"

/*
 * The share of processor time is averaged over a window. A program that starts or loads a
 * library reaches thousands of new call sites at once, and may use the share of the whole
 * window for them. A report may use REPORT_S seconds' share more, since the newest misses
 * are still in the ring. The handler works in slices, and is charged every CHARGE_WALKS
 * misses.
 */
#define WINDOW_S     20
#define REPORT_S     4
#define SLICE_NS     UINT64_C(10000000)
#define CHARGE_WALKS 16

/* For how much processor time unwind tables are built before the ring is checked again:
 * SLICE if it was empty, BUSY if it was not, FULL if it was full. The code may have to be
 * read from a disk, so this takes up to SWEEP_WAITS times as long by the clock. */
#define SWEEP_SLICE_NS UINT64_C(1000000)
#define SWEEP_BUSY_NS  UINT64_C(25000000)
#define SWEEP_FULL_NS  UINT64_C(100000000)
#define SWEEP_WAITS    10

/* How long the handler sleeps before it checks again whether it may work. */
#define REST_MS 1000

/* Misses of a ring in a batch; after each batch other threads get the lock. */
#define BATCH_MAX 512

/* How long the miss handler waits for a wakeup: after misses; after none, while unwind
 * tables wait for a larger allowance; and if it has nothing to do. A miss, a change of
 * code and the end of the run wake it, so the last is only a precaution. */
#define BUSY_MS      1
#define ALLOWANCE_MS 100
#define IDLE_MS      4000

/* How long the miss handler leaves the lock to other threads that wait for it. */
#define GIVE_WAY_TIMES 20
#define GIVE_WAY_US    50

/* Upper bound on the age of a miss that arrives after the ring was empty. */
#define MEMORY_NS UINT64_C(2000000000)

DEFINE_CLEANUP(struct miss_handler *, miss_handler_destroy);

/* --- the ring --------------------------------------------------------------------- */

/* The processor time allowed in `seconds`, in ns. */
static uint64_t share_ns(const struct miss_handler *h, unsigned seconds)
{
	return UINT64_C(10000000) * h->maps.cpu_percent * seconds;
}

static void charge(struct miss_handler *h)
{
	cpu_allowance_charge(&h->allowance, h->meter);
	h->is_spent = cpu_allowance_is_spent(&h->allowance, h->reserve_ns);
}

static void count_hit(struct miss_handler *h, uint32_t stack)
{
	uint32_t at = ABI_HIT_AT(stack, h->maps.sizes->max_stacks);

	h->hits[at]++;
	if (at >= h->hits_end)
		h->hits_end = at + 1;
}

/* Has this batch as many misses of the ring as it may have? */
static bool is_full(const struct miss_handler *h, unsigned ring)
{
	return h->read[ring] >= BATCH_MAX || (h->is_spent && h->ends_when_spent);
}

/* Are there misses that come before the rest of the ring that is being read? */
static bool gives_way(const struct miss_handler *h)
{
	return h->reading == ABI_MISS_RING &&
	       h->read[ABI_MISS_RING] % CHARGE_WALKS == 0 &&
	       !is_full(h, ABI_MISS_RING_FIRST) &&
	       ring_has_any(h->rings[ABI_MISS_RING_FIRST].ring);
}

static int on_record(void *arg, void *data, size_t size)
{
	struct miss_handler *h = arg;
	struct miss_record r;
	bool is_deep;

	if (!miss_record_read(&h->walker, &h->pages, data, size, h->is_spent, &r))
		return 0;
	h->taken++;
	is_deep = r.has_stack && (r.stack.gap || r.stack.end == ABI_END_DEPTH);
	if (r.has_stack) {
		uint32_t stack = stack_store_number(&h->stacks, &r.stack);

		/* A hit is counted here; no block will ask for its stack. */
		if (h->hits && r.allocator == ABI_EVENT_STACKS) {
			count_hit(h, stack);
		} else {
			pthread_mutex_lock(&h->alias_lock);
			if (!aliases_put(&h->aliases, r.number, stack))
				h->counts.stacks_refused++;
			pthread_mutex_unlock(&h->alias_lock);
		}
	}
	/* Charge now: unwinding a deep stack takes as long as many others. */
	if (++h->read[h->reading] % CHARGE_WALKS == 0 || is_deep)
		charge(h);
	return is_full(h, h->reading) || gives_way(h) ? -EAGAIN : 0;
}

/* --- the thread ------------------------------------------------------------------- */

void miss_handler_lock(struct miss_handler *h)
{
	__atomic_add_fetch(&h->waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&h->lock);
	__atomic_sub_fetch(&h->waiting, 1, __ATOMIC_SEQ_CST);
}

/* If the ring is full, probes count the miss as over budget, or else as lost. */
static void set_over_budget(struct miss_handler *h, uint64_t is_over)
{
	__atomic_store_n(&h->maps.control->misses_over_budget, is_over, __ATOMIC_SEQ_CST);
}

/* Build unwind tables for a moment, unless half of the allowance is used up: the rest is
 * for misses. Returns true if there are more to build now. */
static bool sweep(struct miss_handler *h, uint64_t cpu_ns)
{
	bool is_more = false;

	if (cpu_allowance_has_half(&h->allowance))
		is_more = unwind_tables_sweep(&h->tables.files, cpu_ns,
					      clock_now_ns() + SWEEP_WAITS * cpu_ns);
	charge(h);
	return is_more;
}

/* Read from both rings, first from ABI_MISS_RING_FIRST. */
static void read_rings(struct miss_handler *h, struct miss_batch *batch)
{
	memset(h->read, 0, sizeof(h->read));
	do {
		for (unsigned i = ABI_MISS_RINGS; i-- > 0;) {
			h->reading = i;
			batch->has_more[i] = ring_consume(h->rings[i].ring) < 0;
		}
		batch->bytes += ring_consumed_bytes(h->rings[ABI_MISS_RING].ring);
	} while (batch->has_more[ABI_MISS_RING] && !is_full(h, ABI_MISS_RING));
	memcpy(batch->walks, h->read, sizeof(batch->walks));
	batch->is_empty =
		!batch->has_more[ABI_MISS_RING] && !batch->has_more[ABI_MISS_RING_FIRST];
}

/* The caller holds the lock. */
static struct miss_batch take_batch(struct miss_handler *h, bool is_miss_handler,
				    struct cpu_meter *meter)
{
	struct miss_ring *ring = &h->rings[ABI_MISS_RING];
	uint64_t now_ns = clock_now_ns();
	struct miss_batch batch = {0};

	h->ends_when_spent = is_miss_handler;
	h->reserve_ns = is_miss_handler ? 0 : share_ns(h, REPORT_S);
	h->meter = meter;
	charge(h);
	if (is_miss_handler && h->is_spent)
		return (struct miss_batch){
			.rest_ns = cpu_allowance_rest_ns(&h->allowance, SLICE_NS)};
	miss_code_catch_up(&h->processes.code);
	miss_processes_look_at_parents(&h->processes);
	/* Build a newly mapped library's table at once: it is initialized right after it
	 * is mapped. Most libraries are small. */
	bool is_mapped = miss_tables_show_mapped(&h->tables);

	if (is_mapped)
		(void)sweep(h, SWEEP_SLICE_NS);
	read_rings(h, &batch);
	if (rule_table_is_crowded(&h->rules))
		miss_processes_evict(&h->processes);
	if (batch.is_empty && now_ns - h->pruned_ns > 2 * MEMORY_NS) {
		miss_code_prune(&h->processes.code, now_ns - MEMORY_NS);
		h->pruned_ns = now_ns;
	}
	charge(h);
	/* If misses come faster than they are handled, build the tables that they lack. A
	 * region is built as fast as some misses are handled, and prevents many. */
	batch.is_sweeping = is_miss_handler &&
			    sweep(h, miss_ring_has_lost(ring) ? SWEEP_FULL_NS
				     : batch.is_empty         ? SWEEP_SLICE_NS
							      : SWEEP_BUSY_NS) &&
			    batch.is_empty;
	batch.is_waiting = is_miss_handler && !batch.is_sweeping && batch.is_empty &&
			   unwind_tables_has_more(&h->tables.files);
	batch.rest_ns = cpu_allowance_rest_ns(&h->allowance, SLICE_NS);
	if (is_miss_handler)
		miss_ring_fit(ring, is_mapped || batch.is_sweeping || batch.is_waiting,
			      batch.bytes, now_ns);
	return batch;
}

struct miss_batch miss_handler_consume(struct miss_handler *h, struct cpu_meter *own)
{
	struct cpu_meter meter;
	struct miss_batch batch;

	if (own) {
		pthread_mutex_lock(&h->lock);
	} else {
		miss_handler_lock(h);
		cpu_meter_begin(&meter);
	}
	batch = take_batch(h, own, own ? own : &meter);
	if (batch.rest_ns)
		set_over_budget(h, 1);
	else if (batch.is_empty)
		set_over_budget(h, 0);
	pthread_mutex_unlock(&h->lock);
	return batch;
}

static int watch_or_none(const struct miss_handler *h)
{
	return h->processes.code.watch ? watch_fd(h->processes.code.watch) : -1;
}

/* Wait until there may be misses to handle, or the thread must stop. */
static void await_walks(struct miss_handler *h, const struct miss_batch *last)
{
	/* With `rest_ns` only for the end. New call sites come in bursts, and the kernel
	 * may signal the next one only at its next tick. */
	struct pollfd fds[] = {
		{.fd = h->stop_fd, .events = POLLIN},
		{.fd = ring_fd(h->rings[ABI_MISS_RING].ring), .events = POLLIN},
		{.fd = ring_fd(h->rings[ABI_MISS_RING_FIRST].ring), .events = POLLIN},
		{.fd = h->wake_fd, .events = POLLIN},
		{.fd = watch_or_none(h), .events = POLLIN},
	};

	for (int i = 0; i < ABI_MISS_RINGS; i++)
		if (ring_is_held_up(h->rings[i].ring))
			usleep(GIVE_WAY_US);
	if (last->rest_ns)
		poll(fds, 1,
		     last->rest_ns / 1000000 < REST_MS
			     ? (int)(last->rest_ns / 1000000) + 1
			     : REST_MS);
	else
		poll(fds, sizeof(fds) / sizeof(*fds),
		     !last->is_empty || last->is_sweeping ? 0
		     : last->walks[ABI_MISS_RING] || last->walks[ABI_MISS_RING_FIRST]
			     ? BUSY_MS
		     : last->is_waiting ? ALLOWANCE_MS
					: IDLE_MS);
}

static void *run(void *arg)
{
	struct miss_handler *h = arg;
	struct miss_batch batch = {.is_empty = true};
	struct cpu_meter meter;
	uint64_t stop;

	cpu_meter_begin(&meter);
	pthread_setname_np(pthread_self(), THREAD_NAME);
	for (int i = 0; i < ABI_MISS_RINGS; i++)
		miss_ring_begin(&h->rings[i]);
	while (read(h->stop_fd, &stop, sizeof(stop)) < 0) {
		await_walks(h, &batch);
		(void)!read(h->wake_fd, &stop, sizeof(stop));
		batch = miss_handler_consume(h, &meter);
		/* Otherwise they would wait for as long as misses come. */
		for (int i = 0;
		     i < GIVE_WAY_TIMES && __atomic_load_n(&h->waiting, __ATOMIC_SEQ_CST);
		     i++)
			usleep(GIVE_WAY_US);
	}
	return NULL;
}

static struct error *start_thread(struct miss_handler *h)
{
	h->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->stop_fd < 0 || h->wake_fd < 0)
		return error_errno(ERROR_IO, errno,
				   "cannot wait for stacks that memtrace unwinds itself");

	int err = pthread_create(&h->thread, NULL, run, h);

	if (err)
		return error_create(ERROR_IO,
				    "cannot start the thread that unwinds stacks: %s%s",
				    strerror(err), memory_limit_hint());
	h->is_running = true;
	return NULL;
}

/* Map the tables that the handler writes to. */
static struct error *map_tables(struct miss_handler *h)
{
	const struct miss_maps *maps = &h->maps;
	void *rules, *moves;
	struct error *err;

	h->rules_bytes =
		(size_t)maps->sizes->rule_buckets * sizeof(struct abi_rule_bucket);
	err = mapped_table(maps->rules, h->rules_bytes, &rules);
	if (err)
		return err;
	if (!rule_table_init(&h->rules, rules, maps->sizes->rule_buckets))
		return error_no_memory();
	h->rules.spill_fd = maps->rule_spill;
	h->rules.control = maps->control;
	stack_store_init(&h->stacks, maps->stacks, maps->stack_numbers,
			 maps->stack_claims);
	h->moves_bytes = (size_t)maps->sizes->process_slots * sizeof(struct abi_moves);
	err = mapped_table(maps->moves, h->moves_bytes, &moves);
	if (err)
		return err;
	h->moves = moves;
	return NULL;
}

static struct error *open_rings(struct miss_handler *h)
{
	const uint32_t bytes[ABI_MISS_RINGS] = {MISS_RING_BYTES, MISS_RING_FIRST_BYTES};
	struct error *err = NULL;

	for (uint32_t i = 0; !err && i < ABI_MISS_RINGS; i++)
		err = miss_ring_open(&h->rings[i], h->maps.misses, i, bytes[i],
				     &h->maps.control->misses_lost, on_record, h);
	/* Without tables each new call site is a miss, at any time. */
	h->rings[ABI_MISS_RING].stays_large = h->maps.unwind_rules < 0;
	return err;
}

struct error *miss_handler_create(const struct miss_maps *maps, struct miss_handler **ret)
{
	_cleanup_(miss_handler_destroyp) struct miss_handler *h = calloc(1, sizeof(*h));
	struct error *err;

	if (!h)
		return error_no_memory();
	h->maps = *maps;
	h->stop_fd = h->wake_fd = -1;
	h->allowance = (struct cpu_allowance){.percent = maps->cpu_percent,
					      .burst_ns = share_ns(h, WINDOW_S)};
	h->walker.maps = &h->maps;
	h->walker.rules = &h->rules;
	h->walker.tables = &h->tables;
	h->walker.processes = &h->processes;
	h->walker.counts = &h->counts;
	h->walker.max_depth = maps->sizes->stack_depth;
	if (maps->counts_hits)
		h->hits = calloc((size_t)maps->sizes->max_stacks + 1, sizeof(*h->hits));
	if (maps->counts_hits && !h->hits)
		return error_no_memory();
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->alias_lock, NULL);
	err = open_rings(h);
	if (!err)
		err = stack_pages_init(&h->pages, maps->sizes->cpu_slots);
	if (!err)
		err = map_tables(h);
	if (err)
		return err;
	err = miss_processes_init(&h->processes, &h->maps, &h->rules, &h->tables.files,
				  &h->tables.layouts, h->moves);
	if (!err)
		err = miss_tables_init(&h->tables, maps, &h->processes);
	if (!err)
		err = start_thread(h);
	if (!err)
		*ret = take(h);
	return err;
}

void miss_handler_destroy(struct miss_handler *h)
{
	const uint64_t one = 1;

	if (!h)
		return;
	if (h->is_running && write(h->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(h->thread, NULL);
	if (h->stop_fd >= 0)
		close(h->stop_fd);
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	for (int i = 0; i < ABI_MISS_RINGS; i++)
		miss_ring_close(&h->rings[i]);
	miss_processes_deinit(&h->processes);
	miss_tables_deinit(&h->tables);
	mapped_close(h->moves, h->moves_bytes);
	mapped_close(h->rules.buckets, h->rules_bytes);
	stack_store_deinit(&h->stacks);
	rule_table_deinit(&h->rules);
	aliases_deinit(&h->aliases);
	stack_pages_deinit(&h->pages);
	free(h->hits);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->alias_lock);
	free(h);
}
