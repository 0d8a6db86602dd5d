/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets whose files are not where their names say: in another mount namespace, deleted,
 * replaced by an upgrade, or with newlines in their names. In each case the counts must
 * be exact and the symbols right.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#define TIMEOUT_S 30
#define BLOCKS    200

#if defined(__x86_64__)
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#define LINKER    "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#define LINKER    "/lib/ld-linux-aarch64.so.1"
#endif
#define JEMALLOC LIBRARIES "libjemalloc.so.2"

/* A copy of the target of test_allocators.c, which counts its call paths. */
#define ALLOCATORS ALLOCATORS_DIR "/allocators"

/* A path in a new folder of this test. Owned by the caller. */
static char *make_path(const char *folder, const char *name)
{
	char *at = live_path(folder), *path = NULL;

	REQUIRE(!mkdir(at, 0755) || errno == EEXIST);
	REQUIRE(asprintf(&path, "%s/%s", at, name) > 0);
	free(at);
	return path;
}

static bool is_there(const char *path)
{
	if (!access(path, R_OK))
		return true;
	CHECK_SKIP_PART("%s is not installed", path);
	return false;
}

static int64_t since(const json_t *truth, const json_t *before, const char *what)
{
	return live_int(truth, what) - live_int(before, what);
}

/* Compares the report with the target's counts since the attach. `before`: its counts at
 * the attach. The frames must have names, too. */
static void check_report(struct live_process *target, const json_t *before,
			 const json_t *report)
{
	static const char *const totals[] = {"allocations", "allocated_bytes", "frees",
					     "freed_bytes"};
	json_t *truth = oracle_ask(target, "truth");
	const json_t *heap = live_get(report, "heap");

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		CHECK_INT(live_int(live_get(heap, "totals"), totals[i]),
			  since(truth, before, totals[i]));
	CHECK_INT(live_int(heap, "live_blocks"),
		  since(truth, before, "allocations") - since(truth, before, "frees"));
	CHECK_INT(live_int(heap, "live_bytes"),
		  since(truth, before, "allocated_bytes") -
			  since(truth, before, "freed_bytes"));
	CHECK_INT(live_int(heap, "totals.frees_unknown"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(compare_heap(truth, report, true), 0);
	json_decref(truth);
}

/* Traces process `pid`. `target` holds its pipes; it has no blocks yet. */
static void check_traced(struct live_process *target, pid_t pid, const char *options)
{
	json_t *answer = oracle_ask(target, "count"),
	       *before = oracle_ask(target, "truth");
	int64_t functions = live_int(answer, "count");

	json_decref(answer);
	CHECK(functions > 0);

	struct live_process *memtrace = memtrace_start(pid, options);

	oracle_do(target, "run %d", BLOCKS);
	json_t *report = memtrace_report(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= BLOCKS);
	CHECK_INT(live_int(report, "target.pid"), pid);
	check_report(target, before, report);
	json_decref(report);

	oracle_do(target, "release");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	check_report(target, before, report);
	json_decref(report);
	json_decref(before);
	CHECK(live_is_running(target));
}

/* The output of --dry-run, to be freed. */
static char *plan_of(pid_t pid)
{
	struct live_process *memtrace = memtrace_start_plain(pid, "--dry-run");
	char *text = strdup(""), *line;

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		char *longer = NULL;

		REQUIRE(asprintf(&longer, "%s%s\n", text, line) > 0);
		free(text);
		free(line);
		text = longer;
	}
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_STR(live_stderr(memtrace), "");
	live_destroy(memtrace);
	return text;
}

static void check_plan(pid_t pid, const char *label, const char *functions)
{
	char *plan = plan_of(pid), *want = NULL;

	REQUIRE(asprintf(&want, "allocator  %s\n", label) > 0);
	CHECK_CONTAINS(plan, want);
	CHECK_CONTAINS(plan, functions);
	free(plan);
	free(want);
}

/* --- namespaces -------------------------------------------------------------------- */

/* memtrace can trace a target in another pid namespace only from the initial one (see
 * docs/limitations.md). PROC_PID_INIT_INO of include/linux/proc_ns.h is the initial
 * one's inode number. */
static bool in_first_namespace(void)
{
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st) && st.st_ino == 0xeffffffc)
		return true;
	CHECK_SKIP_PART("this is not the first pid namespace");
	return false;
}

