// SPDX-License-Identifier: Apache-2.0
/* Allocations and frees at each call path and in each thread, compared with a program
 * that counts them. */
#include <math.h>

#include "check.h"
#include "live/trace.h"

/* The longest tick of the kernel's clock, ms: the error of the measured times. */
#define TICK_MS 10

static struct probes *probes_before;

/* --- helpers ---------------------------------------------------------------------- */

static unsigned bucket_of(double n)
{
	unsigned bucket = 0;

	while (n >= ldexp(1, (int)bucket))
		bucket++;
	return bucket;
}

/* Converts a list of buckets to an array. `from`: the name of a bucket's lower bound. */
static void read_buckets(const json_t *list, const char *from, int64_t ret[65])
{
	const json_t *bucket;
	size_t i;

	memset(ret, 0, 65 * sizeof(*ret));
	json_array_foreach (list, i, bucket)
		ret[bucket_of((double)live_int(bucket, from))] +=
			live_int(bucket, "blocks");
}

/* The only row of a call path. */
static const json_t *row_of(const json_t *report, const char *site)
{
	const json_t *row, *found = NULL;
	size_t i, count = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *name = row_site(row);

		if (name && !strcmp(name, site)) {
			found = row;
			count++;
		}
	}
	CHECK_INT(count, 1);
	return found;
}

#define CHECK_SAME(got, want, key)                                                       \
	do {                                                                             \
		int64_t got_int_ = live_int(got, key), want_int_ = live_int(want, key);  \
		check_state.checks++;                                                    \
		if (got_int_ != want_int_)                                               \
			CHECK_FAIL("%s of %s is %lld, the truth is %lld", key, what,     \
				   (long long)got_int_, (long long)want_int_);           \
	} while (0)

/* --- the report against the truth ------------------------------------------------- */

static void compare_path(const json_t *report, const json_t *truth)
{
	const char *what = json_string_value(live_get(truth, "site"));
	const json_t *row, *traffic;

	if (!live_int(truth, "allocations"))
		return;
	row = row_of(report, what);
	if (!row)
		return;
	traffic = live_get(row, "traffic");
	CHECK_SAME(traffic, truth, "allocations");
	CHECK_SAME(traffic, truth, "allocated_bytes");
	CHECK_SAME(traffic, truth, "frees");
	CHECK_SAME(traffic, truth, "freed_bytes");
	CHECK_SAME(traffic, truth, "temporary");
	CHECK_SAME(traffic, truth, "peak_bytes");
	CHECK_SAME(traffic, truth, "peak_blocks");
	CHECK_INT(live_int(traffic, "allocations") - live_int(traffic, "frees"),
		  live_int(row, "blocks"));
}

/* Does the report have what was live at the peak? */
static bool has_at_peak(const json_t *report)
{
	return json_object_get(live_get(report, "heap.peak"), "stacks_bytes");
}

/* What the rows held at the peak must add up to it. */
static void check_sum_at_peak(const json_t *report)
{
	const json_t *row;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		sum += live_int(row, "traffic.at_peak_bytes");
	CHECK(sum > 0);
	CHECK_INT(sum, live_int(report, "heap.peak.stacks_bytes"));
	CHECK_INT(sum, live_int(report, "heap.peak.bytes"));
}

/* The sum of `key` over all rows whose blocks `site` has allocated. */
static int64_t sum_of_site(const json_t *report, const char *site, const char *key)
{
	const json_t *row;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *name = row_site(row);

		if (name && !strcmp(name, site))
			sum += live_int(row, key);
	}
	return sum;
}

