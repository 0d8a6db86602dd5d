// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that execute other programs or load other allocators: each program's blocks
 * are counted to the byte, from its first allocation.
 */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

/* --- other programs ----------------------------------------------------------------- */

/* All allocations of the new program are counted, from its constructors on, and none of
 * the old program's. */
static void exec_is_gapless(const char *options)
{
	const char *const command[] = {EXECER_BINARY, SHORT_LIVED_BINARY, NULL};
	struct live_process *target = live_start(command);
	json_t *ready = live_read_json(target, TIMEOUT_S), *report;
	pid_t pid = live_pid(target);
	struct live_process *memtrace = memtrace_with("--pid %d %s", (int)pid, options);

	REQUIRE(ready);
	json_decref(ready);
	memtrace_await(memtrace);
	oracle_do(target, "allocate");
	live_send(target, "exec");
	report = memtrace_end(memtrace, 0);
	CHECK_INT(json_array_size(live_get(report, "targets")), 1);
	CHECK_SITE(report, 0, "site_before_exec", 0, 0);
	CHECK_INT(live_int(report, "heap.totals.gone"), 100);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK_INT(live_int(report, "heap.live_bytes"), 30 * 1000 + 111 + 77);
	check_books(report);
	json_decref(report);
	live_destroy(target);
}

static void exec_misses_nothing(void)
{
	exec_is_gapless("");
	exec_is_gapless("--follow-forks");
	exec_is_gapless("--attach perf");
}

#ifdef EXECER_MUSL_BINARY
/* The probes in musl read arguments in fewer registers than those in glibc. Programs for
 * glibc's are compiled after the exec. They need no return probes. */
static void exec_from_musl_to_glibc(void)
{
	const char *const command[] = {EXECER_MUSL_BINARY, FAMILY_BINARY, NULL};
	const char *const options[] = {"", "--follow-forks"};

	for (size_t i = 0; i < 2; i++) {
		struct live_process *target = live_start(command);
		struct live_process *memtrace;
		json_t *report;

		json_decref(live_read_json(target, TIMEOUT_S));
		memtrace =
			memtrace_with("--pid %d %s", (int)live_pid(target), options[i]);
		memtrace_await(memtrace);
		oracle_do(target, "allocate");
		live_send(target, "exec");
		json_decref(live_read_json(target, TIMEOUT_S));
		REQUIRE(live_wait_stderr(memtrace, "has loaded", TIMEOUT_S));
		oracle_do(target, "keep 40 60");
		report = memtrace_stop(memtrace);
		CHECK_SITE(report, 0, "site_before_exec", 0, 0);
		CHECK_SITE(report, 0, "site_keep", 40, 40 * 60);
		check_books(report);
		json_decref(report);
		live_destroy(target);
	}
}
#endif

static void exec_of_a_thread(const char *options)
{
	const char *const command[] = {FAMILY_BINARY, NULL};
	struct live_process *target = family_start(command);
	pid_t pid = live_pid(target);
	struct live_process *memtrace = memtrace_with("--pid %d %s", (int)pid, options);
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "keep 30 50");
	live_send(target, "texec");
	REQUIRE(live_wait_stderr(memtrace, "executed", TIMEOUT_S));
	json_decref(live_read_json(target, TIMEOUT_S));
	/* The probes of one process end with its main thread. memtrace attaches them
	 * again. */
	if (!strstr(options, "--follow-forks"))
		REQUIRE(live_wait_stderr(memtrace, "has loaded", TIMEOUT_S));
	oracle_do(target, "keep 40 60");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, pid, "site_keep", 40, 40 * 60);
	check_books(report);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

static void exec_by_a_thread(void)
{
	exec_of_a_thread("--follow-forks");
	exec_of_a_thread("");
	exec_of_a_thread("--attach perf");
	CHECK(probes_gone(probes_before));
}

