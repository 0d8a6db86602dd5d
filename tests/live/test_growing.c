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

static struct live_process *start_many_paths(const char *threads)
{
	const char *const argv[] = {MANY_PATHS_BINARY, threads, NULL};
	struct live_process *target = live_start(argv);

	json_decref(live_read_json(target, TIMEOUT_S));
	return target;
}

/* Allocate on all call paths. Returns a report, owned. */
static json_t *go(struct live_process *target, struct live_process *memtrace)
{
	live_send(target, "go");
	json_decref(live_read_json(target, TIMEOUT_S));
	return memtrace_report(memtrace);
}

/* Each call path has been met `times` times. */
static void check_paths(json_t *report, int times)
{
	const json_t *rows = live_get(report, "heap.stacks");

	CHECK_INT(live_int(report, "heap.live_blocks"), times * PATHS);
	CHECK_INT(live_int(report, "heap.live_bytes"), times * PATHS * 32);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(live_int(report, "heap.stack_count"), PATHS);
	/* The largest of them, so that no two share a row. */
	CHECK_INT(live_int(json_array_get(rows, 0), "blocks"), times);
	json_decref(report);
}

#define FEW_ROWS "--older 0 --no-lines --top 3"

/* Call paths whose index needs its third part. Those that are met a second time are
 * found, whichever part they are in. */
static void every_call_path_is_there(void)
{
	struct live_process *target = start_many_paths(NULL);
	struct live_process *memtrace = memtrace_start(live_pid(target), FEW_ROWS);

	for (int round = 1; round <= 2; round++)
		check_paths(go(target, memtrace), round);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* Threads meet each call path at about the same time, while the index grows. */
static void every_call_path_of_threads_is_there(void)
{
	struct live_process *target = start_many_paths("4");
	struct live_process *memtrace = memtrace_start(live_pid(target), FEW_ROWS);

	check_paths(go(target, memtrace), 4);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* The least that --table-memory takes, and what it always has room for
 * (table_limits_of()). */
#define LEAST        "16M"
#define LEAST_MB     16.8
#define LEAST_BLOCKS (1 << 18)
#define LEAST_STACKS 20480
#define KEPT         400000

/* Tables with too little memory say what they have no room for, and take no more. */
static void tables_can_be_full(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--table-memory " LEAST);
	double mb, before_mb;
	json_t *report;
	int64_t listed, lost;

	(void)generations(memtrace, &before_mb);
	oracle_do(oracle, "run keep %d 4", KEPT);
	report = memtrace_report(memtrace);
	(void)generations(memtrace, &mb);
	listed = live_int(report, "heap.live_blocks");
	lost = live_int(report, "losses.blocks_full");
	printf("%d of %d blocks listed, %.1f MB more\n", (int)listed, KEPT,
	       mb - before_mb);
	CHECK_INT(listed + lost, KEPT);
	CHECK(listed >= LEAST_BLOCKS && lost > 0);
	CHECK(mb - before_mb <= LEAST_MB);
	CHECK_INT(compare_losses(report, "blocks_full"), 0);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

static void stacks_can_be_full(void)
{
	struct live_process *target = start_many_paths(NULL);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), FEW_ROWS " --table-memory " LEAST);
	json_t *report = go(target, memtrace);

	CHECK(live_int(report, "heap.stack_count") <= LEAST_STACKS + 1);
	CHECK(live_int(report, "losses.stacks_full") >= PATHS - LEAST_STACKS - 1);
	CHECK_INT(live_int(report, "heap.live_blocks"), PATHS);
	CHECK_INT(compare_losses(report, "stacks_full"), 0);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* With more memory, the same blocks are all there. */
static void tables_with_enough_memory(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--table-memory 32M");
	json_t *truth, *report;

	oracle_do(oracle, "run keep %d 4", KEPT);
	report = memtrace_report(memtrace);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(live_int(report, "heap.live_blocks"), KEPT);
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(truth);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

int main(void)
{
	RUN(a_small_target_is_cheap);
	RUN(every_block_is_there);
	RUN(every_call_path_is_there);
	RUN(every_call_path_of_threads_is_there);
	RUN(tables_can_be_full);
	RUN(stacks_can_be_full);
	RUN(tables_with_enough_memory);
	return check_done();
}
