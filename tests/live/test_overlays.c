// SPDX-License-Identifier: Apache-2.0
/*
 * Targets whose program and libraries are on overlayfs, as in containers: with layers on
 * one file system and on two; files in a lower layer, copied up, and deleted. The kernel
 * has several names for these files (src/process/file_names.h).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "overlays.h"

#define TIMEOUT_S 30
#define TIMES     100 /* as in targets/omitted.c */

#if defined(__aarch64__)
#define LIBC "/usr/lib/aarch64-linux-gnu/libc.so.6"
#else
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#endif

/* --- overlays --------------------------------------------------------------------- */

static char *folder;

/* A path in this test's folder. Owned. */
__attribute__((format(printf, 1, 2))) static char *path_of(const char *format, ...)
{
	char *name, *path;
	va_list ap;

	va_start(ap, format);
	REQUIRE(vasprintf(&name, format, ap) > 0);
	va_end(ap);
	REQUIRE(asprintf(&path, "%s/%s", folder, name) > 0);
	free(name);
	return path;
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char *command;
	va_list ap;

	va_start(ap, format);
	REQUIRE(vasprintf(&command, format, ap) > 0);
	va_end(ap);
	if (system(command) != 0)
		live_fail("failed: %s", command);
	free(command);
}

/* Mounts an overlay `name` of the lower layer "low" and a new layer on the file system
 * `upper`. */
static void mount_overlay(const char *name, const char *upper, const char *option)
{
	char *merged = path_of("%s", name), *options = NULL;

	run("cd %s && mkdir -p %s %s/%s %s/%s.work", folder, name, upper, name, upper,
	    name);
	REQUIRE(asprintf(&options,
			 "lowerdir=%s/one/low,upperdir=%s/%s/%s,workdir=%s/%s/%s.work%s",
			 folder, folder, upper, name, folder, upper, name, option) > 0);
	if (mount("overlay", merged, "overlay", 0, options))
		live_fail("cannot mount an overlay (%s): %s", options, strerror(errno));
	free(merged);
	free(options);
}

/* Mounts two overlays, "merged" and "other", with the same lower layer. */
static void open_overlays(const char *upper, const char *option)
{
	run("cd %s && mkdir -p one two && mount -t tmpfs one one && "
	    "mount -t tmpfs two two && mkdir one/low",
	    folder);
	run("cd %s/one/low && cp " LIBC " " OMITTED_BINARY " " FAMILY_BINARY
	    " " LOADED_MALLOC " . && cp " LIBRARY_A " a.so && cp " LIBRARY_B " b.so",
	    folder);
	mount_overlay("merged", upper, option);
	mount_overlay("other", upper, option);
}

static void close_overlays(void)
{
	run("cd %s && umount -l merged other one two", folder);
}

/* --- targets and tracers ---------------------------------------------------------- */

/* Starts a program of an overlay with the libc in it. The arguments `names` are files of
 * the overlay, too. */
static struct live_process *start(const char *overlay, const char *program,
				  const char *const names[])
{
	char *own = path_of("%s", overlay), *arguments[8] = {NULL};
	const char *argv[8] = {NULL};
	struct live_process *target;
	json_t *ready;

	argv[0] = arguments[0] = path_of("%s/%s", overlay, strrchr(program, '/') + 1);
	for (size_t i = 0; names[i]; i++)
		argv[i + 1] = arguments[i + 1] = path_of("%s/%s", overlay, names[i]);
	setenv("LD_LIBRARY_PATH", own, 1);
	target = live_start(argv);
	ready = live_read_json(target, TIMEOUT_S);
	unsetenv("LD_LIBRARY_PATH");
	if (!ready)
		live_fail("%s did not start: %s", argv[0], live_stderr(target));
	json_decref(ready);
	for (size_t i = 0; arguments[i]; i++)
		free(arguments[i]);
	free(own);
	return target;
}

static const char *const none[] = {NULL};

static struct live_process *family(const char *overlay)
{
	return start(overlay, FAMILY_BINARY, none);
}

