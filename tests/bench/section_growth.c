// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"
#include "tool.h"

#define ROUNDS 6
#define PAIRS  30
#define COUNT  100000 /* some 10 ms */
#define WARM   1000000

#define PAGES  5000

static double ask(struct target *target, const char *what, unsigned count)
{
	char line[64];

	child_send(&target->child, "%s %u", what, count);
	child_read_line(&target->child, 60, line, sizeof(line));
	return strtod(line, NULL);
}

struct figures {
	double bare_ns[ROUNDS * PAIRS], watched_ns[ROUNDS * PAIRS], ratio[ROUNDS * PAIRS];
	double bare_fault_ns[ROUNDS * PAIRS], watched_fault_ns[ROUNDS * PAIRS];
	unsigned count;
};

/*
 * Two processes of the same program, of which one is watched, in turns: what the machine
 * does besides changes more in a second than what is measured. (The page faults of the
 * other one are events too, that the program puts aside.)
 */
static void measure(struct figures *f)
{
	static const char *const options[] = {"--growth", NULL};
	struct target bare = target_start(), watched = target_start();
	struct tracing tracing = tool_start(TOOL_MEMTRACE, &watched, options);

	ask(&bare, "churn", WARM);
	ask(&watched, "churn", WARM);
	for (unsigned i = 0; i < PAIRS; i++) {
		double *b = &f->bare_ns[f->count], *w = &f->watched_ns[f->count];

		/* Neither is always the first. */
		if (i % 2)
			*b = ask(&bare, "churn", COUNT);
		*w = ask(&watched, "churn", COUNT);
		if (i % 2 == 0)
			*b = ask(&bare, "churn", COUNT);
		f->bare_fault_ns[f->count] = ask(&bare, "touch", PAGES);
		f->watched_fault_ns[f->count] = ask(&watched, "touch", PAGES);
		f->ratio[f->count++] = *w / *b;
	}
	tool_stop(&tracing, NULL);
	target_stop(&watched);
	target_stop(&bare);
}

void section_growth(void)
{
	static struct figures f;

	for (unsigned i = 0; i < ROUNDS; i++)
		measure(&f);
	table_head("A program that grows by malloc and free, under --growth");
	table_row(&(struct row){"a block for another, ns", median(f.watched_ns, f.count),
				median(f.bare_ns, f.count), NAN, "not traced"},
		  false);
	table_row(&(struct row){"a page for the first time, ns",
				median(f.watched_fault_ns, f.count),
				median(f.bare_fault_ns, f.count), NAN, "not traced"},
		  false);

	double middle = median(f.ratio, f.count);

	printf("time under --growth: %.4f of that without it (median of %u pairs; half "
	       "of them lie between %.4f and %.4f)\n",
	       middle, f.count, f.ratio[f.count / 4], f.ratio[f.count * 3 / 4]);
}
