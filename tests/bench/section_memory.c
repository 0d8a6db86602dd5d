// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "table.h"
#include "tool.h"

/* As many as memleak.py's table `allocs` has room for. */
#define BLOCKS   1000000

#define MAX_MAPS 64

/* What fdinfo shows of a map (kernel/bpf/syscall.c, bpf_map_show_fdinfo()). */
struct map {
	unsigned id, entries;
	double bytes; /* "memlock": kernel memory that the map uses */
	char name[BPF_OBJ_NAME_LEN];
};

struct maps {
	struct map map[MAX_MAPS];
	size_t count;
	double bytes; /* of all maps together */
};

static void name_map(struct map *map)
{
	struct bpf_map_info info = {0};
	__u32 length = sizeof(info);
	int fd = bpf_map_get_fd_by_id(map->id);

	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length))
		snprintf(map->name, sizeof(map->name), "%s", info.name);
	else
		snprintf(map->name, sizeof(map->name), "?");
	if (fd >= 0)
		close(fd);
}

static void add_map(struct maps *maps, const char *path)
{
	FILE *file = fopen(path, "re");
	struct map map = {0};
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "map_id: %u", &map.id);
		sscanf(line, "max_entries: %u", &map.entries);
		sscanf(line, "memlock: %lf", &map.bytes);
	}
	fclose(file);
	/* Programs have "memlock" too (but no map_id). Several descriptors may refer to
	 * one map. */
	for (size_t i = 0; map.id && i < maps->count; i++)
		if (maps->map[i].id == map.id)
			return;
	if (!map.id || maps->count == MAX_MAPS)
		return;
	name_map(&map);
	maps->map[maps->count++] = map;
	maps->bytes += map.bytes;
}

static struct maps maps_of(const struct child *child)
{
	struct maps maps = {.count = 0};
	char dir_path[64], path[384];
	struct dirent *entry;

	snprintf(dir_path, sizeof(dir_path), "/proc/%d/fdinfo", (int)child->pid);
	DIR *dir = opendir(dir_path);
	if (!dir)
		die("cannot read %s: %s", dir_path, strerror(errno));
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		add_map(&maps, path);
	}
	closedir(dir);
	return maps;
}

static const char *const json[] = {"--format", "json", "--top", "0", NULL},
			 *const no_options[] = {NULL},
			 *const frame_pointers[] = {"--unwind", "fp", NULL};

#define HOURLY           3600
#define AGE_MS           1000 /* memtrace does not list blocks younger than 500 ms */
#define REPORT_TIMEOUT_S 60
#define QUIET_MS         500

/* The blocks that memtrace's report has. */
static double reported_blocks(struct tracing *tracing)
{
	sleep_ms(AGE_MS);
	kill(tracing->child.pid, SIGUSR1);

	struct text text = child_read_burst(&tracing->child, REPORT_TIMEOUT_S, QUIET_MS);
	double blocks = text_sum_between(text.data, "\"blocks\":", ",\"growth_bytes\"");

	text_deinit(&text);
	return blocks;
}

/* The entries of the map with this name. Its keys are addresses. */
static double count_entries(const struct maps *maps, const char *name)
{
	double count = 0;

	for (size_t i = 0; i < maps->count; i++) {
		uint64_t key, next;
		void *from = NULL;
		int fd;

		if (strcmp(maps->map[i].name, name))
			continue;
		fd = bpf_map_get_fd_by_id(maps->map[i].id);
		for (; fd >= 0 && !bpf_map_get_next_key(fd, from, &next); from = &key) {
			key = next;
			count++;
		}
		if (fd >= 0)
			close(fd);
	}
	return count;
}

/* What a tracer has while the target has some blocks from 1,000 call paths. */
struct hold {
	struct maps maps;
	double blocks; /* that it knows */
};

static struct hold measure_with(enum tool tool, const char *const options[],
				unsigned long blocks)
{
	/* memleak's table of blocks and the script's */
	static const char *const tables[TOOLS] = {
		[TOOL_MEMLEAK] = "allocs", [TOOL_BPFTRACE] = "AT_bytes"};
	struct target target = target_start();
	struct tracing tracing = tool_start_reporting(tool, &target, options, HOURLY);
	struct hold hold;

	if (blocks)
		target_fill(&target, blocks, 1000);
	hold.maps = maps_of(&tracing.child);
	if (tables[tool])
		hold.blocks = count_entries(&hold.maps, tables[tool]);
	else
		hold.blocks = options == json ? reported_blocks(&tracing) : NAN;
	/* With SIGINT it may write a last report that nothing reads. */
	child_kill(&tracing.child);
	target_stop(&target);
	return hold;
}

