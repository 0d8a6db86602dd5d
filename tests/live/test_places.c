// SPDX-License-Identifier: Apache-2.0
/*
 * Each place has one probe, whatever the process does: after an exec, a fork or a
 * dlopen() the breakpoints in an allocator's text are at the same bytes as after a new
 * attach.
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"
#include "live/text_changes.h"

#define TIMEOUT_S 30

/* memtrace acts on an exec within 100 ms. For one more second it has additional probes,
 * which check others (docs/probes.md). */
#define SETTLE_S 1.5

/* time for other tracers to end, s */
#define UNTOUCHED_S 60

static struct probes *probes_before;

/* --- memtrace ----------------------------------------------------------------------- */

/* Waits until memtrace has printed `text` `times` times. */
static void await_said(struct live_process *memtrace, const char *text, unsigned times)
{
	double until_s = live_now_s() + TIMEOUT_S;

	for (;;) {
		const char *at = live_stderr(memtrace);
		unsigned n = 0;

		while ((at = strstr(at, text))) {
			at += strlen(text);
			n++;
		}
		if (n >= times)
			return;
		if (live_now_s() > until_s)
			live_fail("not said %u times: %s: %s", times, text,
				  live_stderr(memtrace));
		live_sleep(0.01);
	}
}

/* Waits until memtrace has acted on all events so far. It does so before each report. */
static void settle(struct live_process *memtrace)
{
	json_decref(memtrace_report(memtrace));
	live_sleep(SETTLE_S);
	json_decref(memtrace_report(memtrace));
}

static pid_t await_ready(struct live_process *target)
{
	json_t *ready = live_read_json(target, TIMEOUT_S);
	pid_t pid;

	REQUIRE(ready);
	pid = (pid_t)live_int(ready, "ready");
	json_decref(ready);
	return pid;
}

/* Waits for the end of other tracers: system-wide tracers have breakpoints in our
 * processes, too. */
static void await_untouched(pid_t pid)
{
	double until_s = live_now_s() + UNTOUCHED_S;

	while (find_changes(pid, "libc.so.6").count) {
		if (live_now_s() > until_s)
			live_fail("another tracer is at work: run this test alone");
		live_sleep(0.1);
	}
}

/* What a new attach changes in libc and in LOADED_MALLOC. */
struct fresh {
	const char *options;
	struct changes libc, loaded;
};

static void attach_once(struct fresh *ret)
{
	struct live_process *target = family_start(NULL), *memtrace;
	pid_t pid = live_pid(target);

	oracle_do(target, "load %s 1 16", LOADED_MALLOC);
	await_untouched(pid);
	memtrace = memtrace_with("--pid %d %s", (int)pid, ret->options);
	memtrace_await(memtrace);
	live_sleep(SETTLE_S);
	ret->libc = find_changes(pid, "libc.so.6");
	CHECK(count_in(&ret->libc, find_function("malloc")) > 0);
	CHECK(count_in(&ret->libc, find_function("free")) > 0);
	ret->loaded = find_changes(pid, strrchr(LOADED_MALLOC, '/') + 1);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
	/* Otherwise the next tracer would find these probes and avoid them. */
	REQUIRE(probes_gone(probes_before));
}

/* Cached: the same options always change the same bytes. `loaded` may be NULL. */
static void attach_afresh(const char *options, struct changes *libc,
			  struct changes *loaded)
{
	static struct fresh known[16];
	size_t i = 0;

	while (known[i].options && strcmp(known[i].options, options) != 0)
		i++;
	REQUIRE(i < sizeof(known) / sizeof(*known) - 1);
	if (!known[i].options) {
		known[i].options = options;
		attach_once(&known[i]);
	}
	*libc = known[i].libc;
	if (loaded)
		*loaded = known[i].loaded;
}

/* Checks that each call is counted once. */
static void check_calls(struct live_process *target, struct live_process *memtrace)
{
	json_t *before = memtrace_report(memtrace), *after;

	oracle_do(target, "keep 100 24");
	oracle_do(target, "drop 50");
	after = memtrace_report(memtrace);
	CHECK_INT(live_int(after, "heap.totals.allocations") -
			  live_int(before, "heap.totals.allocations"),
		  100);
	CHECK_INT(live_int(after, "heap.totals.frees") -
			  live_int(before, "heap.totals.frees"),
		  50);
	CHECK_INT(live_int(after, "heap.totals.frees_unknown") -
			  live_int(before, "heap.totals.frees_unknown"),
		  0);
	CHECK_INT(compare_losses(after, NULL), 0);
	json_decref(before);
	json_decref(after);
}

/* --- exec --------------------------------------------------------------------------- */

static const char *const ways[] = {
	"--unwind auto", "--follow-forks", "--unwind fp",
	"--attach perf", "--mappings",     "--mappings --follow-forks",
};

