// SPDX-License-Identifier: Apache-2.0
/*
 * Evaluates memtrace's JSON reports for scripts/programs, which prints a table.
 *
 *    verdict stacks REPORT        blocks live at the end whose stack is complete
 *    verdict losses REPORT        every loss counter that is not 0
 *    verdict exact REPORT COUNTS  compares the totals with the preloaded counter's files
 *                                 in the directory COUNTS
 *
 * Prints one line. Status 0: complete, no losses, exact; 1: not so; 2: wrong usage or
 * input; 3: no comparison is possible, and the line says why.
 */
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

enum {
	YES,
	NO,
	FAILED,
	NOT_COMPARED
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("verdict: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(FAILED);
}

/* The last report of the file, owned. It must be a final one. */
static json_t *read_report(const char *path)
{
	FILE *file = fopen(path, "re");
	json_t *last = NULL, *report;

	if (!file)
		fail("cannot read %s", path);
	while ((report = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_decref(last);
		last = report;
	}
	fclose(file);
	if (!last || !json_is_true(json_object_get(last, "final")))
		fail("%s has no final report", path);
	return last;
}

static json_t *get(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		fail("a report lacks \"%s\"", key);
	return value;
}

static int64_t get_int(const json_t *object, const char *key)
{
	return json_integer_value(get(object, key));
}

/* --- stacks and losses ------------------------------------------------------------ */

/* Rounded down: 100 means all. */
static void print_share(int64_t part, int64_t whole)
{
	int64_t hundredths = (int64_t)((double)part / (double)whole * 10000);

	if (part == whole)
		printf("all");
	else
		printf("%" PRId64 ".%02" PRId64 " %%", hundredths / 100,
		       hundredths % 100);
}

static int say_stacks(const json_t *report)
{
	json_t *heap = get(report, "heap"), *row;
	json_t *others = json_object(); /* blocks by the reason why their stack ends */
	int64_t blocks = 0, whole = 0, n;
	const char *end;
	size_t i;

	json_array_foreach (get(heap, "stacks"), i, row) {
		n = get_int(row, "blocks");
		/* A row without frames stands for stacks that were not kept. */
		end = json_array_size(get(row, "frames"))
			      ? json_string_value(get(row, "end"))
			      : "not kept";
		blocks += n;
		if (!strcmp(end, "complete")) {
			whole += n;
			continue;
		}
		n += json_integer_value(json_object_get(others, end));
		json_object_set_new(others, end, json_integer(n));
	}
	if (!blocks) {
		printf("no block live\n");
		json_decref(others);
		return NO;
	}
	if (blocks != get_int(heap, "live_blocks"))
		fail("the rows of a report are not all its blocks");
	print_share(whole, blocks);
	printf(" of %" PRId64, blocks);
	json_t *count;
	json_object_foreach(others, end, count)
		printf(", %s %" PRId64, end, (int64_t)json_integer_value(count));
	putchar('\n');
	json_decref(others);
	return whole == blocks ? YES : NO;
}

static int say_losses(const json_t *report)
{
	const char *name;
	json_t *count;
	bool any = false;

	json_object_foreach(get(report, "losses"), name, count)
	{
		if (!json_integer_value(count))
			continue;
		printf("%s%s %" PRId64, any ? ", " : "", name,
		       (int64_t)json_integer_value(count));
		any = true;
	}
	puts(any ? "" : "none");
	return any ? NO : YES;
}

/* --- counts ----------------------------------------------------------------------- */

struct sums {
	int64_t allocations, allocated_bytes, frees, freed_bytes;
	int64_t replaced, replaced_bytes;
	int64_t overflow;
	unsigned files;
};

static void add_file(const char *path, uint64_t pid, struct sums *sums)
{
	struct counter_file counts;
	FILE *file = fopen(path, "re");

	if (!file)
		fail("cannot read %s", path);
	bool whole = fread(&counts, sizeof(counts), 1, file) == 1;
	fclose(file);
	if (!whole || counts.magic != COUNTER_MAGIC)
		fail("%s is not from the counter", path);
	if (counts.pid != pid)
		return;
	sums->files++;
	for (size_t i = 0; i < COUNTER_SHARDS; i++) {
		const struct counter_shard *shard = &counts.shards[i];

		sums->allocations += (int64_t)shard->allocations;
		sums->allocated_bytes += (int64_t)shard->allocated_bytes;
		sums->frees += (int64_t)shard->frees;
		sums->freed_bytes += (int64_t)shard->freed_bytes;
		sums->replaced += (int64_t)shard->replaced;
		sums->replaced_bytes += (int64_t)shard->replaced_bytes;
		sums->overflow += (int64_t)shard->overflow;
	}
}

/* Adds the counts of every program that the process `pid` has executed. */
static void add_process(const char *directory, uint64_t pid, struct sums *sums)
{
	DIR *dir = opendir(directory);
	char path[4096];

	if (!dir)
		fail("cannot read %s", directory);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strtoull(entry->d_name, NULL, 10) != pid)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory,
				     entry->d_name) >= sizeof(path))
			fail("%s: name too long", directory);
		add_file(path, pid, sums);
	}
	closedir(dir);
}

