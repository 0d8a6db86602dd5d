// SPDX-License-Identifier: Apache-2.0
/* The tables of traffic: memtrace counts in them and reads them. Files replace the BPF
 * maps. */
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#include "abi_walk.h"
#include "drain/drain_peak.h"
#include "drain/drain_traffic.h"
#include "bpf/mapped.h"

/* More than one part of the table by stack. */
#define STACKS 5000

static const struct source_sizes sizes = {
	.cpu_slots = 2,
	.process_slots = 8,
	.max_stacks = STACKS,
	.thread_slots = 64,
	.thread_record_bytes = sizeof(struct abi_thread) + 8,
};

/* A file with the size of a map of `count` elements, all zero. */
static int map_of(size_t count, size_t bytes)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && !ftruncate(fd, (off_t)((count * bytes + 65535) & ~65535ul)));
	return fd;
}

static struct traffic_maps maps_create(bool has_estimates)
{
	return (struct traffic_maps){
		.traffic = map_of(STACKS, sizeof(struct abi_traffic)),
		.estimates = has_estimates ? map_of(STACKS, sizeof(struct abi_flow)) : -1,
		.threads = map_of(sizes.thread_slots, sizes.thread_record_bytes),
		.all = map_of(1, sizeof(struct abi_traffic_all)),
		.process_live =
			map_of(sizes.process_slots, sizeof(struct abi_process_live)),
		.sizes = map_of(sizes.cpu_slots, sizeof(struct abi_sizes)),
		.late_numbers = map_of(ABI_LATE_NUMBERS, sizeof(uint64_t)),
		.heap_peak = map_of(1, sizeof(struct abi_heap_peak)),
		.path_peaks = map_of(STACKS, sizeof(struct abi_path_peak)),
	};
}

static void maps_destroy(const struct traffic_maps *maps)
{
	close(maps->traffic);
	if (maps->estimates >= 0)
		close(maps->estimates);
	close(maps->threads);
	close(maps->all);
	close(maps->process_live);
	close(maps->sizes);
	close(maps->late_numbers);
	close(maps->heap_peak);
	close(maps->path_peaks);
}

static struct traffic_tables open_tables(const struct traffic_maps *maps,
					 uint64_t sample_bytes)
{
	struct traffic_tables tables;
	struct error *err = traffic_tables_open(maps, &sizes, sample_bytes, &tables);

	REQUIRE(!err);
	return tables;
}

/* The only process of a snapshot is in slot 3. */
#define NONE SNAPSHOT_NO_PROCESS
static const uint32_t process_of_slot[8] = {NONE, NONE, NONE, 0, NONE, NONE, NONE, NONE};
static const struct drain_slots slots = {process_of_slot, NULL};
static const struct tick_clock probe_clock = {.start_ns = 1000, .tick_ns = 4000000};

/* Without lifetimes and sizes the traffic is the same. */
static void check_sums_only(const struct traffic_tables *tables,
			    const struct snapshot *whole)
{
	struct snapshot *sums = snapshot_create();

	REQUIRE(sums && snapshot_add_process(sums, getpid()));
	sums->sums_only = true;
	sums->attached_ns = whole->attached_ns;
	sums->time_ns = whole->time_ns;
	for (size_t i = 0; i < whole->stacks.len; i++)
		REQUIRE(vec_push(&sums->stacks, whole->stacks.data[i]));
	REQUIRE(!drain_traffic(tables, &slots, &probe_clock, sums));
	CHECK(sums->has_traffic && !sums->has_lifetimes);
	CHECK_INT(sums->lifetimes.len, 0);
	CHECK_INT(sums->path_sizes.len, 0);
	REQUIRE(sums->traffic.len == whole->traffic.len);
	CHECK(!whole->traffic.len ||
	      !memcmp(sums->traffic.data, whole->traffic.data,
		      whole->traffic.len * sizeof(*whole->traffic.data)));
	snapshot_destroy(sums);
}

/* A snapshot of `stacks` stacks and of one process. */
static struct snapshot *drain(const struct traffic_tables *tables, size_t stacks)
{
	struct snapshot *snap = snapshot_create();
	struct error *err;