/* Waits until the program is ready. Returns its pid in this namespace. */
static pid_t container_pid(struct live_process *container)
{
	json_t *ready = live_read_json(container, TIMEOUT_S);
	int pid = 0;

	/* The program may be ready before the container prints its pid. */
	if (!ready || !live_wait_stderr(container, "pid ", TIMEOUT_S) ||
	    sscanf(live_stderr(container), "pid %d", &pid) != 1)
		live_fail("the container did not start: %s", live_stderr(container));
	json_decref(ready);
	return pid;
}

/* In the target's namespace the path is a copy of jemalloc, in ours another library. */
static void library_of_another_mount_namespace(void)
{
	char *path = make_path("inside", "liballocator.so"), *folder, *preload = NULL;

	if (!in_first_namespace() || !is_there(JEMALLOC))
		return;
	folder = live_path("inside");
	files_copy(LIBRARIES "libm.so.6", path);
	REQUIRE(asprintf(&preload, "LD_PRELOAD=%s", path) > 0);

	const char *const argv[] = {CONTAINER_BINARY, "tmpfs",    folder, "copy",
				    JEMALLOC,         path,       "env",  preload,
				    "exec",           ALLOCATORS, NULL};
	struct live_process *container = live_start(argv);
	pid_t pid = container_pid(container);

	check_plan(pid, "jemalloc", " mallocx ");
	check_plan(pid, "glibc", " malloc ");
	check_traced(container, pid, "");
	check_traced(container, pid, "--attach perf");
	check_traced(container, pid, "--lib liballocator.so");
	live_destroy(container);
	free(folder);
	free(path);
	free(preload);
}

/* A root directory in memory that contains only a program, a libc and its dynamic linker:
 * outside, their paths are missing or name other files. */
static void check_root(const char *how, const char *linker, const char *libc)
{
	char *root = live_path("root"), *to[3] = {NULL};

	REQUIRE(!mkdir(root, 0755) || errno == EEXIST);
	REQUIRE(asprintf(&to[0], "%s" LINKER, root) > 0);
	REQUIRE(asprintf(&to[1], "%s" LIBRARIES "libc.so.6", root) > 0);
	REQUIRE(asprintf(&to[2], "%s/bin/program", root) > 0);

	const char *const argv[] = {CONTAINER_BINARY,
				    "tmpfs",
				    root,
				    "copy",
				    linker,
				    to[0],
				    "copy",
				    libc,
				    to[1],
				    "copy",
				    ALLOCATORS,
				    to[2],
				    how,
				    root,
				    "exec",
				    "/bin/program",
				    NULL};
	struct live_process *container = live_start(argv);
	pid_t pid = container_pid(container);

	check_plan(pid, "glibc", LIBRARIES "libc.so.6\n");
	check_traced(container, pid, "");
	live_destroy(container);
	for (size_t i = 0; i < 3; i++)
		free(to[i]);
	free(root);
}

static void root_directory_of_its_own(void)
{
	if (!in_first_namespace())
		return;
	check_root("pivot", LINKER, LIBRARIES "libc.so.6");
	check_root("chroot", LINKER, LIBRARIES "libc.so.6");
}

/* With the libc of another release, if scripts/test has fetched it. */
static void root_directory_of_another_release(void)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	char *linker = NULL, *libc = NULL;

	REQUIRE(asprintf(&linker, "%s/ubuntu-24.04/ld-linux-x86-64.so.2",
			 dir ? dir : "") > 0);
	REQUIRE(asprintf(&libc, "%s/ubuntu-24.04/libc.so.6", dir ? dir : "") > 0);
	if (!dir || access(linker, R_OK))
		CHECK_LEAVE_OUT_PART("MEMTRACE_TEST_LIBRARIES names no ubuntu-24.04");
	else if (in_first_namespace())
		check_root("pivot", linker, libc);
	free(linker);
	free(libc);
}

/* A root directory that contains only a static program. */
static void static_program_in_a_root_directory(void)
{
	static const char *const programs[] = {"allocators_static",
					       "allocators_musl_static"};
	char *root = live_path("static"), *to = NULL;

	REQUIRE(!mkdir(root, 0755) || errno == EEXIST);
	REQUIRE(asprintf(&to, "%s/program", root) > 0);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		char *from = NULL;

		REQUIRE(asprintf(&from, "%s/%s", ALLOCATORS_DIR, programs[i]) > 0);
		if (in_first_namespace() && is_there(from)) {
			const char *const argv[] = {
				CONTAINER_BINARY, "tmpfs", root,   "copy",     from, to,
				"pivot",          root,    "exec", "/program", NULL};
			struct live_process *container = live_start(argv);
			pid_t pid = container_pid(container);

			check_traced(container, pid, "");
			live_destroy(container);
		}
		free(from);
	}
	free(to);
	free(root);
}