#define WAYS (sizeof(ways) / sizeof(*ways))

/* The target executes another program. `order` is the command for that, `nth` counts the
 * programs. */
static void execute(struct live_process *target, struct live_process *memtrace,
		    const char *order, unsigned nth, const struct changes *fresh)
{
	char when[32];

	snprintf(when, sizeof(when), "after %s %u", order, nth);
	live_send(target, "%s", order);
	CHECK_INT(await_ready(target), live_pid(target));
	await_said(memtrace, "executed another program", nth);
	settle(memtrace);
	check_libc(live_pid(target), fresh, when);
	check_calls(target, memtrace);
}

static void execs(const char *options)
{
	const char *const command[] = {FAMILY_BINARY, FAMILY_BINARY, FAMILY_BINARY, NULL};
	struct live_process *target, *memtrace;
	struct changes fresh;

	attach_afresh(options, &fresh, NULL);
	target = family_start(command);
	memtrace = memtrace_with("--pid %d %s", (int)live_pid(target), options);
	memtrace_await(memtrace);
	check_libc(live_pid(target), &fresh, "attached");
	execute(target, memtrace, "exec", 1, &fresh);
	/* The kernel removes the probes of the process with its main thread. memtrace
	 * attaches them again. */
	execute(target, memtrace, "texec", 2, &fresh);
	if (live_is_long())
		execute(target, memtrace, "exec", 3, &fresh);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

static void after_an_exec_by_the_main_thread_or_another(void)
{
	for (size_t i = 0; i < WAYS; i++)
		execs(ways[i]);
	CHECK(probes_gone(probes_before));
}

/* --- fork --------------------------------------------------------------------------- */

/* A shell that waits for a line and then executes FAMILY_BINARY in a child. */
static struct live_process *start_shell(void)
{
	const char *const argv[] = {"sh", "-c",
				    "echo '{\"ready\": true}'; read go; " FAMILY_BINARY
				    " " FAMILY_BINARY "; exit 0",
				    NULL};
	struct live_process *shell = live_start(argv);

	json_decref(live_read_json(shell, TIMEOUT_S));
	return shell;
}

/* The only child of a process. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	REQUIRE(file);
	REQUIRE(fscanf(file, "%d", &child) == 1);
	fclose(file);
	return child;
}

static void forks(const char *options)
{
	struct live_process *shell, *memtrace;
	struct changes fresh, loaded;
	pid_t pid, child;

	attach_afresh(options, &fresh, &loaded);
	shell = start_shell();
	memtrace = memtrace_with("--pid %d %s", (int)live_pid(shell), options);
	memtrace_await(memtrace);
	live_send(shell, "go");
	pid = await_ready(shell);
	settle(memtrace);
	check_libc(live_pid(shell), &fresh, "a child has executed a program");
	check_libc(pid, &fresh, "in a child that has executed a program");
	check_calls(shell, memtrace);
	/* "nest" starts children that stay. */
	oracle_do(shell, "nest");
	settle(memtrace);
	child = child_of(pid);
	check_libc(child, &fresh, "in a child");
	check_libc(child_of(child), &fresh, "in a child of it");
	oracle_do(shell, "reap");
	oracle_do(shell, "load %s 1 16", LOADED_MALLOC);
	settle(memtrace);
	check_library(pid, LOADED_MALLOC, &loaded, "loaded by the child");
	live_send(shell, "exec");
	CHECK_INT(await_ready(shell), pid);
	settle(memtrace);
	check_libc(pid, &fresh, "in a child that has executed two programs");
	oracle_do(shell, "load %s 1 16", LOADED_MALLOC);
	settle(memtrace);
	check_libc(pid, &fresh, "the child has loaded a library again");
	check_library(pid, LOADED_MALLOC, &loaded, "loaded by the child again");
	check_calls(shell, memtrace);
	json_decref(memtrace_stop(memtrace));
	live_destroy(shell);
}

static void after_a_fork(void)
{
	forks("--follow-forks --unwind auto");
	/* The kernel takes 0.1 s to remove each of these probes. */
	if (live_is_long())
		forks("--follow-forks --attach perf");
	CHECK(probes_gone(probes_before));
}

/* --- dlopen ------------------------------------------------------------------------- */