	REQUIRE(snap && snapshot_add_process(snap, getpid()));
	snap->attached_ns = 5000;
	snap->time_ns = 400000000000;
	for (size_t i = 0; i < stacks; i++)
		REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){0}));
	err = drain_traffic(tables, &slots, &probe_clock, snap);
	REQUIRE(!err);
	CHECK(snap->has_traffic && snap->has_lifetimes);
	CHECK_INT(snap->traffic.len, stacks);
	CHECK_INT(snap->lifetimes.len, stacks);
	CHECK_INT(snap->path_sizes.len, stacks);
	check_sums_only(tables, snap);
	return snap;
}

static void late_events_are_counted(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	const uint32_t miss = ABI_MISS_STACK(70000);
	struct abi_late event = {
		.stack = miss, .kind = ABI_LATE_ALLOCATED, .bytes = 700, .ticks = 32};
	const struct snapshot_traffic *t;
	struct snapshot *snap;

	traffic_tables_count(&tables, &event, 4999);
	CHECK(tables.late_numbers[miss % ABI_LATE_NUMBERS] ==
	      ABI_LATE_NUMBER(miss, 4999));
	traffic_tables_count(&tables, &event, 2);
	traffic_tables_count(&tables, &event, 2);
	event = (struct abi_late){.stack = miss,
				  .kind = ABI_LATE_RESIZED,
				  .bytes = 900,
				  .old_bytes = 700,
				  .ticks = 48};
	traffic_tables_count(&tables, &event, 2);
	event = (struct abi_late){
		.kind = ABI_LATE_FREED, .bytes = 900, .is_temporary = 1, .lifetime = 4};
	traffic_tables_count(&tables, &event, 2);
	event = (struct abi_late){.kind = ABI_LATE_GONE, .bytes = 700};
	traffic_tables_count(&tables, &event, 2);
	/* Without a stack, and with a number that does not exist. */
	traffic_tables_count(&tables, &event, ABI_NO_STACK);
	traffic_tables_count(&tables, &event, STACKS);
	CHECK_INT(tables.lost, 0);

	snap = drain(&tables, STACKS);
	t = &snap->traffic.data[2];
	CHECK_INT(t->allocations, 2);
	CHECK_INT(t->allocated_bytes, 1600);
	CHECK_INT(t->frees, 2);
	CHECK_INT(t->freed_bytes, 1600);
	CHECK_INT(t->temporary, 1);
	CHECK_INT(t->peak_bytes, 1600);
	CHECK_INT(t->peak_count, 2);
	CHECK_INT(t->peak_time_ns, 1000 + 48 * 4000000);
	CHECK_INT(t->estimated_allocations, 0);
	CHECK_INT(snap->lifetimes.data[2].count[4], 1);
	CHECK_INT(snap->lifetimes.data[2].count[0], 0);
	/* In the bucket of the allocated size: 700 is in 512 to 1023. */
	CHECK_INT(snap->path_sizes.data[2].count[10], 2);
	CHECK_INT(snap->path_sizes.data[4999].count[10], 1);
	CHECK_INT(snap->path_sizes.data[0].count[10], 0);
	CHECK_INT(snap->traffic.data[4999].allocated_bytes, 700);
	CHECK_INT(snap->traffic.data[0].allocations, 0);
	CHECK_INT(snap->traffic.data[0].peak_time_ns, 0);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

static void samples_are_weighed(void)
{
	struct traffic_maps maps = maps_create(true);
	struct traffic_tables tables = open_tables(&maps, 1000);
	struct abi_late event = {.kind = ABI_LATE_ALLOCATED, .bytes = 16};
	const struct snapshot_traffic *t;
	struct snapshot *snap;

	/* 1 / (1 - e^(-16/1000)) = 63 blocks; a large block counts as one. */
	traffic_tables_count(&tables, &event, 1);
	event.bytes = 1 << 20;
	traffic_tables_count(&tables, &event, 0);
	snap = drain(&tables, 2);
	t = &snap->traffic.data[1];
	CHECK_INT(t->allocations, 1);
	CHECK(t->estimated_allocations >= 60 && t->estimated_allocations <= 65);
	CHECK(t->estimated_allocated_bytes >= 60 * 16 &&
	      t->estimated_allocated_bytes <= 65 * 16);
	CHECK(t->estimated_peak_bytes == t->estimated_allocated_bytes);
	CHECK_INT(snap->traffic.data[0].estimated_allocated_bytes, 1 << 20);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

static struct abi_thread *thread_at(void *threads, size_t i)
{
	return (void *)((char *)threads + i * sizes.thread_record_bytes);
}

static void threads_are_those_of_the_processes(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	size_t bytes = sizes.thread_slots * sizes.thread_record_bytes;
	void *threads = mapped_open(maps.threads, bytes);
	bool gone[8] = {[3] = true};
	struct snapshot *snap;
	struct error *err;

	REQUIRE(threads);
	/* A thread that has exited, whose name has no NUL; this thread; and one of
	 * another process. */
	*thread_at(threads, 9) = (struct abi_thread){.key = ABI_THREAD_KEY(3, UINT32_MAX),
						     .allocations = 5,
						     .freed_own_bytes = 7};
	memcpy(thread_at(threads, 9)->name, "sixteen letters!", 16);
	*thread_at(threads, 20) = (struct abi_thread){
		.key = ABI_THREAD_KEY(3, getpid()), .frees = 6, .name = "old"};
	thread_at(threads, 21)->key = ABI_THREAD_KEY(2, 77);
	thread_at(threads, 22)->key = ABI_THREAD_KEY(UINT16_MAX, 77);
	snap = drain(&tables, 0);
	REQUIRE(snap->threads.len == 2);
	CHECK_INT(snap->threads.data[0].tid, getpid());
	CHECK_INT(snap->threads.data[0].frees, 6);
	CHECK(!snap->threads.data[0].exited);
	/* The name of this program. */
	CHECK(strcmp(snap->threads.data[0].name, "old") != 0);
	CHECK_STR(snap->threads.data[0].name, thread_at(threads, 20)->name);
	CHECK(snap->threads.data[1].exited);
	CHECK_STR(snap->threads.data[1].name, "sixteen letters");
	CHECK_INT(snap->threads.data[1].allocations, 5);
	CHECK_INT(snap->threads.data[1].freed_own_bytes, 7);
	snapshot_destroy(snap);

	err = traffic_tables_remove(&tables, gone);
	REQUIRE(!err);
	CHECK_INT(thread_at(threads, 9)->key, 0);
	CHECK_INT(thread_at(threads, 9)->allocations, 0);
	CHECK_INT(thread_at(threads, 20)->key, 0);
	CHECK(thread_at(threads, 21)->key == ABI_THREAD_KEY(2, 77));
	mapped_close(threads, bytes);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

static void a_process_takes_what_it_holds(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	struct snapshot *snap;

	/* Without a record of the peak. */
	tables.maps.heap_peak = -1;
	mapped_close(tables.heap_peak, sizeof(*tables.heap_peak));
	tables.heap_peak = NULL;
	tables.all->traced = (struct abi_outstanding){
		.live_bytes = 500, .peak_bytes = 600, .peak_when = abi_peak_when(48, 0)};
	tables.all->estimated.peak_bytes = 44;
	tables.process_live[3].bytes = 300;
	traffic_tables_end_process(&tables, 3);
	traffic_tables_end_process(&tables, 3);
	CHECK_INT(tables.all->traced.live_bytes, 200);
	snap = drain(&tables, 0);
	CHECK_INT(snap->peak_bytes, 600);
	CHECK_INT(snap->peak_time_ns, 1000 + 48 * 4000000);
	CHECK_INT(snap->estimated_peak_bytes, 44);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

/* --- the peak --------------------------------------------------------------------- */

/* As a probe does. */
static uint64_t add_to_heap(struct abi_heap_peak *heap, uint64_t bytes, uint64_t ticks)
{
	int is_peak = 0;
	uint64_t label = abi_heap_peak_add(heap, bytes, &is_peak);

	if (is_peak)
		heap->ticks = ticks;
	return label;
}

/* An event of a block of `bytes`, which memtrace counts now or later. */
static struct abi_late peak_event(struct traffic_tables *tables, uint16_t kind,
				  uint64_t bytes, uint64_t ticks)
{
	uint64_t change, blocks;

	traffic_tables_weigh(tables, bytes, &change, &blocks);
	if (kind != ABI_LATE_ALLOCATED)
		change = -change;
	return (struct abi_late){.kind = kind,
				 .bytes = bytes,
				 .label = add_to_heap(tables->heap_peak, change, ticks)};
}

static void count_peak(struct traffic_tables *tables, uint16_t kind, uint64_t bytes,
		       uint32_t stack, uint64_t ticks)
{
	const struct abi_late event = peak_event(tables, kind, bytes, ticks);

	traffic_tables_count(tables, &event, stack);
}

/* What the stacks held at the peak, as drain_peak() reads it. */
static struct snapshot *drain_at_peak(const struct traffic_tables *tables)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, getpid()));
	for (size_t i = 0; i < 4; i++)
		REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){0}));
	/* A block that is still in the table. */
	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
			 (struct snapshot_block){.size_bytes = 30, .stack = 2}));
	REQUIRE(!drain_peak(tables, &slots, &probe_clock, snap));
	CHECK(snap->has_at_peak);
	CHECK_INT(snap->at_peak.len, 4);
	return snap;
}