/* Each site at the moment of the peak. */
static void compare_at_peak(const json_t *report, const json_t *truth)
{
	const json_t *one;
	size_t i;

	json_array_foreach (live_get(truth, "paths"), i, one) {
		const char *site = json_string_value(live_get(one, "site"));

		CHECK_INT(sum_of_site(report, site, "traffic.at_peak_bytes"),
			  live_int(one, "at_peak_bytes"));
		CHECK_INT(sum_of_site(report, site, "traffic.at_peak_blocks"),
			  live_int(one, "at_peak_blocks"));
	}
	CHECK(i > 0);
	CHECK_INT(live_int(report, "heap.peak.bytes"), live_int(truth, "peak_bytes"));
	CHECK_INT(live_int(report, "heap.peak.missed_bytes"), 0);
	check_sum_at_peak(report);
}

/* The time of a path's peak. The report was taken between these two times. */
static void compare_peak_time(const json_t *report, const json_t *truth, double before_s,
			      double after_s)
{
	const json_t *row = row_of(report, json_string_value(live_get(truth, "site")));
	double peak_s = (double)live_int(truth, "peak_ms") / 1e3, ago_s;

	if (!row)
		return;
	ago_s = (double)(live_int(report, "elapsed_ns") -
			 live_int(row, "traffic.peak_elapsed_ns")) /
		1e9;
	CHECK(before_s - ago_s <= peak_s + TICK_MS / 1e3);
	CHECK(after_s - ago_s >= peak_s - 2 * TICK_MS / 1e3);
}

static const json_t *thread_of(const json_t *report, int64_t tid)
{
	const json_t *thread;
	size_t i;

	json_array_foreach (live_get(report, "heap.threads"), i, thread)
		if (live_int(thread, "tid") == tid)
			return thread;
	CHECK_FAIL("thread %lld is not there", (long long)tid);
	return NULL;
}

static void compare_thread(const json_t *report, const json_t *truth)
{
	const json_t *thread = thread_of(report, live_int(truth, "tid"));
	const char *what = "a thread";

	if (!thread)
		return;
	CHECK_SAME(thread, truth, "allocations");
	CHECK_SAME(thread, truth, "allocated_bytes");
	CHECK_SAME(thread, truth, "frees");
	CHECK_SAME(thread, truth, "freed_bytes");
	CHECK_SAME(thread, truth, "freed_by_others");
	CHECK_SAME(thread, truth, "freed_by_others_bytes");
	CHECK_SAME(thread, truth, "freed_own");
	CHECK_SAME(thread, truth, "freed_own_bytes");
}

/* The sizes of a path must add up to its allocations. Subtracts them from `sizes`. */
static void subtract_sizes(const json_t *row, int64_t sizes[65])
{
	int64_t own[65], sum = 0;

	read_buckets(live_get(row, "traffic.sizes"), "min_bytes", own);
	for (size_t i = 0; i < 65; i++) {
		sum += own[i];
		sizes[i] -= own[i];
	}
	CHECK_INT(sum, live_int(row, "traffic.allocations"));
}

static void compare(const json_t *report, const json_t *truth)
{
	int64_t sizes[65];
	const json_t *one;
	size_t i;

	json_array_foreach (live_get(truth, "paths"), i, one)
		compare_path(report, one);
	json_array_foreach (live_get(truth, "threads"), i, one)
		compare_thread(report, one);
	CHECK_INT(json_array_size(live_get(report, "heap.threads")), i);
	read_buckets(live_get(report, "heap.sizes"), "min_bytes", sizes);
	json_array_foreach (live_get(truth, "sizes"), i, one)
		CHECK_INT(sizes[i], json_integer_value(one));
	json_array_foreach (live_get(report, "heap.stacks"), i, one)
		subtract_sizes(one, sizes);
	for (i = 0; i < 65; i++)
		CHECK_INT(sizes[i], 0);
	CHECK_INT(live_int(report, "heap.peak.bytes"), live_int(truth, "peak_bytes"));
	if (has_at_peak(report))
		compare_at_peak(report, truth);
	CHECK_INT(compare_losses(report, NULL), 0);
}

/* The k-th shortest lifetime must be in the bucket of the k-th age, or of an age that is
 * one tick longer or shorter. */