/* The descendants are other programs from their first instruction on. */
static void spawned_programs(void)
{
	const char *const command[] = {SHORT_LIVED_BINARY, NULL};
	struct live_process *target = family_start(command);
	struct live_process *memtrace =
		memtrace_with("--follow-forks --pid %d", (int)live_pid(target));
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "spawn");
	oracle_do(target, "vfork");
	report = memtrace_report(memtrace);
	CHECK_INT(json_array_size(live_get(report, "targets")), 3);
	CHECK_INT(live_int(report, "heap.live_bytes"), 2 * (30 * 1000 + 111 + 77));
	CHECK_INT(live_int(report, "heap.live_blocks"), 2 * 32);
	check_books(report);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* --- libraries that come later ----------------------------------------------------- */

static void loaded_allocator(void)
{
	struct live_process *target = family_start(NULL);
	pid_t pid = live_pid(target);
	struct live_process *memtrace = memtrace_with("--pid %d", (int)pid);
	int64_t before;
	json_t *report;

	memtrace_await(memtrace);
	/* Allocations before the probes are attached may or may not be counted. */
	oracle_do(target, "load %s 0 16", LOADED_MALLOC);
	REQUIRE(live_wait_stderr(memtrace, "has loaded", TIMEOUT_S));
	oracle_do(target, "load %s 50 16", LOADED_MALLOC);
	oracle_do(target, "keep 60 20");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, pid, "site_loaded", 50, 50 * 16);
	CHECK_SITE(report, pid, "site_keep", 60, 60 * 20);
	CHECK_INT(sum_of(report, "heap", pid, "site_keep", "glibc").blocks, 60);
	CHECK_INT(
		sum_of(report, "heap", pid, "site_loaded", "libloaded_malloc.so").blocks,
		50);
	check_books(report);
	json_decref(report);

	/* Loaded again at the same addresses: each place has one probe, not two. */
	oracle_do(target, "unload");
	oracle_do(target, "load %s 1 16", LOADED_MALLOC);
	live_sleep(0.3);
	report = memtrace_report(memtrace);
	before = live_int(report, "heap.totals.allocations");
	json_decref(report);
	oracle_do(target, "load %s 70 16", LOADED_MALLOC);
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations") - before, 70);
	CHECK_INT(compare_losses(report, "blocks_replaced"), 0);
	json_decref(report);
	live_destroy(target);
}

/* An allocator whose probes need BPF programs that were not compiled at the start. */
static void loaded_allocator_of_another_kind(void)
{
	struct live_process *target = family_start(NULL);
	pid_t pid = live_pid(target);
	struct live_process *memtrace = memtrace_with("--pid %d", (int)pid);
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "keep 30 20");
	oracle_do(target, "load %s 0 16", LOADED_APART);
	REQUIRE(live_wait_stderr(memtrace, "has loaded", 60));
	oracle_do(target, "load %s 50 16", LOADED_APART);
	oracle_do(target, "keep 60 20");
	report = memtrace_stop(memtrace);
	CHECK_SITE(report, pid, "site_loaded", 50, 50 * 16);
	/* Both allocators use the same tables. */
	CHECK_SITE(report, pid, "site_keep", 90, 90 * 20);
	check_books(report);
	json_decref(report);
	live_destroy(target);
}

/* The new program has its own allocator, in a file that can be probed only after the
 * exec. */
