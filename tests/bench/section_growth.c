// SPDX-License-Identifier: Apache-2.0
/*
 * What --growth costs a program that does little but malloc and free, and that grows.
 * This cost is smaller than the difference between two processes of the same program,
 * whose heaps lie at different addresses. It is far smaller than what other work on the
 * machine causes. Therefore:
 *
 * - Two processes take turns on one processor, in parts of less than a millisecond. Each
 *   part is compared with its neighbour, in processor time.
 * - First one of the two is traced, then the other. What they differ by anyway is in both
 *   ratios and cancels out.
 * - Each round has two new processes. The median of the rounds gets a confidence interval
 *   that assumes nothing about their distribution.
 *
 * As a cross-check, the extra cost of a page fault times the number of page faults should
 * give the same figure. (Counting instructions would be a third way, but many virtual
 * machines have no counter of them.)
 */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table.h"
#include "tool.h"

#define ROUNDS  24
#define PAIRS   300   /* parts of each process */
#define COUNT   10000 /* blocks of a part: less than a millisecond */
#define WARM    1000000

#define TOUCHES 20
#define PAGES   1000

static double ask(struct target *target, const char *what, unsigned count)
{
	char line[64];

	child_send(&target->child, "%s %u", what, count);
	child_read_line(&target->child, 60, line, sizeof(line));
	return strtod(line, NULL);
}

/* Field number `field` of /proc/PID/`name`, counted from 1. The second field of `stat` is
 * the command's name, which may contain blanks: there, only fields from the third on can
 * be read. */
static double proc_field(int pid, const char *name, unsigned field)
{
	char path[64], text[1024];
	const char *at = text;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		die("cannot read %s", path);
	fclose(file);
	if (strrchr(text, ')')) {
		at = strrchr(text, ')') + 1;
		field -= 3;
	} else {
		field--;
	}
	for (; field && at; field--)
		at = strchr(at + 1, ' ');
	return at ? strtod(at, NULL) : NAN;
}

static double fault_count(const struct target *target)
{
	/* minflt of proc(5) */
	return proc_field(target->child.pid, "stat", 10);
}

/* Figures of two processes while number `watched` is traced. */
struct half {
	double log_ratio;      /* log of process 1's time divided by process 0's */
	double block_ns[2];    /* of each process, for a block */
	double fault_ns[2];    /* of each process, for a page */
	double faults, all_ns; /* of the traced process */
	double own_ns;         /* memtrace's own processor time */
};

/* Measure what a new page costs each process, by turns. */
static void touch(struct target targets[2], double ret_ns[2])
{
	double ns[2][TOUCHES];

	for (unsigned i = 0; i < TOUCHES; i++)
		for (unsigned k = 0; k < 2; k++)
			ns[(i + k) % 2][i] = ask(&targets[(i + k) % 2], "touch", PAGES);
	for (unsigned k = 0; k < 2; k++)
		ret_ns[k] = median(ns[k], TOUCHES);
}

static void take_turns(struct half *h, struct target targets[2])
{
	double ns[2][PAIRS], ratio[PAIRS];

	for (unsigned i = 0; i < PAIRS; i++) {
		/* Alternate which one goes first. */
		for (unsigned k = 0; k < 2; k++)
			ns[(i + k) % 2][i] = ask(&targets[(i + k) % 2], "churn", COUNT);
		ratio[i] = ns[1][i] / ns[0][i];
	}
	h->log_ratio = log(median(ratio, PAIRS));
	for (unsigned k = 0; k < 2; k++)
		h->block_ns[k] = median(ns[k], PAIRS);
}

static void measure_half(struct half *h, struct target targets[2], unsigned watched)
{
	static const char *const options[] = {"--growth", NULL};
	struct tracing tracing = tool_start(TOOL_MEMTRACE, &targets[watched], options);

	/* Skip the beginning of tracing: it costs more than what follows. */
	ask(&targets[0], "churn", WARM / 4);
	ask(&targets[1], "churn", WARM / 4);
	h->own_ns = proc_field(tracing.child.pid, "schedstat", 1);
	h->faults = fault_count(&targets[watched]);
	take_turns(h, targets);
	h->faults = fault_count(&targets[watched]) - h->faults;
	h->own_ns = proc_field(tracing.child.pid, "schedstat", 1) - h->own_ns;
	h->all_ns = h->block_ns[watched] * COUNT * PAIRS;
	touch(targets, h->fault_ns);
	tool_stop(&tracing);
}

