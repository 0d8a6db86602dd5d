// SPDX-License-Identifier: Apache-2.0
#include "probes/stress/tables.h"

#include <errno.h>
#include <string.h>

#include <linux/bpf.h>
#include <sys/mman.h>
#include <time.h>

#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "check.h"
#include "probes/stress/programs.h"

/* --- bpf(2) on the stand-in: in place of bpf/syscall.c -------------------------------
 */

static int next_key(struct host_map *map, const void *key, void *ret)
{
	const void *first;

	if (key || !host_map_next(map, NULL, &first))
		return -ENOENT;
	memcpy(ret, first, map->key_bytes);
	return 0;
}

/* While memtrace reads, other threads may run. */
static void pause_reading(void)
{
	if (tables_pause)
		tables_pause();
}

int sys_bpf_element(int command, int fd, const void *key, void *value)
{
	struct host_map *map = host_map_of(fd);
	void *found;

	REQUIRE(map);
	/* The thread that enlarges the table does not read. */
	if (map->kind == HOST_ARRAY_OF_MAPS && command == BPF_MAP_UPDATE_ELEM) {
		host_map_put(map, *(const uint32_t *)key, *(const int *)value);
		return 0;
	}
	pause_reading();
	switch (command) {
	case BPF_MAP_GET_NEXT_KEY:
		return next_key(map, key, value);
	case BPF_MAP_DELETE_ELEM:
		return host_map_delete(map, key);
	case BPF_MAP_UPDATE_ELEM:
		return host_map_update(map, key, value, BPF_ANY);
	case BPF_MAP_LOOKUP_ELEM:
		found = host_map_lookup(map, key);
		if (!found)
			return -ENOENT;
		memcpy(value, found, map->value_bytes);
		return 0;
	default:
		return -EINVAL;
	}
}

int sys_bpf_insert(int fd, const void *key, const void *value)
{
	return host_map_update(host_map_of(fd), key, value, BPF_NOEXIST);
}

/* Only for rings, which these tests do not have. */
int sys_bpf_info(int fd, void *info, uint32_t size)
{
	(void)fd;
	(void)info;
	(void)size;
	return -EINVAL;
}

/* All elements at one moment. */
static int lookup_batch(union bpf_attr *attr)
{
	struct host_map *map = host_map_of((int)attr->batch.map_fd);
	char *keys = (void *)(uintptr_t)attr->batch.keys;
	char *values = (void *)(uintptr_t)attr->batch.values;
	const void *key;
	uint32_t n = 0;

	if (host_map_used(map) > attr->batch.count)
		return -ENOSPC;
	for (void *value = NULL; (value = host_map_next(map, value, &key)); n++) {
		memcpy(keys + n * map->key_bytes, key, map->key_bytes);
		memcpy(values + n * map->value_bytes, value, map->value_bytes);
	}
	attr->batch.count = n;
	return -ENOENT;
}

/* Parts of an array of maps. */
static void put_batch(const union bpf_attr *attr)
{
	const uint32_t *keys = (void *)(uintptr_t)attr->batch.keys;
	const uint32_t *fds = (void *)(uintptr_t)attr->batch.values;

	for (uint32_t i = 0; i < attr->batch.count; i++)
		host_map_put(host_map_of((int)attr->batch.map_fd), keys[i], (int)fds[i]);
}

int sys_bpf(int command, void *attr, uint32_t size)
{
	const union bpf_attr *map = attr;

	(void)size;
	if (command == BPF_MAP_CREATE) {
		REQUIRE(map->map_type == BPF_MAP_TYPE_ARRAY);
		return host_map_create("part", map->value_size, map->max_entries);
	}
	if (command == BPF_MAP_UPDATE_BATCH) {
		put_batch(map);
		return 0;
	}
	pause_reading();
	return command == BPF_MAP_LOOKUP_BATCH ? lookup_batch(attr) : -EINVAL;
}

/* --- in place of bpf/mapped.c ---------------------------------------------------------
 */

/* Pauses in a walk, at most, and elements between two pauses, at least. */
#define PAUSES_MAX  300
#define AT_ONCE_MIN 3

static struct error *walk(int fd, uint32_t begin, uint32_t count, uint32_t element_bytes,
			  mapped_fn fn, void *arg)
{
	const struct host_map *map = host_map_of(fd);
	char *array = host_map_array(map);

	REQUIRE(host_map_stride(map) == element_bytes && begin + count <= map->count);
	for (uint32_t first = begin, n; first < begin + count; first += n) {
		n = count / PAUSES_MAX + AT_ONCE_MIN;
		if (n > begin + count - first)
			n = begin + count - first;
		if (!fn(array + (size_t)first * element_bytes, first, n, arg))
			return error_no_memory();
		pause_reading();
	}
	return NULL;
}

struct error *mapped_walk(int fd, uint32_t count, uint32_t element_bytes, mapped_fn fn,
			  void *arg)
{
	return walk(fd, 0, count, element_bytes, fn, arg);
}

struct error *mapped_walk_writable(int fd, uint32_t count, uint32_t element_bytes,
				   mapped_fn fn, void *arg)
{
	return walk(fd, 0, count, element_bytes, fn, arg);
}

/* The journal: cleared before a reading, and applied after it. */
struct error *mapped_walk_part(int fd, uint32_t begin, uint32_t count,
			       uint32_t element_bytes, mapped_fn fn, void *arg)
{
	if (tables_applied)
		tables_applied();
	return walk(fd, begin, count, element_bytes, fn, arg);
}