static void compare_lifetimes(const json_t *report, const json_t *truth)
{
	const json_t *row = row_of(report, "site_aged"), *age;
	int64_t lived[65];
	unsigned bucket = 0;
	size_t i;

	if (!row)
		return;
	read_buckets(live_get(row, "traffic.lifetimes"), "min_ms", lived);
	json_array_foreach (live_get(truth, "ages_ms"), i, age) {
		double ms = (double)json_integer_value(age);

		while (bucket < 64 && !lived[bucket])
			bucket++;
		lived[bucket]--;
		CHECK(bucket >= bucket_of(ms > TICK_MS ? ms - TICK_MS : 0));
		CHECK(bucket <= bucket_of(ms + 2 * TICK_MS));
	}
	for (bucket = 0; bucket < 65; bucket++)
		CHECK_INT(lived[bucket], 0);
}

/* In each row live is allocated minus freed, and all rows add up to the totals. */
static void check_invariants(const json_t *report)
{
	int64_t live_bytes = 0;
	const json_t *row;
	size_t i, wrong = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const json_t *t = live_get(row, "traffic");

		live_bytes += live_int(row, "size_bytes");
		wrong += live_int(t, "allocations") - live_int(t, "frees") !=
			 live_int(row, "blocks");
		wrong += live_int(t, "allocated_bytes") - live_int(t, "freed_bytes") !=
			 live_int(row, "size_bytes");
		wrong += live_int(t, "peak_bytes") < live_int(row, "size_bytes");
		wrong += live_int(t, "temporary") > live_int(t, "frees");
	}
	CHECK(i > 0);
	CHECK_INT(wrong, 0);
	CHECK_INT(live_bytes, live_int(report, "heap.live_bytes"));
	CHECK(live_int(report, "heap.peak.bytes") >= live_bytes);
#define CHECK_TOTAL(key, more)                                                           \
	CHECK_INT(live_int(report, "heap.traffic." key),                                 \
		  live_int(report, "heap.totals." key) + (more))
	CHECK_TOTAL("allocations", 0);
	CHECK_TOTAL("allocated_bytes", 0);
	CHECK_TOTAL("frees", live_int(report, "heap.totals.gone"));
	CHECK_TOTAL("freed_bytes", live_int(report, "heap.totals.gone_bytes"));
#undef CHECK_TOTAL
}

/* --- the tests -------------------------------------------------------------------- */

/* The name of a thread that has ended is the last one that memtrace saw. */
static void check_names(struct live_process *target, const json_t *report)
{
	const char *const want[] = {"worker-0", "worker-1", "leaver", "renamed"};
	json_t *truth = oracle_ask(target, "truth");

	for (size_t i = 0; i < 4; i++) {
		const json_t *t = json_array_get(live_get(truth, "threads"), i);
		const json_t *thread = thread_of(report, live_int(t, "tid"));

		REQUIRE(thread);
		CHECK_STR(json_string_value(live_get(thread, "name")), want[i]);
		CHECK_INT(json_is_true(live_get(thread, "exited")), i == 2);
		CHECK_INT(live_int(thread, "pid"), live_pid(target));
	}
	json_decref(truth);
}

static void count_events(const char *options)
{
	struct live_process *target = target_start(TRAFFIC_BINARY), *memtrace;
	json_t *report, *truth;
	double before_s, after_s;

	memtrace = memtrace_start(live_pid(target), options);
	oracle_do(target, "run 4000 0");
	oracle_do(target, "ages");
	before_s = live_now_s();
	report = memtrace_report(memtrace);
	after_s = live_now_s();
	truth = oracle_ask(target, "truth");
	compare(report, truth);
	compare_lifetimes(report, truth);
	compare_peak_time(report, json_array_get(live_get(truth, "paths"), 0), before_s,
			  after_s);
	check_invariants(report);
	json_decref(report);
	json_decref(truth);
	/* Continue: a report must not lose anything. */
	oracle_do(target, "run 1000 0");
	oracle_do(target, "end");
	json_decref(memtrace_report(memtrace));
	oracle_do(target, "go on");
	report = memtrace_stop(memtrace);
	truth = oracle_ask(target, "truth");
	compare(report, truth);
	check_names(target, report);
	json_decref(report);
	json_decref(truth);
	live_destroy(target);
}

