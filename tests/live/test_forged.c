// SPDX-License-Identifier: Apache-2.0
/*
 * Targets with forged USDT notes, and such that change their code in memory: no
 * breakpoint comes to a wrong place, neither in them nor in others with the same file.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/files.h"
#include "live/trace.h"

#define TIMEOUT_S 30

/* How many bytes of its code the target writes over. */
#define CHANGED_BYTES 5

#define FORKS_OF_LIBRARY                                                                 \
	"--follow-forks --format json --lib " FORGED_USDT_BINARY " --symbols-prefix "    \
	"own_"

static struct probes *probes_before;

/* The program does what its code says, and its variable was not written to. */
static void check_answer(struct live_process *target, int changed)
{
	json_t *answer = oracle_ask(target, "run");

	CHECK_INT(live_int(answer, "forged"), 0x90909090);
	CHECK_INT(live_int(answer, "changed"), changed);
	CHECK_INT(live_int(answer, "variable"), 7);
	CHECK_INT(live_int(answer, "calloc"), changed);
	CHECK_INT(live_int(answer, "realloc"), changed == 1 ? 1 : 0x90000002);
	json_decref(answer);
}

/* The same, and its code has no breakpoint. */
static void check_unharmed(struct live_process *target, int changed)
{
	check_answer(target, changed);
	CHECK_INT(breakpoints_count(live_pid(target)), changed == 1 ? 0 : CHANGED_BYTES);
}

/* memtrace does not begin, and says why in one line. `pid` 0: it traces all processes. */
static void check_one_line(pid_t pid, const char *options, const char *what,
			   const char *why)
{
	char text[600];
	struct live_process *memtrace;
	const char *said;

	if (pid) {
		memtrace = memtrace_start_plain(pid, options);
	} else {
		const char *const argv[] = {memtrace_path, "--all", "--event", options,
					    NULL};

		memtrace = live_start(argv);
	}
	if (live_wait_stderr(memtrace, "Ctrl-C ends", 1))
		live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	said = live_stderr(memtrace);
	CHECK_CONTAINS(said, what);
	CHECK_CONTAINS(said, FORGED_USDT_BINARY);
	CHECK_CONTAINS(said, why);
	snprintf(text, sizeof(text), "%s", said);
	CHECK(strchr(text, '\n') && !strchr(text, '\n')[1]);
	live_destroy(memtrace);
}

static int64_t count_events(struct live_process *memtrace)
{
	json_t *report;
	int64_t count;

	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	count = live_int(report, "events.count");
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	return count;
}

static void forged_usdt_notes(void)
{
	static const struct {
		const char *name, *why;
	} notes[] = {
		{"inside", "not known to be the beginning of an instruction"},
		{"variable", "its semaphore is not in a writable section .probes"},
	};
	static const char *const scopes[] = {"", "--follow-forks", "--attach perf"};
	struct live_process *target = target_start(FORGED_USDT_BINARY),
			    *other = target_start(FORGED_USDT_BINARY), *memtrace;
	char options[600], what[64];

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		snprintf(what, sizeof(what), "the USDT probe forged:%s at 0x",
			 notes[i].name);
		for (size_t scope = 0; scope < 3; scope++) {
			snprintf(options, sizeof(options),
				 "--event usdt:forged_usdt:forged:%s %s", notes[i].name,
				 scopes[scope]);
			check_one_line(live_pid(target), options, what, notes[i].why);
		}
		snprintf(options, sizeof(options),
			 "usdt:" FORGED_USDT_BINARY ":forged:%s", notes[i].name);
		check_one_line(0, options, what, notes[i].why);
		check_unharmed(target, 1);
		check_unharmed(other, 1);
	}
	/* Only the note says that an instruction begins there, and a process that parses
	 * the files of both targets has read it. */
	snprintf(options, sizeof(options), "-p %d --event usdt:forged_usdt:forged:bare",
		 live_pid(other));
	check_one_line(live_pid(target), options, "forged:bare",
		       "more than one process is probed");
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	memtrace = memtrace_start_plain(
		live_pid(target), "--format json --event usdt:forged_usdt:forged:bare");
	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	CHECK_INT(count_events(memtrace), 0);
	check_one_line(live_pid(target), "--otel-memory", "otel_memory:alloc",
		       notes[0].why);
	check_unharmed(target, 1);

	/* What is true is traced. */
	memtrace = memtrace_start_plain(
		live_pid(target), "--format json --event usdt:forged_usdt:forged:right");
	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	for (int i = 0; i < 10; i++)
		oracle_do(target, "run");
	CHECK_INT(count_events(memtrace), 10);
	live_destroy(target);
	live_destroy(other);
}