void *mapped_open(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void mapped_close(void *mapped, size_t bytes)
{
	if (mapped)
		munmap(mapped, bytes);
}

/* Used only where memtrace waits for a program. */
int nanosleep(const struct timespec *duration, struct timespec *rest)
{
	(void)duration;
	(void)rest;
	pause_reading();
	return 0;
}

/* --- fences: in place of bpf/fence.c -------------------------------------------------
 */

void (*tables_pause)(void);
void (*tables_fence)(void);
void (*tables_applied)(void);

void fence_open(struct fence *ret)
{
	*ret = (struct fence){.outer = 0};
}

void fence_close(struct fence *fence)
{
	(void)fence;
}

bool fence_wait(const struct fence *fence)
{
	(void)fence;
	if (tables_fence)
		tables_fence();
	return true;
}

void fence_begin(struct fence *fence)
{
	fence->has_thread = true;
}

bool fence_end(struct fence *fence)
{
	if (fence->has_thread)
		fence_wait(fence);
	fence->has_thread = false;
	return true;
}

/* --- the maps ------------------------------------------------------------------------
 */

static int fd_of(const char *name)
{
	const struct host_map *map = host_map_find(name);

	return map ? map->fd : -1;
}

static struct live_table live;
static struct stack_tables stacks;
static struct journal_table journal = {.outer = -1};
static struct source_sizes sizes_now;
static pthread_mutex_t grow_lock = PTHREAD_MUTEX_INITIALIZER;

struct live_table *tables_live(void)
{
	return live.control ? &live : NULL;
}

struct journal_table *tables_journal(void)
{
	return journal.outer < 0 ? NULL : &journal;
}

struct stack_tables *tables_stacks(void)
{
	return &stacks;
}

static void put_all(struct part_table *table)
{
	part_table_put(&(struct new_parts){table, 0, table->known});
}

void tables_begin(void)
{
	const struct stack_maps maps = {fd_of("stacks"),      fd_of("stacks_part"),
					fd_of("stack_pcs"),   fd_of("stack_pcs_part"),
					fd_of("stack_index"), fd_of("stack_index_part")};
	struct abi_control *control = host_map_array(host_map_find("control"));
	struct variant variant;

	REQUIRE(variant_init(host_programs.variant, &variant));
	source_sizes_compute(&variant.run, &sizes_now);
	stack_tables_open(&stacks, &maps, &sizes_now, control, variant.run.no_atomics);
	put_all(&stacks.heads);
	put_all(&stacks.pcs);
	put_all(&stacks.index);
	if (!host_map_find("live"))
		return;
	REQUIRE(!live_table_open(fd_of("live"), fd_of("live_part"), &sizes_now, control,
				 &live));
	REQUIRE(!journal_table_open(&journal, fd_of("journal"), fd_of("journal_part"),
				    sizes_now.journal_entries));
	for (uint32_t half = 0; half < 2; half++)
		REQUIRE(!journal_table_put(&journal, half));
}

void tables_end(void)
{
	live_table_close(&live);
	stack_tables_close(&stacks);
	journal_table_close(&journal);
}

void tables_grow(void)
{
	struct new_parts parts[STACK_TABLES];

	if (pthread_mutex_trylock(&grow_lock))
		return;
	REQUIRE(!stack_tables_create(&stacks, parts));
	for (int i = 0; i < STACK_TABLES; i++)
		part_table_put(&parts[i]);
	if (live.control && live_table_wants_more(&live))
		REQUIRE(!live_table_grow(&live));
	pthread_mutex_unlock(&grow_lock);
}

static size_t counters_bytes(const struct tables *t)
{
	return t->sizes.cpu_slots * sizeof(struct abi_counters);
}

/* What memtrace patches into the programs of this variant. */
static void set_values(const struct trace_config *config)
{
	host_run_values[ABI_RUN_MIN_SIZE] = config->min_size_bytes;
	host_run_values[ABI_RUN_MAX_SIZE] = config->max_size_bytes;
	if (config->sampling.every > 1)
		host_run_values[ABI_RUN_SAMPLE_THRESHOLD] =
			sampling_factor_threshold(&config->sampling);
}

void tables_open(struct tables *t)
{
	memset(t, 0, sizeof(*t));
	REQUIRE(variant_init(host_programs.variant, &t->variant));
	set_values(&t->variant.config);
	source_sizes_compute(&t->variant.run, &t->sizes);
	fence_open(&t->fence);
	t->maps = (struct drain_maps){
		.control = fd_of("control"),
		.processes = fd_of("processes"),
		.counters = mapped_open(fd_of("counters"), counters_bytes(t)),
		.live = tables_live(),
		.live_spill = fd_of("live_spill"),
		.journal_ring = tables_journal() ? -1 : fd_of("journal"),
		.journal = tables_journal(),
		.pending = fd_of("pending"),
		.pending_spill = fd_of("pending_spill"),
		.stacks = &stacks,
		.fence = &t->fence,
	};
	t->has_traffic = t->variant.run.traffic;
	t->traffic_maps = (struct traffic_maps){
		.traffic = fd_of("traffic"),
		.estimates = fd_of("traffic_estimates"),
		.threads = fd_of("threads"),
		.all = fd_of("traffic_all"),
		.process_live = fd_of("process_live"),
		.sizes = fd_of("sizes"),
		.late_numbers = -1,
		.heap_peak = fd_of("heap_peak"),
		.path_peaks = fd_of("path_peaks"),
	};
	if (t->has_traffic)
		REQUIRE(!traffic_tables_open(&t->traffic_maps, &t->sizes,
					     t->variant.config.sampling.mean_bytes,
					     &t->traffic));
}

void tables_close(struct tables *t)
{
	if (t->has_traffic)
		traffic_tables_close(&t->traffic);
	mapped_close(t->maps.counters, counters_bytes(t));
}