/* Can it start with room for so many blocks? Otherwise prints why not. */
static bool can_hold(enum tool tool, unsigned long blocks)
{
	unsigned long keys = blocks + blocks / 20;
	char why[256];

	if (tool != TOOL_BPFTRACE || keys <= TOOL_BPFTRACE_KEYS)
		return true;
	tool_set_bpftrace_keys(keys);

	struct target target = target_start();
	bool ok = tool_can_trace(tool, &target, no_options, why, sizeof(why));

	if (!ok)
		printf("does not start with %lu keys: %s\n", keys, why);
	target_stop(&target);
	return ok;
}

static const unsigned long block_counts[] = {0, 1000, 100000, BLOCKS, 4 * BLOCKS};

static void print_hold(enum tool tool, unsigned long blocks, bool can_run)
{
	printf("%-14s %12lu ", tool_name(tool), blocks);
	if (!can_run) {
		printf("%12s\n", "not available");
		return;
	}
	fflush(stdout);
	if (!can_hold(tool, blocks))
		return;

	struct hold hold =
		measure_with(tool, tool == TOOL_MEMTRACE ? json : no_options, blocks);

	printf("%12.1f %12.0f\n", hold.maps.bytes / 1e6, hold.blocks);
	fflush(stdout);
}

static void print_growth(const struct peers *peers)
{
	printf("\nKernel memory by the number of blocks, and how many of them the tool "
	       "has afterwards\n%-14s %12s %12s %12s\n",
	       "", "blocks", "MB", "known");
	for (size_t i = 0; i < sizeof(block_counts) / sizeof(*block_counts); i++) {
		print_hold(TOOL_MEMTRACE, block_counts[i], true);
		print_hold(TOOL_MEMLEAK, block_counts[i], peers->has[TOOL_MEMLEAK]);
		print_hold(TOOL_BPFTRACE, block_counts[i], peers->has[TOOL_BPFTRACE]);
	}
	tool_set_bpftrace_keys(TOOL_BPFTRACE_KEYS);
}

static int by_bytes(const void *pa, const void *pb)
{
	const struct map *a = pa, *b = pb;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static void print_maps(const char *tool, struct maps *maps, double blocks)
{
	printf("\nMaps of %s\n%-20s %12s %12s %14s %14s\n", tool, "", "entries", "KiB",
	       "B/block", "half as many");
	qsort(maps->map, maps->count, sizeof(*maps->map), by_bytes);
	for (size_t i = 0; i < maps->count; i++) {
		const struct map *m = &maps->map[i];

		printf("%-20s %12u %12.0f %14.2f %14.2f\n", m->name, m->entries,
		       m->bytes / 1024, m->bytes / blocks, 2 * m->bytes / blocks);
	}
}

static double bytes_of_block_tables(const struct maps *maps)
{
	double bytes = 0;

	for (size_t i = 0; i < maps->count; i++)
		if (!strncmp(maps->map[i].name, "live", 4))
			bytes += maps->map[i].bytes;
	return bytes;
}

void section_memory(const struct peers *peers)
{
	static const char slot[] = "one slot of the table of blocks";
	static struct maps few[TOOLS];
	const double slot_bytes = sizeof(struct abi_live_bucket) / (double)ABI_LIVE_WAYS;
	const struct maps fp = measure_with(TOOL_MEMTRACE, frame_pointers, 0).maps,
			  full = measure_with(TOOL_MEMTRACE, no_options, BLOCKS).maps;
	double mb[TOOLS];

	for (unsigned tool = 0; tool < TOOLS; tool++) {
		mb[tool] = NAN;
		if (tool != TOOL_MEMTRACE && !peers->has[tool])
			continue;
		few[tool] = measure_with(tool, no_options, 0).maps;
		mb[tool] = few[tool].bytes / 1e6;
	}

	/* The tables of the others do not grow. */
	const double memleak = mb[TOOL_MEMLEAK], bpftrace = mb[TOOL_BPFTRACE];
	const struct tools_row rows[] = {
		{"all maps, MB", {mb[TOOL_MEMTRACE], NAN, memleak, bpftrace}, NAN, NULL},
		{"  the same with --unwind fp, MB",
		 {fp.bytes / 1e6, NAN, memleak, bpftrace},
		 NAN,
		 NULL},
		{"B per block, a million blocks",
		 {full.bytes / BLOCKS, NAN, memleak * 1e6 / BLOCKS,
		  bpftrace * 1e6 / BLOCKS},
		 slot_bytes,
		 slot},
		{"  of it tables of blocks",
		 {bytes_of_block_tables(&full) / BLOCKS, NAN, NAN, NAN},
		 slot_bytes,
		 slot},
	};

	table_tools_head("Kernel memory of a target with few blocks, and with 1,000,000");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_tools_row(&rows[i], peers);
	print_growth(peers);
	for (unsigned tool = 0; tool < TOOLS; tool++)
		if (few[tool].count)
			print_maps(tool_name(tool), &few[tool], BLOCKS);
}
