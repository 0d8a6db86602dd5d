// SPDX-License-Identifier: Apache-2.0
/* The tables of traffic: memtrace counts in them and reads them. Files replace the BPF
 * maps. */
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#include "abi_walk.h"
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
}

static struct traffic_tables open_tables(const struct traffic_maps *maps,
					 uint64_t sample_bytes)
{
	struct traffic_tables tables;
	struct error *err = traffic_tables_open(maps, &sizes, sample_bytes, &tables);

	REQUIRE(!err);
	return tables;
}

/* A snapshot of `stacks` stacks and of one process, in slot 3. */
static struct snapshot *drain(const struct traffic_tables *tables, size_t stacks)
{
	const uint32_t none = SNAPSHOT_NO_PROCESS;
	const uint32_t process[8] = {none, none, none, 0, none, none, none, none};
	const struct drain_slots slots = {process, NULL};
	const struct tick_clock ticks = {.start_ns = 1000, .tick_ns = 4000000};
	struct snapshot *snap = snapshot_create();
	struct error *err;

	REQUIRE(snap && snapshot_add_process(snap, getpid()));
	snap->attached_ns = 5000;
	snap->time_ns = 400000000000;
	for (size_t i = 0; i < stacks; i++)
		REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){0}));
	err = drain_traffic(tables, &slots, &ticks, snap);
	REQUIRE(!err);
	CHECK(snap->has_traffic && snap->has_lifetimes);
	CHECK_INT(snap->traffic.len, stacks);
	CHECK_INT(snap->lifetimes.len, stacks);
	CHECK_INT(snap->path_sizes.len, stacks);
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
	return check_done();
}