static void every_event_is_counted(void)
{
	count_events("--traffic");
	/* By frame pointers: a stack with a missing unwind rule may be known too late for
	 * the peak, and these programs have no ring of late events. */
	count_events("--traffic --unwind fp");
	count_events("--peak --unwind fp");
	/* Hash tables. The peak is exact only because one thread at a time has events. */
	count_events("--traffic --unwind fp --tables hashes");
}

static int64_t left_of(const json_t *thread, const char *made, const char *own,
		       const char *others)
{
	return live_int(thread, made) - live_int(thread, own) - live_int(thread, others);
}

/* --group-by thread: the live blocks that each thread has allocated. The option turns on
 * the names of threads, and the report has every thread. */
static void live_blocks_by_thread(void)
{
	struct live_process *target = target_start(TRAFFIC_BINARY), *memtrace;
	const json_t *group, *thread;
	json_t *report, *truth;
	size_t i, k, found = 0;
	int64_t bytes = 0;

	memtrace = memtrace_start(live_pid(target), "--group-by thread --top 0");
	oracle_do(target, "run 4000 0");
	report = memtrace_report(memtrace);
	truth = oracle_ask(target, "truth");
	json_array_foreach (live_get(report, "heap.groups"), i, group) {
		bytes += live_int(group, "flat.size_bytes");
		json_array_foreach (live_get(truth, "threads"), k, thread) {
			if (live_int(thread, "tid") != live_int(group, "tid"))
				continue;
			found++;
			CHECK(json_is_string(live_get(group, "name")));
			CHECK_INT(live_int(group, "pid"), live_pid(target));
			CHECK_INT(live_int(group, "flat.size_bytes"),
				  left_of(thread, "allocated_bytes", "freed_own_bytes",
					  "freed_by_others_bytes"));
			CHECK_INT(live_int(group, "flat.blocks"),
				  left_of(thread, "allocations", "freed_own",
					  "freed_by_others"));
		}
	}
	CHECK(found >= 2);
	CHECK_INT(found, i);
	CHECK_INT(bytes, live_int(report, "heap.live_bytes"));
	json_decref(report);
	json_decref(truth);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* Stacks that miss a rule get their number after the block's events were counted. */
static void by_rules_as_well(void)
{
	struct live_process *target = target_start(TRAFFIC_BINARY), *memtrace;
	json_t *report, *truth;

	memtrace = memtrace_start(live_pid(target),
				  "--peak --unwind auto --temporary-threshold 2");
	/* The first stacks are misses, which are counted some milliseconds later. */
	oracle_do(target, "run 100 2");
	live_sleep(0.2);
	oracle_do(target, "run 3000 2");
	report = memtrace_stop(memtrace);
	truth = oracle_ask(target, "truth");
	CHECK(has_at_peak(report));
	compare(report, truth);
	check_invariants(report);
	json_decref(report);
	json_decref(truth);
	live_destroy(target);
}

/* What eight threads hold at once, after many events at the same call paths. The reports
 * are made before and during later events. */
static void at_the_peak_of_a_crowd(void)
{
	struct live_process *target = target_start(TRAFFIC_BINARY), *memtrace;
	json_t *report, *truth;

	memtrace = memtrace_start(live_pid(target), "--peak");
	live_send(target, "crowd 40000");
	live_sleep(0.1);
	report = memtrace_report(memtrace);
	check_sum_at_peak(report);
	json_decref(report);
	truth = live_read_json(target, 60);
	report = memtrace_report(memtrace);
	compare_at_peak(report, truth);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	/* A smaller heap than at the peak does not replace it. */
	oracle_do(target, "run 1000 0");
	report = memtrace_stop(memtrace);
	check_sum_at_peak(report);
	CHECK_INT(live_int(report, "heap.peak.bytes"), live_int(truth, "peak_bytes"));
	json_decref(report);
	json_decref(truth);
	live_destroy(target);
}

/* Eight threads at the same call paths at once, and the last report while they run. */
static void threads_at_once(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	json_t *report, *truth;

	memtrace = memtrace_start(live_pid(oracle), "--peak");
	oracle_do(oracle, "run mixed 16000 8");
	report = memtrace_report(memtrace);
	check_sum_at_peak(report);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	check_invariants(report);
	CHECK(json_array_size(live_get(report, "heap.threads")) >= 8);
	json_decref(report);
	json_decref(truth);
	oracle_do(oracle, "run release 0 8");
	live_send(oracle, "churn 3 8");
	live_sleep(0.7);
	report = memtrace_stop(memtrace);
	check_invariants(report);
	check_sum_at_peak(report);
	CHECK(live_int(report, "heap.totals.frees") > 20000);
	json_decref(report);
	live_destroy(oracle);
}

static void sampled(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	json_t *report;

	memtrace = memtrace_start(live_pid(oracle), "--peak --sample-every 3");
	oracle_do(oracle, "run mixed 3000 4");
	report = memtrace_stop(memtrace);
	check_invariants(report);
	check_sum_at_peak(report);
	CHECK(live_int(report, "heap.traffic.allocations") > 1000);
	json_decref(report);
	memtrace = memtrace_start(live_pid(oracle), "--peak --sample-bytes 500");
	oracle_do(oracle, "run mixed 3000 4");
	report = memtrace_stop(memtrace);
	check_invariants(report);
	CHECK(live_int(report, "heap.peak.stacks_bytes") > 0);
	CHECK_INT(live_int(report, "heap.peak.stacks_bytes"),
		  live_int(report, "heap.peak.estimated_bytes"));

	/* In each row the estimate of live blocks must be the estimated allocations minus
	 * the estimated frees, except for rounding. */
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t held = live_int(row, "traffic.estimated_allocated_bytes") -
			       live_int(row, "traffic.estimated_freed_bytes");
		int64_t off = held - live_int(row, "estimated_size_bytes");
		int64_t events = live_int(row, "traffic.allocations") +
				 live_int(row, "traffic.frees");

		CHECK(off >= -events - held / 1000 && off <= events + held / 1000);
	}
	json_decref(report);
	live_destroy(oracle);
}

/* A child's live blocks count as freed when it ends. Its allocations stay counted. */
static void a_child_dies(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	json_t *report;

	memtrace = memtrace_start(live_pid(oracle), "--peak --follow-forks");
	oracle_do(oracle, "run fork 100 1");
	/* The new peak is without the child's blocks, which are still in the tables: the
	 * first report shows the child. */
	oracle_do(oracle, "run mixed 16000 1");
	report = memtrace_report(memtrace);
	check_sum_at_peak(report);
	json_decref(report);
	report = memtrace_stop(memtrace);
	check_sum_at_peak(report);
	CHECK_INT(live_int(report, "heap.totals.gone"), 100);
	check_invariants(report);
	CHECK_INT(live_int(report, "heap.traffic.frees"),
		  live_int(report, "heap.totals.frees") + 100);
	json_decref(report);
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(every_event_is_counted);
	RUN(by_rules_as_well);
	RUN(at_the_peak_of_a_crowd);
	RUN(live_blocks_by_thread);
	RUN(threads_at_once);
	RUN(sampled);
	RUN(a_child_dies);
	CHECK(probes_gone(probes_before));
	return check_done();
}
