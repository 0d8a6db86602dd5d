// SPDX-License-Identifier: Apache-2.0
/*
 * What --growth costs a program that does little but malloc and free, and grows by it.
 * That is less than what one process differs from another of the same program, by where
 * its heap came to lie, and far less than what a machine does besides. So
 * - two processes take turns at parts of a millisecond on one processor, and it is the
 *   ratio of neighbours that counts, of the time that the processor worked for them;
 * - first one of them is watched, then the other: what they differ by anyway is in both
 *   ratios, and falls out;
 * - each round has two new processes, and the median of the rounds has an interval of
 *   confidence that supposes nothing of how they are spread.
 * And what a page fault costs more, times the faults that there were, is another way to
 * the same figure. (Instructions would be a third; many virtual machines have no counter
 * of them.)
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
#define PAIRS   300   /* of parts */
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

/* Field number `field` of /proc/PID/`name`, counted from 1; from the third on where the
 * second is the command's name, which may hold blanks. */
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

/* Two processes, of which number `watched` is watched. */
struct half {
	double log_ratio;      /* of the second one's time to the first one's */
	double block_ns[2];    /* of each */
	double fault_ns[2];    /* of each, for a page */
	double faults, all_ns; /* of the watched one */
	double own_ns;         /* of memtrace */
};

/* What a page costs each, when they take turns. */
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
		/* Neither is always the first. */
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

	/* What it does at the beginning is not what lasts. */
	ask(&targets[0], "churn", WARM / 4);
	ask(&targets[1], "churn", WARM / 4);
	h->own_ns = proc_field(tracing.child.pid, "schedstat", 1);
	h->faults = fault_count(&targets[watched]);
	take_turns(h, targets);
	h->faults = fault_count(&targets[watched]) - h->faults;
	h->own_ns = proc_field(tracing.child.pid, "schedstat", 1) - h->own_ns;
	h->all_ns = h->block_ns[watched] * COUNT * PAIRS;
	touch(targets, h->fault_ns);
	tool_stop(&tracing, NULL);
}

/* By round. */
struct figures {
	double bare_ns[ROUNDS], watched_ns[ROUNDS];
	double bare_fault_ns[ROUNDS], watched_fault_ns[ROUNDS], passed_fault_ns[ROUNDS];
	double ratio[ROUNDS], by_faults[ROUNDS], own[ROUNDS];
};

static void measure(struct figures *f, unsigned round)
{
	struct half halves[2]; /* the second, and then the first is watched */
	struct target targets[2] = {target_start(), target_start()};
	double fault_ns[2], faults_ns = 0, all_ns = 0, own_ns = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(round % 2 && sysconf(_SC_NPROCESSORS_ONLN) > 1, &one);
	for (unsigned k = 0; k < 2; k++) {
		/* Where it may not, it runs where it likes. */
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
 * Which of the ordered rounds, from each end, bounds the median with 95 % confidence: one
 * that fewer than it lie below by chance, each round being above the median as likely as
 * below, in 2.5 % of all cases at most.
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
