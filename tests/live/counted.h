/* SPDX-License-Identifier: Apache-2.0 */
/* For live.sites: the counts of the preloaded counter (programs/counter.c) for one
 * process. */
#ifndef LIVE_COUNTED_H
#define LIVE_COUNTED_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "programs/counter.h"

struct counted {
	uint64_t allocations, allocated_bytes, frees;
};

/* Start the program with the counter and then `library` (NULL: none) preloaded. */
static inline struct live_process *counted_start(const char *library, const char *program)
{
	struct live_process *target;
	char *preload = NULL, *directory = live_path("");

	REQUIRE(asprintf(&preload, "%s%s%s", COUNTER_LIBRARY, library ? ":" : "",
			 library ? library : "") > 0);
	REQUIRE(!setenv(COUNTER_DIRECTORY, directory, 1));
	target = target_start_with(preload, program);
	REQUIRE(!unsetenv(COUNTER_DIRECTORY));
	free(directory);
	free(preload);
	return target;
}

/* What the counter has counted in the process so far. */
static inline struct counted counted_read(pid_t pid)
{
	struct counted ret = {0};
	struct counter_file counts;
	char name[32], *path;
	int fd;

	snprintf(name, sizeof(name), "%d.0", (int)pid);
	path = live_path(name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	REQUIRE(fd >= 0);
	REQUIRE(pread(fd, &counts, sizeof(counts), 0) == sizeof(counts));
	close(fd);
	REQUIRE(counts.magic == COUNTER_MAGIC);
	for (size_t i = 0; i < COUNTER_SHARDS; i++) {
		ret.allocations += counts.shards[i].allocations;
		ret.allocated_bytes += counts.shards[i].allocated_bytes;
		ret.frees += counts.shards[i].frees;
		CHECK_INT(counts.shards[i].overflow, 0);
		CHECK_INT(counts.shards[i].replaced, 0);
	}
	return ret;
}

/* The report must have the calls that the counter has counted since `before`. */
static inline void counted_check(const json_t *report, const struct counted *before,
				 pid_t pid)
{
	const struct counted now = counted_read(pid);
	const json_t *totals = live_get(report, "heap.totals");

	CHECK(now.allocations > before->allocations);
	CHECK_INT(live_int(totals, "allocations"), now.allocations - before->allocations);
	CHECK_INT(live_int(totals, "allocated_bytes"),
		  now.allocated_bytes - before->allocated_bytes);
	CHECK_INT(live_int(totals, "frees"), now.frees - before->frees);
	printf("     %" PRIu64 " calls and %" PRIu64 " frees: as the counter\n",
	       now.allocations - before->allocations, now.frees - before->frees);
}

/* Compare memtrace's counts with the counter's for `rounds` rounds of the program
 * (targets/allocators.c). The counter knows neither memtrace nor the program's counts.
 * `library` is the allocator's file. It is preloaded, too, unless it is libc. */
static inline void counted_run(const char *program, const char *library, unsigned rounds,
			       int blocks)
{
	bool is_libc = strstr(library, "/libc.so");
	struct live_process *target = counted_start(is_libc ? NULL : library, program);
	pid_t pid = live_pid(target);
	struct live_process *memtrace;
	struct counted before;
	char options[300];
	json_t *report;

	snprintf(options, sizeof(options), "--unwind fp --lib %s", library);
	memtrace = memtrace_start(pid, options);
	before = counted_read(pid);
	/* Functions that the counter has, too. */
	oracle_do(target, "only libcounter");
	/* jemalloc has no pvalloc(): the counter would call glibc's. */
	if (strstr(library, "jemalloc"))
		oracle_do(target, "without site_pvalloc");
	for (unsigned i = 0; i < rounds; i++) {
		oracle_do(target, "run %d", blocks);
		oracle_do(target, "release");
	}
	report = memtrace_stop(memtrace);
	counted_check(report, &before, pid);
	/* jemalloc's operators with an alignment call aligned_alloc() by the PLT, so the
	 * counter's: see docs/limitations.md. */
	CHECK_INT(compare_losses(report,
				 strstr(library, "jemalloc") ? "calls_abandoned" : NULL),
		  0);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	json_decref(report);
	live_destroy(target);
}

#endif