static void loads(const char *options)
{
	const char *const command[] = {FAMILY_BINARY, NULL};
	struct live_process *a, *b, *memtrace;
	struct changes fresh, loaded;

	attach_afresh(options, &fresh, &loaded);
	a = family_start(command);
	b = family_start(command);
	memtrace = memtrace_with("--pid %d,%d %s", (int)live_pid(a), (int)live_pid(b),
				 options);
	memtrace_await(memtrace);
	for (int i = 0; i < 2; i++) {
		oracle_do(a, "load %s 1 16", LOADED_MALLOC);
		settle(memtrace);
		check_library(live_pid(a), LOADED_MALLOC, &loaded, "loaded");
		check_libc(live_pid(a), &fresh, "a library is loaded");
		oracle_do(b, "load %s 1 16", LOADED_MALLOC);
		settle(memtrace);
		check_library(live_pid(b), LOADED_MALLOC, &loaded, "loaded by both");
		oracle_do(a, "unload");
		oracle_do(b, "unload");
	}
	live_send(b, "exec");
	CHECK_INT(await_ready(b), live_pid(b));
	oracle_do(b, "load %s 1 16", LOADED_MALLOC);
	settle(memtrace);
	check_library(live_pid(b), LOADED_MALLOC, &loaded, "loaded after an exec");
	check_libc(live_pid(a), &fresh, "the other has executed a program");
	check_libc(live_pid(b), &fresh, "after an exec of one of two");
	json_decref(memtrace_stop(memtrace));
	live_destroy(a);
	live_destroy(b);
}

static void after_a_dlopen(void)
{
	loads("--follow-forks");
	if (live_is_long())
		loads("--attach perf");
	loads("--mappings");
	CHECK(probes_gone(probes_before));
}

/* --- breakpoints that others want --------------------------------------------------- */

/* The highest thread id. After its exit the main thread has no memory. */
static pid_t last_thread(pid_t pid)
{
	char path[64];
	pid_t last = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		last = atoi(entry->d_name) > last ? atoi(entry->d_name) : last;
	closedir(dir);
	return last;
}

/* With perf events the probes of a process whose main thread has exited are breakpoints
 * in all processes. Another process finds them in a library that it loads. */
static void with_breakpoints_for_another_process(void)
{
	static const char options[] = "--attach perf";
	const char *const command[] = {FAMILY_BINARY, NULL};
	const char *const headless[] = {HEADLESS_BINARY, "stay", NULL};
	struct live_process *a = live_start(headless), *b, *memtrace;
	struct changes fresh, loaded;

	json_decref(live_read_json(a, TIMEOUT_S));
	attach_afresh(options, &fresh, &loaded);
	b = family_start(command);
	memtrace = memtrace_with("--pid %d,%d %s", (int)live_pid(a), (int)live_pid(b),
				 options);
	memtrace_await(memtrace);
	oracle_do(a, "load %s", LOADED_MALLOC);
	settle(memtrace);
	oracle_do(a, "leave");
	REQUIRE(live_wait_stderr(memtrace, "is probed anew in", TIMEOUT_S));
	settle(memtrace);
	check_libc(last_thread(live_pid(a)), &fresh, "probed anew");
	check_library(last_thread(live_pid(a)), LOADED_MALLOC, &loaded, "probed anew");
	oracle_do(b, "load %s 1 16", LOADED_MALLOC);
	settle(memtrace);
	check_library(live_pid(b), LOADED_MALLOC, &loaded, "others want breakpoints");
	live_send(b, "exec");
	CHECK_INT(await_ready(b), live_pid(b));
	settle(memtrace);
	check_libc(live_pid(b), &fresh, "others want breakpoints, after an exec");
	json_decref(memtrace_stop(memtrace));
	live_destroy(a);
	live_destroy(b);
	CHECK(probes_gone(probes_before));
}

/* A second tracer has probes at the same places as the first: they share breakpoints,
 * also in programs that are executed later. */
static void beside_another_tracer(void)
{
	static const char options[] = "--follow-forks";
	struct live_process *shell, *family, *one, *other;
	struct changes fresh, both;
	pid_t pid;

	attach_afresh(options, &fresh, NULL);
	shell = start_shell();
	family = family_start(NULL);
	one = memtrace_with("--pid %d %s", (int)live_pid(shell), options);
	memtrace_await(one);
	other = memtrace_with("--pid %d %s", (int)live_pid(family), options);
	memtrace_await(other);
	both = find_changes(live_pid(shell), "libc.so.6");
	live_send(shell, "go");
	pid = await_ready(shell);
	settle(one);
	check_libc(pid, &both, "beside another tracer");
	live_send(shell, "exec");
	CHECK_INT(await_ready(shell), pid);
	settle(one);
	check_libc(pid, &both, "beside another tracer, after an exec");
	check_libc(live_pid(family), &both, "beside another tracer");
	check_calls(shell, one);
	json_decref(memtrace_stop(other));
	live_sleep(SETTLE_S);
	check_libc(pid, &fresh, "another tracer has gone");
	check_calls(shell, one);
	json_decref(memtrace_stop(one));
	live_destroy(shell);
	live_destroy(family);
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(after_an_exec_by_the_main_thread_or_another);
	RUN_WITH_RETURN_PROBES(after_a_fork);
	RUN_WITH_RETURN_PROBES(after_a_dlopen);
	RUN(with_breakpoints_for_another_process);
	RUN(beside_another_tracer);
	probes_destroy(probes_before);
	return check_done();
}