/* Starts memtrace with these options and waits until its probes are attached. */
__attribute__((format(printf, 1, 2))) static struct live_process *
tracer(const char *format, ...)
{
	const char *argv[32] = {memtrace_path, "--format", "json", "--top", "0",
				"--older",     "0",        "-i",   "3600"};
	struct live_process *memtrace;
	char *words = NULL, *save = NULL;
	size_t n = 9;
	va_list ap;

	va_start(ap, format);
	REQUIRE(vasprintf(&words, format, ap) > 0);
	va_end(ap);
	for (char *word = strtok_r(words, " ", &save); word && n < 31;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	memtrace = live_start(argv);
	if (!live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S))
		live_fail("memtrace did not begin to trace (status %d): %s",
			  live_wait(memtrace, 0.1), live_stderr(memtrace));
	free(words);
	return memtrace;
}

static void end(struct live_process *target)
{
	CHECK(live_is_running(target));
	live_destroy(target);
}

/* Checks the live blocks of a process. All have the same size. */
static void check_process(const json_t *report, const struct live_process *target,
			  int64_t blocks, int64_t size)
{
	const json_t *process;
	int64_t found = -1, bytes = -1;
	size_t i;

	json_array_foreach (live_get(report, "heap.processes"), i, process) {
		if (live_int(process, "pid") != live_pid(target))
			continue;
		found = live_int(process, "live_blocks");
		bytes = live_int(process, "live_bytes");
	}
	CHECK_INT(found, blocks);
	CHECK_INT(bytes, blocks * size);
}

/* --- the tests -------------------------------------------------------------------- */

/* How many live blocks of this size have a complete stack with the function `middle`. */
static int64_t count_whole(const json_t *report, int64_t size, const char *middle)
{
	const json_t *row, *frame;
	int64_t found = 0;
	size_t i, j;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");
		bool is_there = false, is_main = false;

		json_array_foreach (json_object_get(row, "frames"), j, frame) {
			const char *symbol =
				json_string_value(json_object_get(frame, "symbol"));

			is_there |= symbol && !strcmp(symbol, middle);
			is_main |= symbol && !strcmp(symbol, "main");
		}
		if (live_int(row, "size_bytes") == blocks * size && is_there && is_main &&
		    !strcmp(json_string_value(live_get(row, "end")), "complete"))
			found += blocks;
	}
	return found;
}

/*
 * Libraries that are loaded and unloaded at the same address: memtrace hears of each from
 * the kernel, and reads /proc, too. If a library is unloaded before memtrace first reads
 * it, some stacks are cut short: at most a tenth, on a busy machine.
 */
static void whole_stacks(void)
{
	static const char *const libraries[] = {"a.so", "b.so", NULL};
	struct live_process *target, *memtrace;
	json_t *report;

	/* chmod copies the files up: the same names, but other files. */
	run("cd %s/merged && chmod 0751 b.so %s", folder,
	    strrchr(OMITTED_BINARY, '/') + 1);
	target = start("merged", OMITTED_BINARY, libraries);
	memtrace = memtrace_start(live_pid(target), "--no-lines --unwind auto");
	oracle_do(target, "recursion");
	oracle_do(target, "dlopen");
	report = memtrace_stop(memtrace);
	CHECK_INT(count_whole(report, 1001, "scenario_recursion"), TIMES);
	CHECK(count_whole(report, 2001, "scenario_dlopen") >= TIMES * 9 / 10);
	CHECK(count_whole(report, 2002, "scenario_dlopen") >= TIMES * 9 / 10);
	CHECK_INT(compare_losses(report, "walks_lost"), 0);
	json_decref(report);
	end(target);
}

/* Processes that map the library in one overlay, and one that maps it in the other
 * overlay, where it is the same file of the lower layer. */