/* Compares memtrace's count of `what` with the program's. Prints a difference and sets
 * *differs. */
static void compare(const char *what, int64_t traced, int64_t counted, bool *differs)
{
	if (traced == counted)
		return;
	printf("%s%s %" PRId64 " of %" PRId64, *differs ? ", " : "differs: ", what,
	       traced, counted);
	*differs = true;
}

static int not_compared(const char *why)
{
	printf("not compared: %s\n", why);
	return NOT_COMPARED;
}

static int say_exact(const json_t *report, const char *directory)
{
	json_t *totals = get(get(report, "heap"), "totals"), *target;
	int64_t allocations = get_int(totals, "allocations");
	struct sums sums = {0};
	bool differs = false;
	size_t i;

	json_array_foreach (get(report, "targets"), i, target)
		add_process(directory, (uint64_t)get_int(target, "pid"), &sums);
	if (!sums.files)
		return not_compared("the counter was not loaded");
	if (!sums.allocations)
		return not_compared("no call came to the counter");
	if (sums.overflow)
		return not_compared("the counter had no room for all blocks");

	/* Blocks that memtrace lists at the end, and blocks of processes that ended
	 * before. */
	int64_t live =
		get_int(get(report, "heap"), "live_blocks") + get_int(totals, "gone");
	int64_t live_bytes = get_int(get(report, "heap"), "live_bytes") +
			     get_int(totals, "gone_bytes");
	compare("allocations", allocations, sums.allocations, &differs);
	compare("allocated bytes", get_int(totals, "allocated_bytes"),
		sums.allocated_bytes, &differs);
	compare("frees", get_int(totals, "frees"), sums.frees, &differs);
	compare("freed bytes", get_int(totals, "freed_bytes"), sums.freed_bytes,
		&differs);
	compare("blocks live at the end", live,
		sums.allocations - sums.frees - sums.replaced, &differs);
	compare("bytes live at the end", live_bytes,
		sums.allocated_bytes - sums.freed_bytes - sums.replaced_bytes, &differs);
	if (!differs)
		printf("exact: %" PRId64 " allocations, %" PRId64 " bytes", allocations,
		       sums.allocated_bytes);
	putchar('\n');
	return differs ? NO : YES;
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc != 3 + !strcmp(argv[1], "exact"))
		fail("usage: verdict stacks|losses REPORT, or verdict exact REPORT "
		     "COUNTS");
	json_t *report = read_report(argv[2]);
	int status = FAILED;

	if (!strcmp(argv[1], "stacks"))
		status = say_stacks(report);
	else if (!strcmp(argv[1], "losses"))
		status = say_losses(report);
	else if (!strcmp(argv[1], "exact"))
		status = say_exact(report, argv[3]);
	json_decref(report);
	return status;
}
