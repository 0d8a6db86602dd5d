// SPDX-License-Identifier: Apache-2.0
/*
 * With hundreds of runnable threads for each processor memtrace gets little time. It then
 * keeps its deadlines, or says that it did not and why.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/threads.h"
#include "live/trace.h"

#define TIMEOUT_S  120
#define HOGS       250
#define DURATION_S 2

/* With more processors than this the hogs are too few: memtrace raises its priority only
 * if there are four runnable threads for each processor. */
#define PROCESSORS_MAX 60

/* Deadline that is kept, s: what memtrace does not mention. */
#define LATE_S 1.5

/* Everything that is started from here on runs on one processor; the test itself, too. */
static void share_one_processor(cpu_set_t *before)
{
	cpu_set_t one;

	REQUIRE(!sched_getaffinity(0, sizeof(*before), before));
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
}

/* Start processes that are busy as soon as the other end of `gate` is closed. */
static void start_hogs(pid_t hogs[], const int gate[2])
{
	for (int i = 0; i < HOGS; i++) {
		char c;

		hogs[i] = fork();
		REQUIRE(hogs[i] >= 0);
		if (hogs[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(gate[1]);
		while (read(gate[0], &c, 1) > 0)
			;
		for (;;)
			__asm__ volatile("");
	}
}

static void end_hogs(const pid_t hogs[])
{
	for (int i = 0; i < HOGS; i++)
		kill(hogs[i], SIGKILL);
	for (int i = 0; i < HOGS; i++)
		waitpid(hogs[i], NULL, 0);
}

/* The time from the first line to the report, s. The test runs on any processor, and sees
 * the report at once. */
static double run_among_hogs(const struct live_process *oracle, bool *said)
{
	struct live_process *memtrace;
	char options[64];
	pid_t hogs[HOGS];
	int gate[2];
	cpu_set_t before;
	double begun_s, took_s;

	snprintf(options, sizeof(options), "--duration %d --format json", DURATION_S);
	share_one_processor(&before);
	REQUIRE(!pipe(gate));
	start_hogs(hogs, gate);
	memtrace = memtrace_start_plain(live_pid(oracle), options);
	REQUIRE(!sched_setaffinity(0, sizeof(before), &before));
	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	begun_s = live_now_s();
	close(gate[0]);
	close(gate[1]);
	free(live_read_line(memtrace, TIMEOUT_S));
	took_s = live_now_s() - begun_s;
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	*said = strstr(live_stderr(memtrace), "later than --duration says, because");
	end_hogs(hogs);
	live_destroy(memtrace);
	return took_s;
}

static void says_that_it_is_late(void)
{
	struct live_process *oracle = oracle_start();
	bool said;
	double took_s;

	oracle_do(oracle, "run keep 1000 1");
	took_s = run_among_hogs(oracle, &said);
	printf("report after %.1f s, expected %d s%s\n", took_s, DURATION_S,
	       said ? ", and said so" : "");
	CHECK(took_s >= DURATION_S - 0.1);
	CHECK(said || took_s < DURATION_S + LATE_S);
	live_destroy(oracle);
}

/* Threads of memtrace and its children with a higher priority. */
struct raised {
	unsigned any;
	unsigned readers; /* those that read what the target has written */
};

static void look_at_process(pid_t pid, struct raised *ret)
{
	static const char *const readers[] = {"memtrace-elf", "memtrace-read",
					      "memtrace-open", "memtrace-unwind", NULL};

	ret->any += threads_raised(pid, NULL);
	ret->readers += threads_raised(pid, readers);
}

static void look_at_memtrace(pid_t pid, struct raised *ret)
{
	char *children;

	look_at_process(pid, ret);
	children = files_read_if_any("/proc/%d/task/%d/children", (int)pid, (int)pid);
	for (char *at = children; at && *at;) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		look_at_process((pid_t)child, ret);
		at = end;
	}
	free(children);
}

/* Where other threads take all the time, memtrace has a higher priority while it starts
 * and while it makes a report, and otherwise none of its threads has. What reads the
 * target's memory and files never has. */
static void starts_with_a_higher_priority(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	struct raised during = {0, 0}, after = {1, 0};
	double begun_s, took_s;
	pid_t hogs[HOGS];
	int gate[2];
	bool said;

	REQUIRE(!pipe(gate));
	start_hogs(hogs, gate);
	close(gate[0]);
	close(gate[1]);
	begun_s = live_now_s();
	memtrace = memtrace_start_plain(live_pid(oracle), "--no-cache");
	while (!strstr(live_stderr(memtrace), "Ctrl-C ends") &&
	       live_now_s() < begun_s + TIMEOUT_S) {
		look_at_memtrace(live_pid(memtrace), &during);
		live_sleep(0.01);
	}
	took_s = live_now_s() - begun_s;
	said = strstr(live_stderr(memtrace),
		      "because other programs keep the processors busy");
	for (int i = 0; i < 20 && after.any; i++) {
		after = (struct raised){0, 0};
		look_at_memtrace(live_pid(memtrace), &after);
		live_sleep(0.1);
	}
	live_signal(memtrace, SIGINT);
	for (int i = 0; i < 100; i++) {
		look_at_memtrace(live_pid(memtrace), &during);
		live_sleep(0.01);
	}
	end_hogs(hogs);
	printf("started after %.1f s%s\n", took_s, said ? ", and said why" : "");
	if (sysconf(_SC_NPROCESSORS_ONLN) <= PROCESSORS_MAX)
		CHECK(during.any > 0);
	else
		printf("a raised priority is not expected: %d busy processes do not "
		       "crowd more than %d processors\n",
		       HOGS, PROCESSORS_MAX);
	CHECK_INT(during.readers, 0);
	CHECK_INT(after.any, 0);
	CHECK(said || took_s < 3);
	live_destroy(memtrace);
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(starts_with_a_higher_priority);
	RUN(says_that_it_is_late);
	return check_done();
}
