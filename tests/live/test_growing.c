// SPDX-License-Identifier: Apache-2.0
/* The tables of live blocks and of stacks have the size that the target needs, and grow
 * without a loss, also while snapshots are taken. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "check.h"
#include "live/trace.h"

/* Kernel memory of memtrace's maps with a small target. */
#define SMALL_MB       16
#define SMALL_WITHIN_S 30

/* What fdinfo shows of a map (bpf_map_show_fdinfo(), kernel/bpf/syscall.c of Linux). */
struct map {
	unsigned id, value_bytes, flags;
	double bytes;
};

static bool read_map(const char *path, struct map *ret)
{
	FILE *file = fopen(path, "re");
	char line[256];

	*ret = (struct map){0};
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "map_id: %u", &ret->id);
		sscanf(line, "value_size: %u", &ret->value_bytes);
		sscanf(line, "map_flags: %x", &ret->flags);
		sscanf(line, "memlock: %lf", &ret->bytes);
	}
	if (file)
		fclose(file);
	return ret->id;
}

/* BPF_F_INNER_MAP: a map in an array of maps (include/uapi/linux/bpf.h). */
#define IS_INNER (1u << 12)

/* The kernel memory of all maps of the process, in MB, and the number of generations of
 * the table of live blocks. */
static double megabytes_of_maps(pid_t pid, unsigned *count)
{
	char dir_path[64], path[384];
	unsigned seen[256], seen_count = 0;
	struct dirent *entry;
	double bytes = 0;
	DIR *dir;

	*count = 0;
	snprintf(dir_path, sizeof(dir_path), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(dir_path);
	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		struct map map;
		bool is_seen = false;

		snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		if (!read_map(path, &map))
			continue;
		/* Several descriptors may refer to one map. */
		for (unsigned i = 0; i < seen_count; i++)
			is_seen |= seen[i] == map.id;
		if (is_seen)
			continue;
		REQUIRE(seen_count < sizeof(seen) / sizeof(*seen));
		seen[seen_count++] = map.id;
		bytes += map.bytes;
		*count += map.value_bytes == sizeof(struct abi_live_bucket) &&
			  map.flags & IS_INNER;
	}
	closedir(dir);
	return bytes / 1e6;
}

static unsigned generations(const struct live_process *memtrace, double *mb)
{
	unsigned count;

	*mb = megabytes_of_maps(live_pid(memtrace), &count);
	return count;
}

static void a_small_target_is_cheap(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");
	double mb, first_mb;
	int seconds = 0;

	oracle_do(oracle, "run keep 1000 1");
	json_decref(memtrace_report(memtrace));
	CHECK_INT(generations(memtrace, &first_mb), 1);
	/* Until there were no more unwind misses for a while, their ring is large. */
	do {
		sleep(1);
		(void)generations(memtrace, &mb);
	} while (mb > SMALL_MB && ++seconds < SMALL_WITHIN_S);
	printf("%.1f MB of kernel memory, %.1f after %d s\n", first_mb, mb, seconds + 1);
	CHECK(mb <= SMALL_MB);
	/* The small ring is in use. */
	oracle_do(oracle, "run mixed 1000 1");
	json_decref(memtrace_report(memtrace));
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

/* Eight threads enlarge the table several times, while a report is made each second. */
static void every_block_is_there(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "-i 1");
	unsigned during = 0;
	json_t *truth, *report;
	double mb;

	oracle_do(oracle, "run mixed 400000 8");
	live_signal(memtrace, SIGUSR1);
	report = memtrace_report_of(memtrace, "demand", &during);
	truth = oracle_ask(oracle, "truth");
	printf("%u generations, %u reports meanwhile\n", generations(memtrace, &mb),
	       during);
	CHECK(generations(memtrace, &mb) >= 3 && during > 0);
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	/* Each of the reports was consistent. */
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	json_decref(truth);

	/* Blocks are found in all generations. */
	oracle_do(oracle, "run release 1 8");
	live_signal(memtrace, SIGINT);
	report = memtrace_report_of(memtrace, "stopped", &during);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	json_decref(truth);
	live_destroy(memtrace);
	live_destroy(oracle);
}

#define PATHS     (1 << 18) /* as in targets/many_paths.c */
#define TIMEOUT_S 120

/* Call paths whose index needs its third part. Those that are met a second time are
 * found, whichever part they are in. */
static void every_call_path_is_there(void)
{
	static const char *const argv[] = {MANY_PATHS_BINARY, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	memtrace = memtrace_start(live_pid(target), "--older 0 --no-lines --top 3");
	for (int round = 1; round <= 2; round++) {
		live_send(target, "go");
		json_decref(live_read_json(target, TIMEOUT_S));
		report = memtrace_report(memtrace);
		CHECK_INT(live_int(report, "heap.live_blocks"), round * PATHS);
		CHECK_INT(live_int(report, "heap.live_bytes"), round * PATHS * 32);
		CHECK_INT(compare_losses(report, NULL), 0);
		CHECK_INT(live_int(report, "heap.stack_count"), PATHS);
		/* The largest of them, so that no two share a row. */
		CHECK_INT(live_int(json_array_get(live_get(report, "heap.stacks"), 0),
				   "blocks"),
			  round);
		json_decref(report);
	}
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

int main(void)
{
	RUN(a_small_target_is_cheap);
	RUN(every_block_is_there);
	RUN(every_call_path_is_there);
	return check_done();
}
