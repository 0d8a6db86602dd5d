/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target that does the work named by argv[1] for each line on stdin and answers with
 * two lines. The first line is the same in each run. The second one has the counts that
 * memtrace should report: of blocks of COUNTED_SIZE bytes and more. No other block is
 * that large. For C and C++.
 */
#ifndef TARGETS_ANSWER_H
#define TARGETS_ANSWER_H

#include <stdio.h>
#include <stdlib.h>

#include "simple.h"

#define NOINLINE     __attribute__((noinline))
#define COUNTED_SIZE 20000

/* Atomic: several threads count. */
static struct {
	unsigned long allocations, frees;
	unsigned long bytes;    /* of all allocations */
	unsigned long failures; /* failed calls, and calls that ended with an exception */
	unsigned long left;     /* calls left by longjmp() */
	unsigned long unseen;   /* of these, those that did not reach their probe */
} truth;

#define COUNT(what) __atomic_fetch_add(&truth.what, 1, __ATOMIC_RELAXED)

static inline void count_allocation(size_t size)
{
	COUNT(allocations);
	__atomic_fetch_add(&truth.bytes, size, __ATOMIC_RELAXED);
}

/* `size`: as asked for, bytes. */
static inline void *counted(void *block, size_t size)
{
	if (block)
		count_allocation(size);
	else
		COUNT(failures);
	return block;
}

static inline void counted_free(void *block)
{
	if (!block)
		return;
	COUNT(frees);
	free(block);
}

/* Allocates enough small blocks that some are traced, even with sampling. */
static inline void allocate_small(void)
{
	for (int i = 0; i < 5000; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
}

struct work {
	const char *name;
	/* Writes the first line of the answer, without the newline. */
	void (*run)(char *line, size_t size);
};

static inline int answer(const struct work works[], int argc, char *argv[])
{
	char line[400], c;

	say("{\"ready\":\"target\"}\n");
	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c != '\n')
			continue;
		line[0] = '\0';
		allocate_small();
		for (const struct work *work = works; work->name; work++)
			if (argc == 2 && !strcmp(argv[1], work->name))
				work->run(line, sizeof(line));
		say(line);
		snprintf(line, sizeof(line),
			 "\n{\"allocations\":%lu,\"frees\":%lu,\"bytes\":%lu,"
			 "\"failures\":%lu,"
			 "\"left\":%lu,\"unseen\":%lu}\n",
			 truth.allocations, truth.frees, truth.bytes, truth.failures,
			 truth.left, truth.unseen);
		say(line);
	}
	return 0;
}

#endif
