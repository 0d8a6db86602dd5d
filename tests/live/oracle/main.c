/* SPDX-License-Identifier: Apache-2.0 */
/* The command loop. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

struct scenario {
	const char *name;
	/* One of the two is NULL. */
	void (*on_each)(unsigned thread, size_t blocks);
	void (*on_main)(size_t blocks, unsigned threads);
};

static const struct scenario scenarios[] = {
	{.name = "mixed", .on_each = scenario_mixed},
	{.name = "keep", .on_each = scenario_keep},
	{.name = "failures", .on_each = scenario_failures},
	{.name = "before", .on_main = scenario_before},
	{.name = "handover", .on_main = scenario_handover},
	{.name = "short_threads", .on_main = scenario_short_threads},
	{.name = "death", .on_main = scenario_death},
	{.name = "tid_reuse", .on_main = scenario_tid_reuse},
	{.name = "longjmp", .on_each = scenario_longjmp},
	{.name = "huge", .on_main = scenario_huge},
	{.name = "paths", .on_each = scenario_paths},
	{.name = "alternate", .on_each = scenario_alternate},
	{.name = "names", .on_each = scenario_names},
	{.name = "fork", .on_main = scenario_fork},
	{.name = "mappings", .on_each = scenario_mappings},
};

/* Frees all blocks that the threads of the pool keep, each on another thread than the one
 * that keeps it. */
static void release(unsigned threads)
{
	if (threads > 1)
		pool_run(scenario_release, POOL_SIZE, 0);
	else
		for (unsigned t = 0; t < POOL_SIZE; t++)
			scenario_release(t, 0);
}

static void run(const char *name, size_t blocks, unsigned threads)
{
	if (!threads || threads > POOL_SIZE) {
		truth_reply("error", "threads out of range");
		return;
	}
	if (!strcmp(name, "release")) {
		release(threads);
		truth_reply("done", name);
		return;
	}
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, name) != 0)
			continue;
		if (scenarios[i].on_each)
			pool_run(scenarios[i].on_each, threads,
				 (blocks + threads - 1) / threads);
		else
			scenarios[i].on_main(blocks, threads);
		truth_reply("done", scenarios[i].name);
		return;
	}
	truth_reply("error", "unknown scenario");
}

/* Reads one line into `line`, without its newline. False at the end of the input. */
static bool read_line(char *line, size_t size)
{
	for (size_t n = 0; n < size; n++) {
		if (read(STDIN_FILENO, &line[n], 1) != 1)
			return false;
		if (line[n] == '\n') {
			line[n] = '\0';
			return true;
		}
	}
	die("a command is too long");
}

/* Splits a line into words, in place. Missing words are "". */
static void split(char *line, char *words[4])
{
	char *save = NULL;

	for (unsigned i = 0; i < 4; i++) {
		words[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!words[i])
			words[i] = line + strlen(line);
	}
}

int main(void)
{
	static char line[256];
	char *words[4];

	faults_install();
	pool_start();
	truth_reply("ready", "oracle");
	while (read_line(line, sizeof(line))) {
		split(line, words);
		if (!strcmp(words[0], "run")) {
			run(words[1], strtoull(words[2], NULL, 10),
			    (unsigned)strtoul(words[3], NULL, 10));
		} else if (!strcmp(words[0], "before")) {
			before_blocks(strtoull(words[1], NULL, 10));
			truth_reply("done", "before");
		} else if (!strcmp(words[0], "churn")) {
			churn(strtoull(words[1], NULL, 10),
			      (unsigned)strtoul(words[2], NULL, 10));
			truth_reply("done", "churn");
		} else if (!strcmp(words[0], "truth")) {
			mappings_count();
			truth_print();
		} else if (!strcmp(words[0], "quit")) {
			return 0;
		} else {
			truth_reply("error", "unknown command");
		}
	}
	return 0;
}
