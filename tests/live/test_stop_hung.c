// SPDX-License-Identifier: Apache-2.0
/*
 * The first or second signal ends memtrace while a file system, a server or a read of the
 * target does not answer. No probe, breakpoint or child is left.
 */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/files.h"
#include "live/hung_files.h"
#include "live/served_file.h"
#include "live/stop_checks.h"
#include "live/trace.h"

/* The longest time from the first signal to the end while the main thread is stuck, s. */
#define STUCK_END_S 20.0

/* Calls of malloc() by the loader's command "sites". */
#define SITES 128

static struct live_process *start_with_hung_files(const struct hung_files *files,
						  struct live_process *target)
{
	char options[200];
	struct live_process *memtrace;

	snprintf(options, sizeof(options), "-i 0.3 --unwind auto --debug-dir %s",
		 files->path);
	memtrace = memtrace_start(live_pid(target), options);
	oracle_do(target, "run keep 10 1");
	REQUIRE(hung_files_wait(files, TIMEOUT_S));
	return memtrace;
}

/* Reads reports up to the final one. */
static json_t *final_report(struct live_process *memtrace)
{
	for (;;) {
		json_t *report = live_read_json(memtrace, TIMEOUT_S);

		if (!report || json_is_true(live_get(report, "final")))
			return report;
		json_decref(report);
	}
}

/* One signal is enough, and one line says what hung. `taken`: the kernel does not let the
 * waiting task end even if it is killed. */
static void check_hangs(bool taken)
{
	struct live_process *target = stripped_start(), *memtrace;
	struct hung_files files;
	json_t *report;

	if (!hung_files_mount(&files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		live_destroy(target);
		return;
	}
	memtrace = start_with_hung_files(&files, target);
	if (taken)
		hung_files_take(&files);
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report) {
		CHECK_INT(live_int(report, "heap.live_blocks"), 10);
		CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	} else {
		CHECK_FAIL("no final report");
		live_signal(memtrace, SIGINT);
	}
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_INT(live_count(live_stderr(memtrace), "the file system does not answer"),
		  1);
	CHECK_CONTAINS(live_stderr(memtrace), files.path);
	CHECK_CONTAINS(live_stderr(memtrace), "as a file system did not answer\n");
	live_destroy(memtrace);
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	hung_files_unmount(&files);
	live_destroy(target);
	check_untouched();
}

static void a_first_signal_ends_while_a_file_system_hangs(void)
{
	check_hangs(false);
}

static void a_first_signal_ends_while_a_server_holds_a_request(void)
{
	check_hangs(true);
}

/* The directory of many libraries hangs. memtrace tries one file there, and then opens
 * the target's files by their mappings. */
#define HUNG_LIBRARIES 20