static void users_of_a_library(void)
{
	const char *name = strrchr(LOADED_MALLOC, '/') + 1;
	struct live_process *early = family("merged"), *late, *other, *memtrace;
	json_t *report;

	oracle_do(early, "load %s/merged/%s 5 32", folder, name);
	memtrace = tracer("--lib %s/merged/%s --sample-every 1", folder, name);
	CHECK_CONTAINS(live_stderr(memtrace), "1 at present");
	late = family("merged");
	other = family("other");
	oracle_do(late, "load %s/merged/%s 20 32", folder, name);
	oracle_do(other, "load %s/other/%s 30 32", folder, name);
	oracle_do(early, "load %s/merged/%s 10 32", folder, name);
	report = memtrace_stop(memtrace);
	check_process(report, early, 10, 32);
	check_process(report, late, 20, 32);
	check_process(report, other, 30, 32);
	CHECK_INT(json_array_size(live_get(report, "targets")), 3);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);

	end(early);
	end(late);
	end(other);
}

/* --lib with the base name, and with a path for one process. */
static void library_by_name(void)
{
	const char *name = strrchr(LOADED_MALLOC, '/') + 1;
	struct live_process *target = family("merged"), *memtrace;
	json_t *report;

	oracle_do(target, "load %s/merged/%s 5 32", folder, name);
	memtrace = tracer("--lib %s --sample-every 1", name);
	oracle_do(target, "load %s/merged/%s 7 32", folder, name);
	report = memtrace_stop(memtrace);
	check_process(report, target, 7, 32);
	json_decref(report);
	memtrace = tracer("--pid %d --lib %s/merged/%s --sample-every 1",
			  (int)live_pid(target), folder, name);
	oracle_do(target, "load %s/merged/%s 8 32", folder, name);
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 8);
	json_decref(report);
	end(target);
}

/* Each call counts once, although the same libc has two names. Also for children, and
 * when the name of the file belongs to another file. */
static void processes_of_two_overlays(void)
{
	struct live_process *a = family("merged"), *b = family("other"), *memtrace;
	json_t *report;

	memtrace = tracer("--follow-forks --sample-every 1 --pid %d,%d", (int)live_pid(a),
			  (int)live_pid(b));
	oracle_do(a, "keep 10 48");
	oracle_do(b, "keep 20 48");
	run("cd %s/merged && cp " LIBC " new && mv new libc.so.6 && rm -f %s", folder,
	    strrchr(FAMILY_BINARY, '/') + 1);
	oracle_do(a, "drop 4");
	oracle_do(b, "children 2");
	report = memtrace_stop(memtrace);
	check_process(report, a, 6, 48);
	check_process(report, b, 20, 48);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 10 + 20 + 2 * 5);
	CHECK_INT(live_int(report, "heap.totals.frees"), 4 + 2 * 2);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);

	/* The process's files were deleted before the attach. */
	memtrace = tracer("--sample-every 1 --pid %d", (int)live_pid(a));
	oracle_do(a, "keep 3 64");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 3);
	CHECK_INT(report_site(report, "heap", "site_keep").bytes, 3 * 64);
	json_decref(report);
	end(a);
	end(b);
}

static void layers_of_one_file_system(void)
{
	open_overlays("one", "");
	whole_stacks();
	close_overlays();
}

/* stat(2) gives such files separate device numbers. */
static void layers_of_two_file_systems(void)
{
	open_overlays("two", ",xino=off");
	whole_stacks();
	users_of_a_library();
	library_by_name();
	processes_of_two_overlays();
	close_overlays();
}

int main(void)
{
	live_require_root();
	if (!has_overlays())
		check_skip("the kernel has no overlayfs");
	/* Only memtrace and the targets see the mounts. */
	REQUIRE(!unshare(CLONE_NEWNS) &&
		!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	folder = live_path("overlays");
	REQUIRE(!mkdir(folder, 0755) && !mount("overlays", folder, "tmpfs", 0, NULL));
	RUN(layers_of_one_file_system);
	RUN_WITH_RETURN_PROBES(layers_of_two_file_systems);
	REQUIRE(!umount2(folder, MNT_DETACH));
	free(folder);
	return check_done();
}
