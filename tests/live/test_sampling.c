// SPDX-License-Identifier: Apache-2.0
/*
 * Sampled reports, compared with the known blocks of the target: each estimate must be
 * within its statistical error. If a call that was not sampled were counted by the calls
 * that it makes inside the allocator, it would be sampled twice, and the estimate of its
 * function would be twice too large.
 */
#include "check.h"
#include "live/trace.h"

#include <math.h>

/* The live blocks of targets/sampled.c after its work. */
static const struct held {
	const char *site;
	double count, size_bytes;
} held[] = {
	{"site_tiny", 40000, 16},     {"site_small", 0, 200},
	{"site_zeroed", 40000, 160},  {"site_aligned", 40000, 192},
	{"site_renewed", 40000, 320}, {"site_large", 40, 200000},
};

/* Six standard deviations: with so many checks, a chance of 1e-7. */
#define SIGMAS 6

/* The probability with which a block of `size_bytes` is sampled. */
static double probability(double size_bytes, double every, double mean_bytes)
{
	return mean_bytes ? 1 - exp(-size_bytes / mean_bytes) : 1 / every;
}

static void check_site(const json_t *report, const struct held *h, double p)
{
	struct site_sum sum = report_site(report, "heap", h->site);
	/* Binomial. Each sampled block stands for 1 / p blocks. */
	double sigma = sqrt(h->count * (1 - p) / p);

	printf("%-12s p %.5f: %lld sampled, estimated %lld of %.0f, sigma %.0f\n",
	       h->site, p, (long long)sum.blocks, (long long)sum.estimated_blocks,
	       h->count, sigma);
	CHECK(fabs((double)sum.estimated_blocks - h->count) <= SIGMAS * sigma + 1);
	CHECK(fabs((double)sum.estimated_bytes - h->count * h->size_bytes) <=
	      (SIGMAS * sigma + 1) * h->size_bytes);
	/* Some blocks must not have been sampled. With few blocks, all may be by
	 * chance. */
	if (h->count > 1000 && p < 0.9)
		CHECK(sum.blocks < h->count * (p + 0.1));
}

/* The totals: they include freed blocks. */
static void check_totals(const json_t *report, double every, double mean_bytes)
{
	double count = 0, variance = 0;
	double got = (double)live_int(report, "heap.estimated_totals.allocations");

	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
		double p = probability(held[i].size_bytes, every, mean_bytes);
		double n = held[i].count ? held[i].count : 40000;

		count += n;
		variance += n * (1 - p) / p;
	}
	CHECK(fabs(got - count) <= SIGMAS * sqrt(variance) + 1);
	CHECK_INT(live_int(report, "heap.totals.allocations") -
			  live_int(report, "heap.totals.frees"),
		  live_int(report, "heap.live_blocks"));
}

static void check(const char *target_path, const char *options, double every,
		  double mean_bytes)
{
	struct live_process *target = target_start(target_path);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);

	printf("%s %s\n", target_path, options);
	oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);

	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
		check_site(report, &held[i],
			   probability(held[i].size_bytes, every, mean_bytes));
	check_totals(report, every, mean_bytes);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
}

static void every_nth(void)
{
	check(SAMPLED_BINARY, "--sample-every 20", 20, 0);
}

static void by_bytes(void)
{
	check(SAMPLED_BINARY, "--sample-bytes 4K", 0, 4096);
	check(SAMPLED_BINARY, "--sample-bytes 512", 0, 512);
}

/* With perf events the BPF program runs at each return, even of calls that are not
 * sampled. */
static void by_perf_events(void)
{
	check(SAMPLED_BINARY, "--sample-every 20 --attach perf", 20, 0);
}

/* The calls inside a call that was not sampled must not count separately, even if many
 * calls before it made no such calls. */
static void late_calls_inside_calls(void)
{
	struct live_process *target = target_start(LATE_NESTER_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), "--min-size 64");
	json_t *report;

	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 0);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	json_decref(report);
	live_destroy(target);

	target = target_start(LATE_NESTER_BINARY);
	memtrace = memtrace_start(live_pid(target), "--max-size 63");
	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_aligned").blocks, 800);
	CHECK_INT(report_site(report, "heap", "site_aligned").bytes, 800 * 48);
	json_decref(report);
	live_destroy(target);
}

#ifdef SAMPLED_MUSL_BINARY
static void calls_inside_calls(void)
{
	check(SAMPLED_MUSL_BINARY, "--sample-every 20", 20, 0);
	check(SAMPLED_MUSL_BINARY, "--sample-bytes 2K", 0, 2048);
}
#endif

int main(void)
{
	live_require_root();
	RUN(every_nth);
	RUN(by_bytes);
	RUN(by_perf_events);
	RUN_WITH_RETURN_PROBES(late_calls_inside_calls);
#ifdef SAMPLED_MUSL_BINARY
	RUN(calls_inside_calls);
#endif
	return check_done();
}
