// SPDX-License-Identifier: Apache-2.0
/*
 * Odd files where memtrace looks for a file of its target: a FIFO, a link, a device, a
 * directory, another library, or a path of 4,000 characters. memtrace must open the file
 * that the target has mapped, or none.
 */
#include "check.h"
#include "decoy.h"
#include "live/breakpoints.h"
#include "live/files.h"
#include "live/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TIMEOUT_S 60
#define CALLS     50

static struct probes *probes_before;

/* --- odd files -------------------------------------------------------------------- */

/* A FIFO without a writer: opening it for reading never returns. */
static void make_fifo(const char *path)
{
	REQUIRE(!mkfifo(path, 0666));
}

static void make_device(const char *path)
{
	/* /dev/full */
	REQUIRE(!mknod(path, S_IFCHR | 0666, makedev(1, 7)));
}

static void make_directory(const char *path)
{
	REQUIRE(!mkdir(path, 0777));
}

static void make_link(const char *path)
{
	char file[600];

	snprintf(file, sizeof(file), "%s.file", path);
	files_copy("/etc/passwd", file);
	REQUIRE(!symlink(file, path));
}

static void make_link_to_fifo(const char *path)
{
	char fifo[600];

	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	make_fifo(fifo);
	REQUIRE(!symlink(fifo, path));
}

static void make_text(const char *path)
{
	files_copy("/etc/passwd", path);
}

static const struct kind {
	const char *name;
	void (*make)(const char *path);
	bool may_open; /* in place of a perf map: it has no effect */
} kinds[] = {
	{"fifo", make_fifo, false},
	{"device", make_device, false},
	{"directory", make_directory, true},
	{"link", make_link, false},
	{"link to fifo", make_link_to_fifo, false},
	{"text", make_text, true},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* --- libraries --------------------------------------------------------------------- */

static struct live_process *loader_start(const char *library)
{
	struct live_process *loader = target_start(LOADER_BINARY);

	oracle_do(loader, "keep %s 1", library);
	return loader;
}

/* The calls after the attach must be counted: the probes are in the mapped file. */
static void check_counted(struct live_process *memtrace, struct live_process *loader)
{
	json_t *report;

	oracle_do(loader, "again - %d", CALLS);
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_in_library").blocks, CALLS);
	CHECK_INT(report_site(report, "heap", "site_in_library").bytes, CALLS * 32);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	CHECK(live_is_running(loader));
	CHECK(probes_gone(probes_before));
}

static void in_place_of_a_library(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		char name[32];
		char *library;
		struct live_process *loader, *memtrace;
		struct decoy decoy;

		snprintf(name, sizeof(name), "library-%zu.so", i);
		library = live_path(name);
		files_copy(LOADED_MALLOC, library);
		loader = loader_start(library);
		REQUIRE(!unlink(library));
		kinds[i].make(library);
		decoy = decoy_watch(library);
		memtrace = memtrace_start(live_pid(loader), "");
		printf("     a library, now a %s\n", kinds[i].name);
		check_counted(memtrace, loader);
		decoy_check(&decoy, kinds[i].name);
		live_destroy(loader);
		free(library);
	}
}

/* Has a child of memtrace loaded the compiler? Then the plan is complete. */
static bool compiles(struct live_process *memtrace)
{
	int pid = (int)live_pid(memtrace), child, size;
	char *children = files_read("/proc/%d/task/%d/children", pid, pid);
	bool does = false;

	for (const char *at = children; sscanf(at, "%d%n", &child, &size) == 1;
	     at += size) {
		char *maps = files_read_if_any("/proc/%d/maps", child);

		does |= maps && strstr(maps, "/libbcc.so");
		free(maps);
	}
	free(children);
	return does;
}

/* Between plan and attach, another library takes the path. Its malloc() has another
 * offset. */
static void replaced_between_plan_and_attach(void)
{
	char *library = live_path("replaced.so"), *other = live_path("other.so");
	double until_s = live_now_s() + TIMEOUT_S;
	struct live_process *loader, *memtrace;

	files_copy(LOADED_MALLOC, library);
	files_copy(LOADED_APART, other);
	loader = loader_start(library);
	memtrace = memtrace_start_plain(
		live_pid(loader), "--no-cache --format json --top 0 --older 0 -i 3600");
	while (!compiles(memtrace) && live_now_s() < until_s)
		live_sleep(0.005);
	live_signal(memtrace, SIGSTOP);
	CHECK(compiles(memtrace));
	CHECK_INT(breakpoints_count(live_pid(loader)), 0);
	REQUIRE(!rename(other, library));
	live_signal(memtrace, SIGCONT);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	check_counted(memtrace, loader);
	live_destroy(loader);
	free(library);
	free(other);
}

/* A path of 4,000 characters, with escapes. memtrace gets a link to it. */
static void a_long_path(void)
{
	char *path = live_path("deep"), *link = live_path("link.so"), *longer;
	struct live_process *loader, *memtrace;

	while (strlen(path) < 3800) {
		char part[201];

		for (size_t i = 0; i < sizeof(part) - 1; i += 2)
			memcpy(part + i, i % 6 ? "ab" : "\033d", 2);
		part[sizeof(part) - 1] = '\0';
		REQUIRE(asprintf(&longer, "%s/%s", path, part) > 0);
		free(path);
		path = longer;
	}
	REQUIRE(asprintf(&longer, "%s/library.so", path) > 0);
	files_make_folders(longer);
	files_copy(LOADED_MALLOC, longer);
	REQUIRE(!symlink(longer, link));
	loader = loader_start(link);
	memtrace = memtrace_start(live_pid(loader), "-v");
	CHECK(!strchr(live_stderr(memtrace), '\033'));
	check_counted(memtrace, loader);
	live_destroy(loader);
	free(longer);
	free(link);
	free(path);
}

/* --- perf maps --------------------------------------------------------------------- */

static void in_place_of_a_perf_map(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct live_process *oracle = oracle_start(), *memtrace;
		char path[64], other[80];
		struct decoy decoy;
		json_t *report;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)live_pid(oracle));
		kinds[i].make(path);
		decoy = decoy_watch(path);
		memtrace = memtrace_start(live_pid(oracle), "");
		oracle_do(oracle, "run keep 10 1");
		report = memtrace_stop(memtrace);
		printf("     a %s as perf map\n", kinds[i].name);
		CHECK(live_int(report, "heap.live_blocks") >= 10);
		json_decref(report);
		if (!kinds[i].may_open)
			decoy_check(&decoy, kinds[i].name);
		close(decoy.watch);
		remove(path);
		snprintf(other, sizeof(other), "%s.fifo", path);
		remove(other);
		snprintf(other, sizeof(other), "%s.file", path);
		remove(other);
		live_destroy(oracle);
		CHECK(probes_gone(probes_before));
	}
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	/* No emulated instruction of that library's malloc() settles its result. */
	RUN_WITH_RETURN_PROBES(in_place_of_a_library);
	RUN_WITH_RETURN_PROBES(replaced_between_plan_and_attach);
	RUN_WITH_RETURN_PROBES(a_long_path);
	RUN(in_place_of_a_perf_map);
	probes_destroy(probes_before);
	return check_done();
}
