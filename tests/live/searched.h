/* SPDX-License-Identifier: Apache-2.0 */
/* Start a program that has lost some of its blocks (targets/holder.c), and read what a
 * search finds. */
#ifndef LIVE_SEARCHED_H
#define LIVE_SEARCHED_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "live/trace.h"
#include "util/cleanup.h"

/* Start it, trace it with these options, and let it lose them. */
static inline struct live_process *searched_start(const char *options,
						  struct live_process **target)
{
	struct live_process *memtrace;

	*target = target_start(HOLDER_BINARY);
	memtrace = memtrace_start(live_pid(*target), options);
	oracle_do(*target, "make");
	return memtrace;
}

/* Start `binary` (`argument`: NULL, or its only one) under memtrace with
 * --unreachable-strict, and wait until it is ready. memtrace writes its reports to the
 * file `path`, and passes commands to the program. The caller owns the result. */
static inline struct live_process *start_strictly(const char *binary,
						  const char *argument, const char *path)
{
	const char *const argv[] = {memtrace_path,
				    "--unreachable",
				    "--unreachable-strict",
				    "--format",
				    "json",
				    "--top",
				    "0",
				    "--older",
				    "0",
				    "-i",
				    "3600",
				    "-o",
				    path,
				    "--",
				    binary,
				    argument,
				    NULL};
	struct live_process *memtrace;

	unlink(path);
	memtrace = live_start(argv);

	_cleanup_(freep) char *ready = live_read_line(memtrace, 60);

	REQUIRE(ready);
	return memtrace;
}

/* Trace `binary` by start_strictly(), make it lose its blocks, and search for them. The
 * report goes to a file named `name`. *ret_memtrace continues to run. The caller owns
 * both results. */
static inline json_t *searched_strictly(const char *binary, const char *name,
					struct live_process **ret_memtrace)
{
	_cleanup_(freep) char *path = live_path(name);
	json_t *report;

	*ret_memtrace = start_strictly(binary, NULL, path);
	oracle_do(*ret_memtrace, "make");
	live_signal(*ret_memtrace, SIGUSR1);
	for (int i = 0; !(report = json_load_file(path, 0, NULL)) && i < 600; i++)
		live_sleep(0.1);
	REQUIRE(report);
	return report;
}

/* The sum of `key` over the rows of a site (`is_of_search`: of their verdicts): a site
 * may be called from several places. -1: it has no row. */
static inline int64_t searched_sum(const json_t *report, const char *site,
				   bool is_of_search, const char *key)
{
	const json_t *stacks = live_get(report, "heap.stacks"), *row;
	int64_t sum = 0;
	bool is_there = false;
	size_t i;

	json_array_foreach (stacks, i, row) {
		const char *name = row_site(row);
		const json_t *of =
			is_of_search ? json_object_get(row, "unreachable") : row;

		if (!name || strcmp(name, site) != 0)
			continue;
		is_there = true;
		sum += json_integer_value(json_object_get(of, key));
	}
	return is_there ? sum : -1;
}

#endif