/* The instruction that the kernel would execute is not the one that the process has. */
static void changed_code(void)
{
	static const char *const kinds[] = {"uprobe", "uretprobe"};
	static const char why[] = "its code in memory differs from the file";
	struct live_process *target = target_start(FORGED_USDT_BINARY),
			    *other = target_start(FORGED_USDT_BINARY), *memtrace;
	char options[256];

	oracle_do(target, "change");
	for (size_t i = 0; i < 2; i++) {
		snprintf(options, sizeof(options), "--event %s:forged_usdt:site_changed",
			 kinds[i]);
		check_one_line(live_pid(target), options, "site_changed", why);
		check_unharmed(target, 2);
	}
	/* The one that has changed it is left out. */
	snprintf(options, sizeof(options),
		 "-p %d --format json --event uprobe:forged_usdt:site_changed",
		 live_pid(target));
	memtrace = memtrace_start_plain(live_pid(other), options);
	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), why);
	check_unharmed(target, 2);
	oracle_do(other, "run");
	CHECK_INT(count_events(memtrace), 1);
	check_unharmed(target, 2);
	check_unharmed(other, 1);
	live_destroy(target);
	live_destroy(other);
}

/* Wait until the main thread has ended and another one answers. */
static void lose_first(struct live_process *target)
{
	char path[64], link[8];

	json_decref(oracle_ask(target, "headless"));
	snprintf(path, sizeof(path), "/proc/%d/exe", live_pid(target));
	for (int i = 0; i < 1000 && readlink(path, link, sizeof(link)) > 0; i++)
		usleep(10000);
	CHECK(readlink(path, link, sizeof(link)) < 0);
}

/* A probe in all processes does not harm one that has changed its code. */
static void code_changed_elsewhere(void)
{
	static const struct {
		const char *event, *what;
	} places[] = {
		{"uprobe:" FORGED_USDT_BINARY ":site_changed", "site_changed"},
		{"uprobe:" FORGED_USDT_BINARY ":own_realloc+7", "own_realloc+7"},
		{"usdt:" FORGED_USDT_BINARY ":forged:altered",
		 "the USDT probe forged:altered at 0x"},
	};
	static const char *const scopes[] = {"--follow-forks", "--attach perf"};
	struct live_process *changed = target_start(FORGED_USDT_BINARY),
			    *other = target_start(FORGED_USDT_BINARY), *memtrace;
	char options[600], why[128];

	snprintf(why, sizeof(why),
		 "its code in the memory of process %d differs from the file",
		 live_pid(changed));
	oracle_do(changed, "change");
	lose_first(other);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		check_one_line(0, places[i].event, places[i].what, why);
		check_unharmed(changed, 2);
		for (size_t scope = 0; scope < 2; scope++) {
			snprintf(options, sizeof(options), "%s --event %s", scopes[scope],
				 places[i].event);
			check_one_line(live_pid(other), options, "", why);
			check_unharmed(changed, 2);
		}
	}
	/* An unchanged place is traced. */
	snprintf(options, sizeof(options),
		 "--follow-forks --format json --event uprobe:%s:site_forged",
		 FORGED_USDT_BINARY);
	memtrace = memtrace_start_plain(live_pid(other), options);
	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	oracle_do(other, "run");
	check_answer(changed, 2);
	CHECK_INT(count_events(memtrace), 1);
	check_unharmed(changed, 2);
	live_destroy(changed);
	live_destroy(other);
}

/* --- after the plan -------------------------------------------------------------------
 */

/* Stop the children that compile, once there are some. */
static bool stop_compilers(struct live_process *memtrace, int sig)
{
	int pid = (int)live_pid(memtrace), child, size;
	char *children = files_read("/proc/%d/task/%d/children", pid, pid);
	bool found = false;

	for (const char *at = children; sscanf(at, "%d%n", &child, &size) == 1;
	     at += size) {
		char *name = files_read_if_any("/proc/%d/comm", child);

		if (name && !strncmp(name, "memtrace-compil", 15))
			found = !kill(child, sig);
		free(name);
	}
	free(children);
	return found;
}

/* A process changes its code while memtrace compiles, after it has compared the code. How
 * long the comparison takes is not known. */
static void code_changed_after_the_plan(void)
{
	struct live_process *other = target_start(FORGED_USDT_BINARY);
	double until_s = live_now_s() + TIMEOUT_S;
	char why[160];
	bool is_planned = false;

	for (double wait_s = 0.5; !is_planned && wait_s < 10; wait_s *= 3) {
		struct live_process *changed = target_start(FORGED_USDT_BINARY);
		struct live_process *memtrace = memtrace_start_plain(
			live_pid(other), "--no-cache " FORKS_OF_LIBRARY);

		while (!stop_compilers(memtrace, SIGSTOP) && live_now_s() < until_s)
			live_sleep(0.005);
		live_sleep(wait_s);
		CHECK_INT(breakpoints_count(live_pid(other)), 0);
		oracle_do(changed, "change");
		CHECK(stop_compilers(memtrace, SIGCONT));
		snprintf(why, sizeof(why),
			 "its code in the memory of process %d differs from the file",
			 live_pid(changed));
		CHECK(live_wait_stderr(memtrace, why, TIMEOUT_S));
		/* The comparison of the plan leaves out single functions. */
		is_planned = !strstr(live_stderr(memtrace), "cannot be traced: its code");
		if (is_planned) {
			strcat(why, " now");
			CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
			CHECK_CONTAINS(live_stderr(memtrace), why);
		}
		live_destroy(memtrace);
		check_unharmed(changed, 2);
		check_unharmed(other, 1);
		live_destroy(changed);
	}
	CHECK(is_planned);
	live_destroy(other);
}

