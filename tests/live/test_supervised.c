// SPDX-License-Identifier: Apache-2.0
/* --follow-exec-of: what a supervisor starts, ends, and is started again. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "http.h"
#include "live/family.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30

/* Of targets/supervisor.c: what each program allocates. */
#define BLOCKS       100
#define BYTES        100
#define OTHER_BLOCKS 10
#define OTHER_BYTES  777

static struct probes *probes_before;

/* --- the supervisor ----------------------------------------------------------------- */

static pid_t pid_in(json_t *answer)
{
	pid_t pid = (pid_t)live_int(answer, "pid");

	json_decref(answer);
	return pid;
}

/* The program that the supervisor keeps alive has just been killed: wait for the next. */
static pid_t next_kept(struct live_process *supervisor, pid_t before)
{
	pid_t pid = before;

	while (pid == before)
		pid = pid_in(oracle_ask(supervisor, "which"));
	return pid;
}

/* Wait until it has executed the program, and sleeps: it has allocated everything. */
static bool wait_asleep(pid_t pid)
{
	double end_s = live_now_s() + TIMEOUT_S;
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (live_now_s() < end_s) {
		_cleanup_(fclosep) FILE *file = fopen(path, "re");

		/* It was executed as /proc/self/exe, which gives this name. */
		if (file && fgets(text, sizeof(text), file) && strstr(text, "(exe) S"))
			return true;
		live_sleep(0.01);
	}
	return false;
}

static struct live_process *trace(struct live_process *supervisor, const char *options)
{
	struct live_process *memtrace =
		memtrace_by_path("--follow-exec-of %d %s", live_pid(supervisor), options);

	memtrace_await(memtrace);
	return memtrace;
}

static void stop(struct live_process *memtrace, struct live_process *supervisor)
{
	if (memtrace)
		json_decref(memtrace_stop(memtrace));
	family_finish(supervisor);
	live_destroy(supervisor);
	CHECK(probes_gone(probes_before));
}

static void check_supervisor(const json_t *report)
{
	CHECK_SITE(report, 0, "site_supervisor", 0, 0);
	CHECK_SITE(report, 0, "site_unexecuted", 0, 0);
	CHECK_INT(compare_losses(report, NULL), 0);
}

/* A program that runs before memtrace starts, and stays: it names the code of those that
 * end before memtrace has looked at them. If only such programs have run, their code may
 * have no names (docs/limitations.md). */
static void keep_one(struct live_process *supervisor)
{
	CHECK(wait_asleep(pid_in(oracle_ask(supervisor, "keep"))));
}

/* --- tests ------------------------------------------------------------------------- */

/* Each program is traced from its first allocation on, though most end before memtrace
 * has looked at them. Nothing of the supervisor counts. */
static void programs_are_traced(void)
{
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY), *memtrace;
	json_t *report;

	keep_one(supervisor);
	memtrace = trace(supervisor, "");
	CHECK_CONTAINS(live_stderr(memtrace), "tracing what pid ");
	CHECK_CONTAINS(live_stderr(memtrace), "(supervisor) starts, 1 at present: ");
	oracle_do(supervisor, "run 50");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", 50 * BLOCKS, 50 * BLOCKS * BYTES);
	CHECK_SITE(report, 0, "site_forked", 0, 0);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 50 * BLOCKS);
	CHECK(!target_of(report, live_pid(supervisor)));
	check_supervisor(report);
	json_decref(report);

	/* Those that other programs start, and nothing of the earlier ones is left. */
	oracle_do(supervisor, "nested 20");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", 20 * BLOCKS, 20 * BLOCKS * BYTES);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 70 * BLOCKS);
	check_supervisor(report);
	json_decref(report);
	stop(memtrace, supervisor);
}

/* Reports that come meanwhile lose no program, and the totals go on. */
static void reports_at_intervals(void)
{
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY), *memtrace;
	int64_t blocks = 0, reports = 0, with_programs = 0;
	json_t *report;

	keep_one(supervisor);
	memtrace = trace(supervisor, "-i 0.2");
	live_send(supervisor, "run 100");
	while (blocks < 100 * BLOCKS && ++reports < 100) {
		int64_t ended;

		report = live_read_json(memtrace, TIMEOUT_S);
		REQUIRE(report);
		ended = sum_of(report, "heap", 0, "site_program", NULL).blocks;
		blocks += ended;
		with_programs += ended > 0;
		check_supervisor(report);
		json_decref(report);
	}
	/* A program that runs during a report, or whose end memtrace has not noticed, is
	 * in the next one, too. So only the totals are exact. */
	fprintf(stderr, "%" PRId64 " blocks in %" PRId64 " reports\n", blocks, reports);
	CHECK(blocks >= 100 * BLOCKS);
	CHECK(with_programs > 0);
	json_decref(live_read_json(supervisor, TIMEOUT_S));
	live_signal(memtrace, SIGUSR1);
	report = memtrace_report_of(memtrace, "demand", NULL);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 100 * BLOCKS);
	json_decref(report);
	stop(memtrace, supervisor);
}

