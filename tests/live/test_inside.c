// SPDX-License-Identifier: Apache-2.0
/* Probes inside malloc: how memtrace compiles them, and calls that are left in the
 * middle, that fail, or that end in an abort. */
#include <sched.h>
#include <signal.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30
#define SMALL     1000 /* calls of each size that the target makes */
/* Unwinding by frame pointers only, as in memtrace_start(), uses no probes inside
 * malloc. */
#define RULES "--unwind rules"

static bool is_seen_inside;

static struct live_process *inside_start(const char *work)
{
	const char *const argv[] = {INSIDE_BINARY, work, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	REQUIRE(ready);
	json_decref(ready);
	return target;
}

/* The target's counts and memtrace's last report. */
struct both {
	json_t *truth, *report;
};

static struct both trace(const char *work, const char *options)
{
	struct live_process *target = inside_start(work);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	struct both both = {.truth = oracle_ask(target, "go")};

	both.report = memtrace_stop(memtrace);
	live_destroy(target);
	return both;
}

static void both_free(struct both *both)
{
	json_decref(both->truth);
	json_decref(both->report);
}

static int64_t total(const struct both *both, const char *name)
{
	return live_int(live_get(both->report, "heap.totals"), name);
}

static int64_t counted(const struct both *both, const char *name)
{
	return live_int(both->truth, name);
}

static int64_t abandoned(const struct both *both)
{
	return live_int(both->report, "losses.calls_abandoned");
}

/* siglongjmp leaves malloc. If the record of that call stayed, memtrace would take the
 * next call by libc, which is deeper in the stack, for a nested call. */
static void check_jumps(const char *options)
{
	struct both both = trace("jumps", options);

	CHECK(counted(&both, "jumps") > 0 && counted(&both, "allocations") >= SMALL);
	CHECK_INT(total(&both, "allocations"), counted(&both, "allocations"));
	CHECK_INT(total(&both, "frees"), counted(&both, "frees"));
	CHECK_INT(total(&both, "frees_unknown"), 0);
	CHECK_INT(total(&both, "failures"), 0);
	CHECK_INT(live_int(both.report, "heap.live_blocks"), 0);
	CHECK_INT(abandoned(&both), counted(&both, "jumps"));
	CHECK_INT(compare_losses(both.report, "calls_abandoned"), 0);
	both_free(&both);
}

static void malloc_is_left_by_a_jump(void)
{
	check_jumps(RULES);
	check_jumps(RULES " --attach perf");
	check_jumps("");
}

/* A signal handler allocates in the middle of malloc: its calls are counted, and the
 * interrupted call is abandoned. */
static void check_handler(const char *options)
{
	struct both both = trace("handler", options);
	int64_t missing = counted(&both, "allocations") - total(&both, "allocations");

	CHECK(missing >= 0);
	CHECK_INT(abandoned(&both), missing);
	CHECK_INT(total(&both, "frees_unknown"), missing);
	CHECK_INT(total(&both, "frees") + missing, counted(&both, "frees"));
	CHECK_INT(live_int(both.report, "heap.live_blocks"), 0);
	CHECK_INT(compare_losses(both.report, "calls_abandoned"), 0);
	both_free(&both);
}

static void a_handler_allocates_inside_malloc(void)
{
	if (!is_seen_inside) {
		CHECK_NOT_FOR_KERNEL("no probes inside malloc");
		return;
	}
	check_handler(RULES);
	check_handler("--unwind auto");
}

/* Half of the calls fail, some of them before they reach the entry's site. */
static void check_refused(struct both both)
{
	CHECK_INT(counted(&both, "failures"), 2 * SMALL);
	CHECK_INT(total(&both, "failures"), 2 * SMALL);
	CHECK_INT(total(&both, "allocations"), 2 * SMALL);
	CHECK_INT(total(&both, "allocated_bytes"), (50 + 500) * SMALL);
	CHECK_INT(total(&both, "frees"), 2 * SMALL);
	CHECK_INT(total(&both, "frees_unknown"), 0);
	CHECK_INT(compare_losses(both.report, NULL), 0);
	both_free(&both);
}

static void calls_that_are_refused(void)
{
	check_refused(trace("refused", RULES));
	check_refused(trace("refused", RULES " --attach perf"));
}

/* The calls that fail request more than the bound. */
static void refused_calls_are_filtered(void)
{
	struct both both = trace("refused", RULES " --max-size 100");

	CHECK_INT(total(&both, "failures"), 0);
	CHECK_INT(total(&both, "allocations"), SMALL);
	CHECK_INT(total(&both, "frees"), SMALL);
	CHECK_INT(compare_losses(both.report, NULL), 0);
	both_free(&both);

	both = trace("refused", RULES " --min-size 100");
	CHECK_INT(total(&both, "failures"), 2 * SMALL);
	CHECK_INT(total(&both, "allocations"), SMALL);
	both_free(&both);
}

/* memtrace sees calloc by the product of its arguments, which wraps. */
static void products_that_are_too_large(void)
{
	struct both both = trace("overflows", RULES " --min-size 100");

	CHECK_INT(counted(&both, "failures"), SMALL);
	CHECK_INT(total(&both, "failures"), SMALL);
	both_free(&both);
	both = trace("overflows", RULES " --max-size 100");
	CHECK_INT(total(&both, "failures"), 0);
	both_free(&both);
}

/* One call in ten of 2,000: 200, with a deviation of 13.4. The bounds are six deviations,
 * which chance never reaches. If all calls that pass no entry site were counted, there
 * would be 1,100. */
static void refused_calls_are_sampled(void)
{
	struct both both = trace("refused", RULES " --sample-every 10");

	CHECK(total(&both, "failures") > 120 && total(&both, "failures") < 280);
	CHECK(total(&both, "allocations") > 120 && total(&both, "allocations") < 280);
	CHECK_INT(compare_losses(both.report, NULL), 0);
	both_free(&both);
}

/* glibc prints and does the same with probes inside its malloc. The call that does not
 * return is abandoned. */
static void glibc_finds_a_corrupt_heap(void)
{
	static const char said[] = "malloc(): unaligned tcache chunk detected";
	struct live_process *alone = inside_start("corrupt");

	live_send(alone, "go");

	int status = live_wait(alone, TIMEOUT_S);

	if (!strstr(live_stderr(alone), said)) {
		CHECK_LEAVE_OUT_PART("this libc does not look");
		live_destroy(alone);
		return;
	}
	CHECK_INT(status, 128 + SIGABRT);

	struct live_process *target = inside_start("corrupt");
	struct live_process *memtrace = memtrace_start(live_pid(target), RULES);

	live_send(target, "go");
	CHECK_INT(live_wait(target, TIMEOUT_S), status);
	CHECK_STR(live_stderr(target), live_stderr(alone));

	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK(json_is_true(live_get(report, "final")));
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	/* The last call is counted before glibc's check fails. It is abandoned. */
	CHECK_INT(live_int(report, "losses.calls_abandoned"), is_seen_inside);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 3 + is_seen_inside);
	CHECK_INT(live_int(report, "heap.totals.frees"), 2);
	CHECK_INT(compare_losses(report, "calls_abandoned"), 0);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	json_decref(report);
	live_destroy(memtrace);
	live_destroy(target);
	live_destroy(alone);
}