/* What a process can cost is bounded. Code that was not compared is not probed in all
 * processes, but in a single one. */
static void a_process_that_is_left_out(void)
{
	static const char event[] = "uprobe:" FORGED_USDT_BINARY ":site_forged";
	struct live_process *excess = target_start(FORGED_USDT_BINARY),
			    *other = target_start(FORGED_USDT_BINARY), *memtrace;
	char options[600], why[160];

	oracle_do(excess, "copies");
	snprintf(why, sizeof(why),
		 "its code in the memory of process %d cannot be compared with the file: "
		 "trace single processes with -p PID",
		 live_pid(excess));
	snprintf(options, sizeof(options), "--follow-forks --event %s", event);
	check_one_line(live_pid(other), options, "site_forged", why);
	check_one_line(live_pid(other), FORKS_OF_LIBRARY, "own_malloc", why);
	check_one_line(0, event, "site_forged", why);
	check_unharmed(excess, 1);

	snprintf(options, sizeof(options), "--format json --event %s", event);
	memtrace = memtrace_start_plain(live_pid(other), options);
	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	oracle_do(other, "run");
	CHECK_INT(count_events(memtrace), 1);
	check_unharmed(excess, 1);
	live_destroy(excess);
	live_destroy(other);
}

/* memtrace traces the unchanged functions of the library. */
static void check_traced(struct live_process *memtrace, struct live_process *changed,
			 struct live_process *other, int calls)
{
	char line[128];
	json_t *report;

	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	snprintf(line, sizeof(line),
		 "own_calloc cannot be traced: its code in the memory of process %d "
		 "differs",
		 live_pid(changed));
	CHECK_CONTAINS(live_stderr(memtrace), line);
	CHECK(!strstr(live_stderr(memtrace), "own_realloc"));
	check_answer(changed, 2);
	check_answer(other, 1);
	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_INT(live_int(report, "losses.functions_untraced"), 1);
	CHECK_INT(live_int(report, "losses.processes_unchecked"), 0);
	CHECK_INT(live_int(report, "heap.totals.allocations"), calls);
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	check_unharmed(changed, 2);
	check_unharmed(other, 1);
}

/* The program that a traced process executes has the same functions, and has not changed
 * them. */
static void check_exec(struct live_process *changed, struct live_process *other)
{
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(other), FORKS_OF_LIBRARY);
	size_t before;

	CHECK(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	before = breakpoints_count(live_pid(changed));
	json_decref(oracle_ask(other, "exec"));
	CHECK(live_wait_stderr(memtrace, " has loaded ", TIMEOUT_S));
	CHECK_INT(breakpoints_count(live_pid(changed)), before);
	check_answer(changed, 2);
	check_answer(other, 1);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	check_unharmed(changed, 2);
	check_unharmed(other, 1);
}

/* Each run calls own_malloc(), and own_realloc(), which returns no block of its own. */
static void library_changed_elsewhere(void)
{
	static const char *const all[] = {
		NULL,
		"--format",
		"json",
		"--lib",
		FORGED_USDT_BINARY,
		"--symbols-prefix",
		"own_",
		NULL,
	};
	const char *argv[sizeof(all) / sizeof(*all)];
	struct live_process *changed = target_start(FORGED_USDT_BINARY),
			    *other = target_start(FORGED_USDT_BINARY);

	memcpy(argv, all, sizeof(all));
	argv[0] = memtrace_path;
	oracle_do(changed, "change");
	check_traced(live_start(argv), changed, other, 4);
	check_traced(memtrace_start_plain(live_pid(other), FORKS_OF_LIBRARY), changed,
		     other, 2);
	check_exec(changed, other);
	live_destroy(changed);
	live_destroy(other);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(forged_usdt_notes);
	RUN(changed_code);
	RUN(code_changed_elsewhere);
	RUN(a_process_that_is_left_out);
	RUN_WITH_RETURN_PROBES(code_changed_after_the_plan);
	/* Without sites inside, own_realloc() has a return probe. */
	RUN_WITH_RETURN_PROBES(library_changed_elsewhere);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