static void forks_are_followed_if_wanted(void)
{
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY), *memtrace;
	json_t *report;

	keep_one(supervisor);
	memtrace = trace(supervisor, "--follow-forks");
	oracle_do(supervisor, "run 20");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", 20 * BLOCKS, 20 * BLOCKS * BYTES);
	CHECK_SITE(report, 0, "site_forked", 20 * OTHER_BLOCKS,
		   20 * OTHER_BLOCKS * OTHER_BYTES);
	check_supervisor(report);
	json_decref(report);
	CHECK(!strstr(live_stderr(memtrace), "does not trace"));
	stop(memtrace, supervisor);
}

/* What runs already is traced from now on. What was only forked is not, until it executes
 * a program. A program that is killed is followed by one that counts from its start. */
static void programs_that_run_already(void)
{
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY);
	pid_t forked = pid_in(oracle_ask(supervisor, "fork"));
	pid_t kept = pid_in(oracle_ask(supervisor, "keep"));
	struct live_process *memtrace;
	json_t *report;

	CHECK(wait_asleep(kept));
	memtrace = trace(supervisor, "");
	CHECK_CONTAINS(live_stderr(memtrace), "(supervisor) starts, 1 at present: ");
	report = memtrace_report(memtrace);
	CHECK(target_of(report, kept));
	CHECK(!target_of(report, forked));
	CHECK_INT(live_int(report, "heap.totals.allocations"), 0);
	json_decref(report);

	kill(kept, SIGKILL);
	CHECK(wait_asleep(next_kept(supervisor, kept)));
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", BLOCKS, BLOCKS * BYTES);
	check_supervisor(report);
	json_decref(report);

	oracle_do(supervisor, "release");
	CHECK(wait_asleep(forked));
	report = memtrace_report(memtrace);
	CHECK(target_of(report, forked));
	CHECK_SITE(report, 0, "site_program", 2 * BLOCKS, 2 * BLOCKS * BYTES);
	check_supervisor(report);
	json_decref(report);
	stop(memtrace, supervisor);
	kill(forked, SIGKILL);
}

/* The run ends with the last program, not with the supervisor. */
static void it_ends_with_the_last_program(void)
{
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY);
	struct live_process *memtrace = trace(supervisor, "");
	pid_t forked = pid_in(oracle_ask(supervisor, "fork"));
	json_t *report;

	live_send(supervisor, "leave");
	CHECK_INT(live_wait(supervisor, TIMEOUT_S), 0);
	live_sleep(0.5);
	CHECK(live_is_running(memtrace));
	/* A child that had executed nothing may still do so. */
	kill(forked, SIGUSR1);
	CHECK(wait_asleep(forked));
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", BLOCKS, BLOCKS * BYTES);
	json_decref(report);
	kill(forked, SIGKILL);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(supervisor);
	CHECK(probes_gone(probes_before));
}

/* A static program without an allocator: the C library has its probes nevertheless. */
static void a_supervisor_without_an_allocator(void)
{
	const char *const argv[] = {BARE_SUPERVISOR_BINARY, NULL};
	struct live_process *supervisor = live_start(argv);
	struct live_process *memtrace = trace(supervisor, "");
	json_t *report;

	oracle_do(supervisor, "start");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_program", BLOCKS, BLOCKS * BYTES);
	check_supervisor(report);
	json_decref(report);
	stop(memtrace, supervisor);
}

/* --- with a server ------------------------------------------------------------------ */

static unsigned port_of(struct live_process *memtrace)
{
	const char *said = "listening on http://127.0.0.1:";

	REQUIRE(live_wait_stderr(memtrace, said, TIMEOUT_S));
	return (unsigned)strtoul(strstr(live_stderr(memtrace), said) + strlen(said), NULL,
				 10);
}