/* --- files that changed ------------------------------------------------------------ */

struct copies {
	char *program, *library;
	struct live_process *target;
};

/* Starts a copy of the target with a copy of jemalloc preloaded. */
static struct copies copies_start(const char *folder)
{
	struct copies c = {make_path(folder, "program"), make_path(folder, "library.so"),
			   NULL};

	files_copy(ALLOCATORS, c.program);
	files_copy(JEMALLOC, c.library);
	setenv("LD_PRELOAD", c.library, 1);
	c.target = target_start(c.program);
	unsetenv("LD_PRELOAD");
	return c;
}

static void copies_end(struct copies *c)
{
	live_destroy(c->target);
	free(c->program);
	free(c->library);
}

static void deleted_files(void)
{
	if (!is_there(JEMALLOC))
		return;

	struct copies c = copies_start("deleted");

	REQUIRE(!unlink(c.program) && !unlink(c.library));
	check_plan(live_pid(c.target), "jemalloc", " mallocx ");
	check_traced(c.target, live_pid(c.target), "");
	check_traced(c.target, live_pid(c.target), "--attach perf");
	copies_end(&c);
}

/* Replaces the file as a package manager does: a new file gets the old name. The new file
 * is another one, whose symbols would be wrong. */
static void replace(const char *from, const char *path)
{
	char *new = NULL;

	REQUIRE(asprintf(&new, "%s.new", path) > 0);
	files_copy(from, new);
	REQUIRE(!rename(new, path));
	free(new);
}

static void upgraded_files(void)
{
	if (!is_there(JEMALLOC))
		return;

	struct copies c = copies_start("upgraded");

	replace(oracle_path, c.program);
	replace(LIBRARIES "libc.so.6", c.library);
	check_plan(live_pid(c.target), "jemalloc", " mallocx ");
	check_traced(c.target, live_pid(c.target), "");
	copies_end(&c);
}

/* Upgraded while it is traced. */
static void upgraded_under_way(void)
{
	if (!is_there(JEMALLOC))
		return;

	struct copies c = copies_start("later");
	struct live_process *memtrace = memtrace_start(live_pid(c.target), "");
	json_t *before = oracle_ask(c.target, "truth");

	oracle_do(c.target, "run %d", BLOCKS);
	replace(oracle_path, c.program);
	replace(LIBRARIES "libc.so.6", c.library);
	oracle_do(c.target, "run %d", BLOCKS);

	json_t *report = memtrace_stop(memtrace);

	CHECK(live_int(report, "heap.live_blocks") >= 2 * BLOCKS);
	check_report(c.target, before, report);
	json_decref(report);
	json_decref(before);
	copies_end(&c);
}

/* --- names ------------------------------------------------------------------------- */

static void check_name(const char *folder, const char *name)
{
	char *program = make_path(folder, name), *library = make_path(folder, "lib.so");
	char *path = live_path(folder);

	files_copy(ALLOCATORS, program);
	files_copy(JEMALLOC, library);
	/* LD_PRELOAD splits names at blanks; LD_LIBRARY_PATH does not. */
	setenv("LD_LIBRARY_PATH", path, 1);
	setenv("LD_PRELOAD", "lib.so", 1);

	struct live_process *target = target_start(program);

	unsetenv("LD_PRELOAD");
	unsetenv("LD_LIBRARY_PATH");
	check_plan(live_pid(target), "jemalloc", " mallocx ");
	check_traced(target, live_pid(target), "");
	live_destroy(target);
	free(program);
	free(library);
	free(path);
}

static void odd_names(void)
{
	if (!is_there(JEMALLOC))
		return;
	check_name("two words", "a program");
	check_name("two\nlines ", "pro\ngram");
	check_name("gr\xc3\xb6\xc3\x9f"
		   "e",
		   "\xe5\xa4\xa7");
	check_name("\xff\xfe\x80", "\x1b[31m");
	check_name("back\\slash\\012", "%s%n");
	check_name("a (deleted)", "program (deleted)");
}

int main(void)
{
	live_require_root();
	RUN(library_of_another_mount_namespace);
	RUN(root_directory_of_its_own);
	RUN(root_directory_of_another_release);
	RUN(static_program_in_a_root_directory);
	RUN(deleted_files);
	RUN(upgraded_files);
	RUN(upgraded_under_way);
	RUN(odd_names);
	return check_done();
}