static void exec_of_another_allocator(void)
{
	const char *const command[] = {OWN_MALLOC_BINARY, NULL};
	const char *const options[] = {"", "--follow-forks"};

	for (size_t i = 0; i < 2; i++) {
		struct live_process *target = family_start(command);
		struct live_process *memtrace =
			memtrace_with("--pid %d %s", (int)live_pid(target), options[i]);
		json_t *report;

		memtrace_await(memtrace);
		oracle_do(target, "keep 12 34");
		live_send(target, "exec");
		json_decref(live_read_json(target, TIMEOUT_S));
		REQUIRE(live_wait_stderr(memtrace, "has loaded " OWN_MALLOC_BINARY,
					 TIMEOUT_S));
		oracle_do(target, "work");
		report = memtrace_stop(memtrace);
		CHECK_SITE(report, 0, "site_keep", 0, 0);
		CHECK_SITE(report, 0, "site_own_malloc", 100, 100 * 24);
		CHECK_SITE(report, 0, "site_own_calloc", 100, 100 * 30);
		CHECK_SITE(report, 0, "site_own_realloc", 100, 100 * 70);
		CHECK_INT(sum_of(report, "heap", 0, "site_own_malloc", "glibc").blocks,
			  0);
		check_books(report);
		json_decref(report);
		live_destroy(target);
	}
}

/* The process is forked and executes a program before memtrace gets either event: it
 * shares no file with its parent. With enough other processes before it, the kernel's
 * buffers overflow, and only the probes report it. */
static void executed_between_two_reads(unsigned others)
{
	static const char format[] =
		"echo '{\"ready\": true}'; read go; i=0;"
		"while [ $i -lt %u ]; do /bin/true; i=$((i+1)); done;" OWN_MALLOC_BINARY
		"; exit 0";
	char script[sizeof(format) + 16];
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct live_process *target, *memtrace;
	json_t *report;

	snprintf(script, sizeof(script), format, others);
	target = live_start(argv);

	json_decref(live_read_json(target, TIMEOUT_S));
	/* With unwind rules, the misses of all the other processes could overflow the
	 * ring. */
	memtrace = memtrace_with("--follow-forks -v --unwind fp --pid %d",
				 (int)live_pid(target));
	memtrace_await(memtrace);
	live_signal(memtrace, SIGSTOP);
	usleep(300 * 1000);
	live_send(target, "go");
	json_decref(live_read_json(target, TIMEOUT_S));
	live_signal(memtrace, SIGCONT);
	CHECK(live_wait_stderr(memtrace, "has loaded " OWN_MALLOC_BINARY, TIMEOUT_S));
	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_SITE(report, 0, "site_own_malloc", 100, 100 * 24);
	CHECK_SITE(report, 0, "site_own_calloc", 100, 100 * 30);
	CHECK_SITE(report, 0, "site_own_realloc", 100, 100 * 70);
	check_books(report);
	json_decref(report);
	live_destroy(target);
}

static void another_allocator_between_two_reads(void)
{
	executed_between_two_reads(0);
	executed_between_two_reads(1000);
}

/* memtrace exits with the command's status, and counts the command's children. */
static void launched_command(void)
{
	const char *const argv[] = {
		memtrace_path,
		"--format",
		"json",
		"--follow-forks",
		"--older",
		"0",
		"--",
		"sh",
		"-c",
		SHORT_LIVED_BINARY " 0; " SHORT_LIVED_BINARY " 0 & wait; exit 9",
		NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report = memtrace_end(memtrace, 9);
	const json_t *process;
	size_t i, found = 0;

	json_array_foreach (live_get(report, "heap.processes"), i, process)
		found += live_int(process, "live_bytes") == 30 * 1000 + 111 + 77;
	CHECK_INT(found, 2);
	CHECK_INT(json_array_size(live_get(report, "targets")), 3);
	check_books(report);
	json_decref(report);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(exec_misses_nothing);
#ifdef EXECER_MUSL_BINARY
	RUN(exec_from_musl_to_glibc);
#endif
	RUN(exec_by_a_thread);
	RUN(spawned_programs);
	RUN_WITH_RETURN_PROBES(exec_of_another_allocator);
	RUN_WITH_RETURN_PROBES(another_allocator_between_two_reads);
	RUN(launched_command);
	RUN_WITH_RETURN_PROBES(loaded_allocator);
	RUN(loaded_allocator_of_another_kind);
	probes_destroy(probes_before);
	return check_done();
}