static void late_events_are_at_the_peak(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	struct abi_late late, freed;
	struct snapshot *snap;

	count_peak(&tables, ABI_LATE_ALLOCATED, 100, 0, 5);
	late = peak_event(&tables, ABI_LATE_ALLOCATED, 50, 6);
	freed = peak_event(&tables, ABI_LATE_FREED, 50, 7);
	count_peak(&tables, ABI_LATE_FREED, 100, 0, 8);
	count_peak(&tables, ABI_LATE_ALLOCATED, 7, 2, 9);
	/* These two come last. The events of a probe that found the record in use have
	 * no kind. */
	traffic_tables_count(&tables, &freed, 1);
	traffic_tables_count(&tables,
			     &(const struct abi_late){.kind = ABI_LATE_AT_PEAK,
						      .bytes = late.bytes,
						      .old_bytes = 1,
						      .label = late.label},
			     1);
	/* Without a label, and without a stack. */
	traffic_tables_count(
		&tables, &(const struct abi_late){.kind = ABI_LATE_ALLOCATED, .bytes = 3},
		3);
	count_peak(&tables, ABI_LATE_ALLOCATED, 1, ABI_NO_STACK, 9);
	CHECK_INT(tables.lost, 0);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->peak_bytes, 150);
	CHECK_INT(snap->peak_time_ns, 1000 + 6 * 4000000);
	CHECK_INT(snap->at_peak.data[0].bytes, 100);
	CHECK_INT(snap->at_peak.data[0].count, 1);
	CHECK_INT(snap->at_peak.data[1].bytes, 50);
	CHECK_INT(snap->at_peak.data[1].count, 1);
	CHECK_INT(snap->at_peak.data[2].bytes, 0);
	CHECK_INT(snap->at_peak.data[3].bytes, 0);
	CHECK_INT(snap->missed_peak_bytes, 0);
	/* ABI_LATE_AT_PEAK is counted nowhere else. */
	snapshot_destroy(snap);
	snap = drain(&tables, 4);
	CHECK_INT(snap->traffic.data[1].allocations, 0);
	CHECK_INT(snap->traffic.data[0].allocations, 1);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

