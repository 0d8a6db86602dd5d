/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a process, for unit and live tests. */
#ifndef TESTS_PROCESS_STATE_H
#define TESTS_PROCESS_STATE_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "check.h"

/* As in /proc/PID/stat: 'T' or 't' if it is stopped, 'D' if no signal reaches it. */
static inline char process_state(pid_t pid)
{
	char path[32], text[512], *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	REQUIRE(file && fgets(text, sizeof(text), file));
	fclose(file);
	end = strrchr(text, ')');
	REQUIRE(end && end[1]);
	return end[2];
}

/* A line of /proc/PID/limits, such as "Max file size". */
struct process_limit {
	char soft[64], hard[64];
};

static inline struct process_limit process_limit(pid_t pid, const char *name)
{
	struct process_limit limit = {"", ""};
	char path[32], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	file = fopen(path, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), " %63s %63s", limit.soft, limit.hard);
	fclose(file);
	return limit;
}

#endif
