// SPDX-License-Identifier: Apache-2.0
#include "target_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define START_TIMEOUT_S 30
#define PAIRS_TIMEOUT_S 120
#define FILL_TIMEOUT_S  600

static void await_target(struct target *target)
{
	char line[128];

	child_read_line(&target->child, START_TIMEOUT_S, line, sizeof(line));
	if (sscanf(line, "malloc %" SCNx64 " munmap %" SCNx64, &target->malloc_address,
		   &target->munmap_address) != 2)
		die("the target said \"%s\"", line);
}

static struct target start_program(const char *path)
{
	const char *const argv[] = {path, NULL};
	struct target target = {.child = child_start(argv)};

	await_target(&target);
	return target;
}

struct target target_start(void)
{
	return start_program(TARGET_BINARY);
}

struct target target_start_allocations(const char *preload)
{
	if (preload)
		setenv("LD_PRELOAD", preload, 1);

	struct target target = start_program(ALLOCATIONS_BINARY);

	unsetenv("LD_PRELOAD");
	return target;
}

void target_exec(struct target *target)
{
	child_send(&target->child, "exec");
	await_target(target);
}

void target_stop(struct target *target)
{
	child_kill(&target->child);
}

static double read_ns(struct target *target)
{
	char line[128];

	child_read_line(&target->child, PAIRS_TIMEOUT_S, line, sizeof(line));
	return strtod(line, NULL);
}

double target_pairs(struct target *target, unsigned long count, unsigned depth)
{
	child_send(&target->child, "pairs %lu %u", count, depth);
	return read_ns(target);
}

double target_walks(struct target *target, unsigned long count, unsigned depth)
{
	child_send(&target->child, "walks %lu %u", count, depth);
	return read_ns(target);
}

double target_bursts(struct target *target, unsigned long count, unsigned depth)
{
	child_send(&target->child, "bursts %lu %u", count, depth);
	return read_ns(target);
}

void target_fill(struct target *target, unsigned long count, unsigned stacks)
{
	char line[128];

	child_send(&target->child, "fill %lu %u", count, stacks);
	child_read_line(&target->child, FILL_TIMEOUT_S, line, sizeof(line));
}

double target_allocate(struct target *target, const char *operation, unsigned long count)
{
	child_send(&target->child, "%s %lu", operation, count);
	return read_ns(target);
}