/* While memtrace reads, what it reads does not change. */
static void a_frozen_peak_is_read(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	struct snapshot *snap;

	count_peak(&tables, ABI_LATE_ALLOCATED, 100, 0, 5);
	traffic_tables_freeze_peak(&tables);
	count_peak(&tables, ABI_LATE_ALLOCATED, 70, 0, 6);
	count_peak(&tables, ABI_LATE_ALLOCATED, 30, 2, 6);
	count_peak(&tables, ABI_LATE_FREED, 60, 0, 7);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->peak_bytes, 100);
	CHECK_INT(snap->at_peak.data[0].bytes, 100);
	CHECK_INT(snap->at_peak.data[2].bytes, 0);
	CHECK_INT(snap->missed_peak_bytes, 200);
	snapshot_destroy(snap);
	traffic_tables_thaw_peak(&tables, 9);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->peak_bytes, 140);
	CHECK_INT(snap->peak_time_ns, 1000 + 9 * 4000000);
	CHECK_INT(snap->at_peak.data[0].bytes, 110);
	CHECK_INT(snap->at_peak.data[2].bytes, 30);
	CHECK_INT(snap->missed_peak_bytes, 200);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

/* A process that has ended holds nothing at later peaks, even if its blocks are still in
 * the tables, and later as well. */