static bool is_called(int pid, const char *name)
{
	char path[64], command[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false; /* the process has ended */
	if (!fgets(command, sizeof(command), file))
		command[0] = '\0';
	fclose(file);
	/* The kernel cuts a name after 15 characters. */
	return !strncmp(command, name, 15);
}

/* The largest number of memtrace's compiler processes that run at the same time. */
static unsigned compilers_of(struct live_process *memtrace)
{
	double until_s = live_now_s() + TIMEOUT_S;
	unsigned most = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)live_pid(memtrace),
		 (int)live_pid(memtrace));
	do {
		FILE *file = fopen(path, "r");
		unsigned count = 0;
		int pid;

		REQUIRE(file);
		while (fscanf(file, "%d", &pid) == 1)
			count += is_called(pid, "memtrace-compile");
		fclose(file);
		most = count > most ? count : most;
		REQUIRE(live_now_s() < until_s);
	} while (!live_wait_stderr(memtrace, "tracing pid", 0.002));
	return most;
}

/* With two processors memtrace compiles the programs that unwind in a second process at
 * the same time. Both use the same maps. */
static void check_compilers(const cpu_set_t *processors)
{
	struct live_process *target, *memtrace;
	struct both both;
	unsigned compilers;

	REQUIRE(!sched_setaffinity(0, sizeof(*processors), processors));
	target = inside_start("refused");
	memtrace = memtrace_start_plain(live_pid(target),
					RULES " --no-cache --format json -i 3600");
	compilers = compilers_of(memtrace);
	CHECK_INT(compilers, is_seen_inside && CPU_COUNT(processors) > 1 ? 2 : 1);
	both.truth = oracle_ask(target, "go");
	both.report = memtrace_stop(memtrace);
	check_refused(both);
	live_destroy(target);
}

static void as_many_compilers_as_there_are_processors(void)
{
	cpu_set_t all, one;
	int first = 0;

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	check_compilers(&all);
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	check_compilers(&one);
	REQUIRE(!sched_setaffinity(0, sizeof(all), &all));
}

/* Not every libc's malloc has sites for such probes. */
static bool has_probes_inside(void)
{
	struct live_process *target = inside_start("");
	char pid[16], *line;
	bool found = false;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));

	const char *const argv[] = {memtrace_path, "--dry-run", "--pid", pid, NULL};
	struct live_process *memtrace = live_start(argv);

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		found |= strstr(line, "failure the result is 0") != NULL;
		free(line);
	}
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(target);
	return found;
}

int main(void)
{
	live_require_root();
	is_seen_inside = has_probes_inside();
	RUN(as_many_compilers_as_there_are_processors);
	RUN(malloc_is_left_by_a_jump);
	RUN(a_handler_allocates_inside_malloc);
	RUN(calls_that_are_refused);
	RUN(refused_calls_are_filtered);
	RUN(products_that_are_too_large);
	RUN(refused_calls_are_sampled);
	RUN(glibc_finds_a_corrupt_heap);
	return check_done();
}