static void a_file_system_of_the_target_hangs(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char dir[] = "/tmp/memtrace-library-XXXXXX", library[64];
	struct hung_files files;
	json_t *report;

	REQUIRE(mkdtemp(dir));
	snprintf(library, sizeof(library), "%s/library.so", dir);
	files_copy(LOADED_MALLOC, library);
	oracle_do(loader, "hold %s %d", library, HUNG_LIBRARIES);
	oracle_do(loader, "keep %s 1", library);
	if (!hung_files_mount_on(dir, &files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
	} else {
		memtrace = memtrace_start_plain(live_pid(loader),
						"--format json -i 3600 --unwind auto");
		REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
		oracle_do(loader, "again - 10");
		CHECK_INT(live_count(live_stderr(memtrace),
				     "the file system does not answer"),
			  1);
		/* One request for the file, and one for its directory. */
		CHECK(hung_files_take_all(&files) <= 2);
		live_signal(memtrace, SIGTERM);
		report = final_report(memtrace);
		REQUIRE(report);
		CHECK_INT(live_int(report, "heap.totals.allocations"), 10);
		json_decref(report);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		live_destroy(memtrace);
		hung_files_unmount(&files);
	}
	check_untouched();
	live_destroy(loader);
	unlink(library);
	rmdir(dir);
}

/* Two signals end memtrace at once while it waits, even if the file system keeps a
 * request. */
static void a_second_signal_does_not_wait_for_a_file_system(void)
{
	struct live_process *target = stripped_start(), *memtrace;
	struct hung_files files;
	int status;

	if (!hung_files_mount(&files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		live_destroy(target);
		return;
	}
	memtrace = start_with_hung_files(&files, target);
	hung_files_take(&files);
	CHECK(probes_new(probes_before) > 0);
	live_signal(memtrace, SIGTERM);
	live_sleep(0.005);
	live_signal(memtrace, SIGTERM);
	printf("a second signal: gone after %.3f s\n", check_gone(memtrace));
	status = live_wait(memtrace, 1);
	/* The final report may be written before the second signal. */
	CHECK(status == 0 || status == 128 + SIGTERM);
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	live_destroy(memtrace);
	hung_files_unmount(&files);
	live_destroy(target);
	check_untouched();
}

/* memtrace-open reads the first 64 MiB of a file from a server ahead. The section headers
 * of this library come later. */
static struct served_file *serve_large_library(void)
{
	struct served_file *file;
	char *large = live_path("large.so"), *filler = live_path("filler");
	char command[1000];

	snprintf(command, sizeof(command),
		 "head -c 70000000 /dev/zero > %s && objcopy --add-section .filler=%s %s "
		 "%s",
		 filler, filler, LOADED_MALLOC, large);
	REQUIRE(!system(command));
	file = served_file_create(large, "library.so");
	unlink(filler);
	unlink(large);
	free(filler);
	free(large);
	return file;
}

/* What is known is the calls before, with their stacks and names. */
static void check_known(const json_t *report)
{
	char *text = json_dumps(report, 0);

	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	CHECK(live_int(report, "heap.totals.allocations") >= SITES);
	CHECK(live_int(report, "heap.live_blocks") >= SITES);
	CHECK(json_array_size(live_get(report, "heap.stacks")) > 0);
	CHECK(strstr(text, "call_from_many_sites"));
	free(text);
}

/* The server of a library's file does not answer memtrace's own reads. Returns memtrace,
 * or NULL: this kernel has no FUSE. */
static struct live_process *start_reading(struct served_file **file,
					  struct live_process **loader)
{
	double until_s = live_now_s() + TIMEOUT_S;
	struct live_process *memtrace;

	*file = serve_large_library();
	if (!*file) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		return NULL;
	}
	*loader = target_start(LOADER_BINARY);
	memtrace = memtrace_start_plain(live_pid(*loader),
					"--format json -i 3600 --unwind auto");
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	served_file_hold(*file, (int)live_pid(memtrace));
	oracle_do(*loader, "sites - 1");
	oracle_do(*loader, "keep %s 1", served_file_path(*file));
	while (!served_file_held(*file) && live_now_s() < until_s)
		live_sleep(0.02);
	CHECK(served_file_held(*file) > 0);
	live_sleep(0.5);
	return memtrace;
}

/* A first signal is enough for a report. */
static void a_first_signal_ends_while_reads_hang(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);
	double begin_s = live_now_s();
	json_t *report;

	if (!memtrace)
		return;
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report)
		check_known(report);
	else
		CHECK_FAIL("no final report");
	json_decref(report);
	while (!has_ended(live_pid(memtrace)) && live_now_s() < begin_s + TIMEOUT_S)
		live_sleep(0.02);
	printf("reads hang: gone after %.3f s\n", live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < STUCK_END_S);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGINT);
	CHECK_CONTAINS(live_stderr(memtrace),
		       "takes too long, because a file system does not answer");
	live_destroy(memtrace);
	served_file_destroy(file);
	check_untouched();
	live_destroy(loader);
}

/* A line says so before any signal, once, and names the file. */
static void a_read_that_hangs_is_said(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);
	json_t *report;

	if (!memtrace)
		return;
	CHECK(live_wait_stderr(memtrace, "takes long", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), served_file_path(file));
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report)
		check_known(report);
	else
		CHECK_FAIL("no final report");
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGINT);
	CHECK_INT(live_count(live_stderr(memtrace), "takes long"), 1);
	live_destroy(memtrace);
	served_file_destroy(file);
	check_untouched();
	live_destroy(loader);
}

static void a_second_signal_does_not_wait_for_reads(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);

	if (!memtrace)
		return;
	stop_twice(memtrace, SIGTERM, "reads hang, twice");
	served_file_destroy(file);
	live_destroy(loader);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	oracle = oracle_start();
	RUN(a_first_signal_ends_while_a_file_system_hangs);
	RUN(a_first_signal_ends_while_a_server_holds_a_request);
	RUN_WITH_RETURN_PROBES(a_file_system_of_the_target_hangs);
	RUN(a_second_signal_does_not_wait_for_a_file_system);
	RUN(a_first_signal_ends_while_reads_hang);
	RUN(a_read_that_hangs_is_said);
	RUN(a_second_signal_does_not_wait_for_reads);
	live_destroy(oracle);
	probes_destroy(probes_before);
	return check_done();
}