/* Indexed by round. */
struct figures {
	double bare_ns[ROUNDS], watched_ns[ROUNDS];
	double bare_fault_ns[ROUNDS], watched_fault_ns[ROUNDS], passed_fault_ns[ROUNDS];
	double ratio[ROUNDS], by_faults[ROUNDS], own[ROUNDS];
};

static void measure(struct figures *f, unsigned round)
{
	struct half halves[2]; /* [0]: process 1 is traced; [1]: process 0 is traced */
	struct target targets[2] = {target_start(), target_start()};
	double fault_ns[2], faults_ns = 0, all_ns = 0, own_ns = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(round % 2 && sysconf(_SC_NPROCESSORS_ONLN) > 1, &one);
	for (unsigned k = 0; k < 2; k++) {
		/* If this fails, the process runs on any processor. */
		sched_setaffinity(targets[k].child.pid, sizeof(one), &one);
		ask(&targets[k], "churn", WARM);
	}
	touch(targets, fault_ns);
	for (unsigned k = 0; k < 2; k++) {
		measure_half(&halves[k], targets, !k);
		faults_ns += halves[k].faults * (halves[k].fault_ns[!k] - fault_ns[!k]);
		all_ns += halves[k].all_ns;
		own_ns += halves[k].own_ns;
	}
	for (unsigned k = 0; k < 2; k++)
		target_stop(&targets[k]);

	f->ratio[round] = exp((halves[0].log_ratio - halves[1].log_ratio) / 2);
	f->bare_ns[round] = halves[0].block_ns[0];
	f->watched_ns[round] = halves[0].block_ns[1];
	f->bare_fault_ns[round] = fault_ns[1];
	f->watched_fault_ns[round] = halves[0].fault_ns[1];
	f->passed_fault_ns[round] = halves[0].fault_ns[0];
	f->by_faults[round] = faults_ns / all_ns;
	f->own[round] = own_ns / all_ns;
}

/*
 * How many of the sorted rounds to skip at each end so that the rest spans a 95 %
 * confidence interval of the median. A round is as likely to be above the median as below
 * it. So the number of rounds below it is binomial, and each end may be wrong with a
 * probability of at most 2.5 %.
 */
static unsigned bound_of(unsigned rounds)
{
	double chance = pow(0.5, rounds), sum = chance;
	unsigned k = 0;

	while (sum <= 0.025) {
		k++;
		chance *= (double)(rounds - k + 1) / k;
		sum += chance;
	}
	return k ? k - 1 : 0;
}

static void print_interval(const char *what, double values[ROUNDS])
{
	double middle = median(values, ROUNDS);
	unsigned k = bound_of(ROUNDS);

	printf("%s: %+.2f %% (between %+.2f and %+.2f with 95 %% confidence)\n", what,
	       (middle - 1) * 100, (values[k] - 1) * 100,
	       (values[ROUNDS - 1 - k] - 1) * 100);
}

void section_growth(void)
{
	static struct figures f;

	for (unsigned i = 0; i < ROUNDS; i++)
		measure(&f, i);
	table_head("A program that grows by malloc and free, under --growth");
	table_row(&(struct row){"a block for another, ns", median(f.watched_ns, ROUNDS),
				median(f.bare_ns, ROUNDS), NAN, "not traced"},
		  false);
	table_row(&(struct row){"a page for the first time, ns",
				median(f.watched_fault_ns, ROUNDS),
				median(f.bare_fault_ns, ROUNDS), NAN, "not traced"},
		  false);
	table_row(&(struct row){"the same of a process beside, ns",
				median(f.passed_fault_ns, ROUNDS),
				median(f.bare_fault_ns, ROUNDS), NAN, "not traced"},
		  false);
	printf("medians of %u rounds, of %u pairs of parts each:\n", ROUNDS, 2 * PAIRS);
	print_interval("  time of a process that is watched, against one that is not",
		       f.ratio);
	printf("  by its page faults and what each costs more: %+.2f %%\n",
	       median(f.by_faults, ROUNDS) * 100);
	printf("  memtrace itself, beside: %.2f %% of the program's time\n",
	       median(f.own, ROUNDS) * 100);
}