static void an_ended_process_is_not_at_the_peak(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	bool gone[8] = {[3] = true};
	struct snapshot *snap;

	count_peak(&tables, ABI_LATE_ALLOCATED, 30, 2, 5);
	tables.process_live[3].bytes = 30;
	traffic_tables_end_process(&tables, 3);
	traffic_tables_end_process(&tables, 3);
	snap = drain_at_peak(&tables);
	/* The peak was before. */
	CHECK_INT(snap->peak_bytes, 30);
	CHECK_INT(snap->at_peak.data[2].bytes, 30);
	snapshot_destroy(snap);

	count_peak(&tables, ABI_LATE_ALLOCATED, 31, 1, 6);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->peak_bytes, 31);
	CHECK_INT(snap->at_peak.data[1].bytes, 31);
	CHECK_INT(snap->at_peak.data[2].bytes, 0);
	CHECK_INT(snap->at_peak.data[2].count, 0);
	snapshot_destroy(snap);

	traffic_tables_count_gone(&tables, 3, 30, 2);
	REQUIRE(!traffic_tables_remove(&tables, gone));
	CHECK_INT(tables.process_live[3].end_label, 0);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->at_peak.data[1].bytes, 31);
	CHECK_INT(snap->at_peak.data[2].bytes, 0);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

/* With a sample by bytes the peak is the peak of the estimates. */
static void samples_at_the_peak_are_weighed(void)
{
	struct traffic_maps maps = maps_create(true);
	struct traffic_tables tables = open_tables(&maps, 1000);
	struct snapshot *snap;

	count_peak(&tables, ABI_LATE_ALLOCATED, 16, 1, 5);
	count_peak(&tables, ABI_LATE_ALLOCATED, 1 << 20, 0, 5);
	snap = drain_at_peak(&tables);
	CHECK_INT(snap->peak_bytes, 0);
	CHECK(snap->at_peak.data[1].bytes >= 60 * 16 &&
	      snap->at_peak.data[1].bytes <= 65 * 16);
	CHECK(snap->at_peak.data[1].count >= 60 && snap->at_peak.data[1].count <= 65);
	CHECK_INT(snap->at_peak.data[0].bytes, 1 << 20);
	CHECK_INT(snap->estimated_peak_bytes,
		  snap->at_peak.data[0].bytes + snap->at_peak.data[1].bytes);
	snapshot_destroy(snap);
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

static void sizes_are_summed_over_processors(void)
{
	struct traffic_maps maps = maps_create(false);
	struct traffic_tables tables = open_tables(&maps, 0);
	struct abi_sizes *records =
		mapped_open(maps.sizes, sizes.cpu_slots * sizeof(*records));
	struct snapshot *snap;

	REQUIRE(records);
	records[0].count[64] = 1;
	records[0].count[5] = 2;
	records[1].count[5] = 40;
	snap = drain(&tables, 0);
	CHECK_INT(snap->sizes[5], 42);
	CHECK_INT(snap->sizes[64], 1);
	snapshot_destroy(snap);
	mapped_close(records, sizes.cpu_slots * sizeof(*records));
	traffic_tables_close(&tables);
	maps_destroy(&maps);
}

int main(void)
{
	RUN(late_events_are_counted);
	RUN(samples_are_weighed);
	RUN(threads_are_those_of_the_processes);
	RUN(a_process_takes_what_it_holds);
	RUN(sizes_are_summed_over_processors);
	RUN(late_events_are_at_the_peak);
	RUN(a_frozen_peak_is_read);
	RUN(an_ended_process_is_not_at_the_peak);
	RUN(samples_at_the_peak_are_weighed);
	return check_done();
}
