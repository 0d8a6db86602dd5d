// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
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

/* While the target has `blocks` blocks from 1,000 call paths. */
static struct maps measure_with(enum tool tool, const char *const options[],
				unsigned long blocks)
{
	struct target target = target_start();
	struct tracing tracing = tool_start(tool, &target, options);

	if (blocks)
		target_fill(&target, blocks, 1000);

	struct maps maps = maps_of(&tracing.child);

	tool_stop(&tracing, NULL);
	target_stop(&target);
	return maps;
}

static const char *const no_options[] = {NULL}, *const frame_pointers[] = {"--unwind",
									   "fp", NULL};

static void print_growth(void)
{
	static const unsigned long cases[] = {0, 1000, 100000, 1000000, 4000000};

	printf("\nKernel memory of memtrace by the number of blocks\n%12s %12s\n",
	       "blocks", "MB");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		printf("%12lu %12.1f\n", cases[i],
		       measure_with(TOOL_MEMTRACE, no_options, cases[i]).bytes / 1e6);
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

void section_memory(bool has_peer)
{
	static const char slot[] = "one slot of the table of blocks";
	const double slot_bytes = sizeof(struct abi_live_bucket) / (double)ABI_LIVE_WAYS;
	struct maps m = measure_with(TOOL_MEMTRACE, no_options, 0),
		    fp = measure_with(TOOL_MEMTRACE, frame_pointers, 0),
		    full = measure_with(TOOL_MEMTRACE, no_options, BLOCKS),
		    p = {.bytes = NAN};

	if (has_peer)
		p = measure_with(TOOL_MEMLEAK, no_options, 0);

	const struct row rows[] = {
		{"all maps, MB", m.bytes / 1e6, NAN, p.bytes / 1e6, NULL},
		{"  the same with --unwind fp, MB", fp.bytes / 1e6, NAN, p.bytes / 1e6,
		 NULL},
		{"  the same with a million blocks, MB", full.bytes / 1e6, NAN,
		 p.bytes / 1e6, NULL},
		{"B per block, a million blocks", full.bytes / BLOCKS, slot_bytes,
		 p.bytes / BLOCKS, slot},
		{"  of it tables of blocks", bytes_of_block_tables(&full) / BLOCKS,
		 slot_bytes, NAN, slot},
	};

	table_head("Kernel memory of a target with few blocks, and with 1,000,000");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_row(&rows[i], has_peer);
	print_growth();
	print_maps("memtrace", &m, BLOCKS);
	if (has_peer)
		print_maps("memleak-bpfcc", &p, BLOCKS);
}