/* The value of the first sample of a metric; -1: not there. */
static int64_t metric(unsigned port, const char *name)
{
	struct http_answer a = http_get(port, "/metrics");
	int64_t value = -1;

	for (const char *at = a.body; at && (at = strstr(at, name)); at++)
		if (at > a.body && at[-1] == '\n' && strchr(" {", at[strlen(name)])) {
			value = strtoll(strchr(at, ' '), NULL, 10);
			break;
		}
	http_free(&a);
	return value;
}

/* Wait until the metric has this value. Returns the last value. */
static int64_t wait_metric(unsigned port, const char *name, int64_t want)
{
	double end_s = live_now_s() + TIMEOUT_S;
	int64_t value;

	while ((value = metric(port, name)) != want && live_now_s() < end_s)
		live_sleep(0.1);
	return value;
}

#define ALLOCATED "memtrace_allocations_total"

/* Programs that are killed while other programs keep the processors busy: totals go on,
 * and are exact. */
static void restarts_under_load(void)
{
	const char *const busy[] = {"sh", "-c", "while :; do :; done", NULL};
	struct live_process *burners[] = {live_start(busy), live_start(busy)};
	struct live_process *supervisor = target_start(SUPERVISOR_BINARY);
	const char *argv[] = {memtrace_path, "--follow-exec-of", NULL, "--listen", "0",
			      NULL};
	char number[16];
	struct live_process *memtrace;
	unsigned port;
	pid_t kept;

	snprintf(number, sizeof(number), "%d", live_pid(supervisor));
	argv[2] = number;
	memtrace = live_start(argv);
	port = port_of(memtrace);
	memtrace_await(memtrace);
	kept = pid_in(oracle_ask(supervisor, "keep"));
	for (int i = 1; i <= 20; i++) {
		CHECK(wait_asleep(kept));
		kill(kept, SIGKILL);
		kept = next_kept(supervisor, kept);
	}
	CHECK(wait_asleep(kept));
	CHECK_INT(wait_metric(port, ALLOCATED, 21 * BLOCKS), 21 * BLOCKS);
	oracle_do(supervisor, "run 100");
	CHECK_INT(wait_metric(port, ALLOCATED, 121 * BLOCKS), 121 * BLOCKS);
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	for (size_t i = 0; i < 2; i++)
		live_destroy(burners[i]);
	stop(NULL, supervisor);
}

/* A name is waited for, as by --wait-for. */
static void a_supervisor_is_waited_for(void)
{
	const char *const argv[] = {
		memtrace_path, "--follow-exec-of", SUPERVISOR_BINARY, "--listen", "0",
		NULL};
	struct live_process *memtrace = live_start(argv);
	unsigned port = port_of(memtrace);

	CHECK(live_wait_stderr(memtrace, "waiting for ", TIMEOUT_S));
	for (int i = 0; i < 2; i++) {
		struct live_process *supervisor = target_start(SUPERVISOR_BINARY);
		char said[64];

		snprintf(said, sizeof(said), "tracing what pid %d ",
			 live_pid(supervisor));
		CHECK(live_wait_stderr(memtrace, said, TIMEOUT_S));
		oracle_do(supervisor, "run 3");
		CHECK_INT(wait_metric(port, ALLOCATED, 3 * BLOCKS), 3 * BLOCKS);
		live_close_stdin(supervisor);
		CHECK_INT(live_wait(supervisor, TIMEOUT_S), 0);
		live_destroy(supervisor);
	}
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

/* --- errors ------------------------------------------------------------------------- */

static void check_refused(const char *pid, const char *message)
{
	const char *const argv[] = {memtrace_path, "--follow-exec-of", pid, NULL};
	struct live_process *memtrace = live_start(argv);

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace), message);
	live_destroy(memtrace);
}

static void processes_that_cannot_be_one(void)
{
	check_refused("4194304", "no process has the pid 4194304");
	/* kthreadd, unless this is a container. */
	if (!kill(2, 0) && access("/proc/2/exe", R_OK) && errno == ENOENT)
		check_refused("2", "kernel thread");
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(programs_are_traced);
	RUN(reports_at_intervals);
	RUN(forks_are_followed_if_wanted);
	RUN(programs_that_run_already);
	RUN(it_ends_with_the_last_program);
	RUN(a_supervisor_without_an_allocator);
	RUN(restarts_under_load);
	RUN(a_supervisor_is_waited_for);
	RUN(processes_that_cannot_be_one);
	probes_destroy(probes_before);
	return check_done();
}
