/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes inside functions must see the same calls as probes at the beginning of
 * functions: every entry and every return of 20,000 calls of each function, or of
 * 100,000 (scripts/test --long).
 */
#include <glob.h>
#include <unistd.h>

#include "check.h"
#include "live/counted.h"
#include "live/trace.h"

#if defined(__x86_64__)
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#endif

/* The program without its own allocator. */
#define PLAIN          ALLOCATORS_DIR "/allocators"

#define ROUNDS         (live_is_long() ? 25 : 5)
#define FEW_ROUNDS     (live_is_long() ? 5 : 2)  /* with another way of unwinding */
#define RELEASE_ROUNDS (live_is_long() ? 25 : 1) /* for each of other releases */
#define COUNTER_ROUNDS (live_is_long() ? 25 : 1) /* beside the preloaded counter */
#define BUILD_ROUNDS   1                         /* for each of many builds */
/* Calls of each function in a round; half of the blocks are kept. */
#define CALLS 4000
/* Time limit, s. A trap in a virtual machine may take ten times as long: there only a
 * part of the rounds run, and the test says so. With scripts/test --long it fails. */
#define LIMIT_S (live_is_long() ? 400 : 60)

/* As memtrace is used by default, unlike in most tests. */
#define BY_RULES "--unwind auto"
/* Faster, for what does not depend on stacks. */
#define BY_FP "--unwind fp"

/* The number of return probes in the plan. */
static unsigned print_places(pid_t pid, const char *options)
{
	char words[64], *line;

	snprintf(words, sizeof(words), "--dry-run %s", options);

	struct live_process *memtrace = memtrace_start_plain(pid, words);
	unsigned emulated = 0, all = 0, returns = 0;

	while ((line = live_read_line(memtrace, 10))) {
		emulated += strstr(line, "emulated") != NULL;
		returns += strstr(line, " return ") != NULL;
		all += strstr(line, " 0x") != NULL;
		free(line);
	}
	CHECK_INT(live_wait(memtrace, 10), 0);
	CHECK(all > 0);
	printf("     %u of %u probes are emulated, %u are return probes\n", emulated, all,
	       returns);
	live_destroy(memtrace);
	return returns;
}

/* `hooks`: how many calls may be counted as abandoned: glibc's malloc hooks call the
 * function a second time. */
static void check(struct live_process *target, struct live_process *memtrace,
		  bool wrapped, int hooks)
{
	json_t *report = memtrace_report(memtrace), *truth = oracle_ask(target, "truth");

	if (wrapped)
		CHECK_INT(live_int(report, "heap.live_blocks"),
			  live_int(truth, "allocations") - live_int(truth, "frees"));
	else
		CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, hooks ? "calls_abandoned" : NULL), 0);
	CHECK(live_int(report, "losses.calls_abandoned") <= hooks);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	json_decref(report);
	json_decref(truth);
}

static void count_calls(struct live_process *target, unsigned rounds, const char *options,
			bool wrapped, int hooks)
{
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	json_t *answer = oracle_ask(target, "count");
	int64_t functions = live_int(answer, "count");
	double start_s = live_now_s();
	unsigned done = 0;

	CHECK(functions > 0);
	for (; done < rounds && (done < 1 || live_now_s() - start_s < LIMIT_S); done++) {
		oracle_do(target, "run %d", CALLS / 2);
		if (done == 0)
			check(target, memtrace, wrapped, hooks);
		oracle_do(target, "release");
	}
	check(target, memtrace, wrapped, hooks);
	printf("     %u calls of each of %d functions, %.0f s\n", done * CALLS,
	       (int)functions, live_now_s() - start_s);
	if (done < rounds)
		printf("  note: cut off after %d s, instead of %u calls\n", LIMIT_S,
		       rounds * CALLS);
	CHECK(done == rounds || !live_is_long());

	json_t *report = memtrace_stop(memtrace);

	CHECK(live_int(report, "heap.totals.allocations") >= functions * CALLS * done);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK(live_is_running(target));
	json_decref(report);
	json_decref(answer);
}

/* `inside`: the plan must have probes inside functions, and no return probes. */
static void count(struct live_process *target, unsigned rounds, const char *options,
		  bool wrapped, bool inside)
{
	CHECK_INT(print_places(live_pid(target), options) == 0, inside);
	count_calls(target, rounds, options, wrapped, 0);
}

/* `preload`: base name of a library, or NULL; `rounds`: of CALLS calls each. `wrapped`:
 * calls come from code without frame pointers, so that stacks do not show the call path.
 * `inside`: as for count(). */
static void run_wrapped(const char *program, const char *preload, const char *options,
			unsigned rounds, bool wrapped, bool inside)
{
	char *path = NULL, *library = NULL;

	REQUIRE(asprintf(&path, "%s/%s", ALLOCATORS_DIR, program) > 0);
	REQUIRE(asprintf(&library, LIBRARIES "%s", preload ? preload : "") > 0);
	if (access(path, X_OK) || access(library, R_OK)) {
		CHECK_SKIP_PART("no %s", preload ? library : path);
	} else {
		struct live_process *target =
			target_start_with(preload ? library : NULL, path);

		printf("     %s %s %s\n", program, preload ? preload : "", options);
		count(target, rounds, options, wrapped, inside);
		live_destroy(target);
	}
	free(path);
	free(library);
}

static void run(const char *program, const char *preload, const char *options,
		unsigned rounds)
{
	/* Other options use return probes. */
	run_wrapped(program, preload, options, rounds, false,
		    !strcmp(options, BY_RULES) || !strcmp(options, BY_FP));
}

static void glibc(void)
{
	run("allocators", NULL, BY_RULES, ROUNDS);
	run("allocators", NULL, BY_FP, FEW_ROUNDS);
	run("allocators", NULL, "--mappings", FEW_ROUNDS);
	run("allocators", NULL, "--attach perf", FEW_ROUNDS);
	run("allocators", NULL, "--tables hashes", FEW_ROUNDS);
	run("allocators_static", NULL, BY_RULES, ROUNDS);
}

static void libstdcxx(void)
{
	run_wrapped("allocators", "libstdc++.so.6", BY_RULES, ROUNDS, true, true);
}

static void musl(void)
{
	run("allocators_musl_static", NULL, BY_FP, ROUNDS);
	run("allocators_musl_dynamic", NULL, BY_FP, ROUNDS);
}

static void jemalloc(void)
{
	run("allocators", "libjemalloc.so.2", BY_FP, ROUNDS);
	run("allocators_jemalloc", NULL, BY_FP, FEW_ROUNDS);
	run("allocators_je", NULL, BY_FP, FEW_ROUNDS);
}

static void tcmalloc(void)
{
	run("allocators", "libtcmalloc_minimal.so.4", BY_FP, ROUNDS);
	run("allocators", "libtcmalloc.so.4", BY_FP, ROUNDS);
}

static void mimalloc(void)
{
	run("allocators", "libmimalloc.so.2", BY_FP, ROUNDS);
}

/* `library`: base name of the allocator's file, which is preloaded unless it is libc. */
static void count_with_counter(const char *library)
{
	char *path = NULL;

	REQUIRE(asprintf(&path, LIBRARIES "%s", library) > 0);
	printf("     %s and the counter\n", library);
	if (access(PLAIN, X_OK) || access(path, R_OK))
		CHECK_SKIP_PART("no %s", path);
	else
		counted_run(PLAIN, path, COUNTER_ROUNDS, CALLS / 2);
	free(path);
}

static void preloaded_counter(void)
{
	count_with_counter("libc.so.6");
	if (!live_is_long())
		return;
	count_with_counter("libjemalloc.so.2");
	count_with_counter("libtcmalloc_minimal.so.4");
	count_with_counter("libtcmalloc.so.4");
	count_with_counter("libmimalloc.so.2");
}

/* Without unwind information memtrace finds the caller of malloc by malloc's own code.
 * Without the sizes of functions, some functions keep their return probes. */
static void without_unwind_information(void)
{
	char *path = live_path("no_unwind_information"), *from = NULL;

	REQUIRE(asprintf(&from, "%s/allocators_static", ALLOCATORS_DIR) > 0);

	const char *const argv[] = {"objcopy",
				    "--remove-section=.eh_frame",
				    "--remove-section=.eh_frame_hdr",
				    from,
				    path,
				    NULL};
	struct live_process *objcopy = live_start(argv);

	REQUIRE(live_wait(objcopy, 30) == 0);
	live_destroy(objcopy);

	struct live_process *target = target_start(path);

	count(target, FEW_ROUNDS, BY_RULES, true, false);
	live_destroy(target);
	free(from);
	free(path);
}

/* NULL, with a note, if the program does not run: one that is linked with a newer C
 * library does not run with an older one. */
static struct live_process *start_if_it_runs(const char *const argv[])
{
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 30);

	if (!ready) {
		printf("  note: under %s: %s\n", argv[0], live_stderr(target));
		live_destroy(target);
		target = NULL;
	}
	json_decref(ready);
	return target;
}

/* start_if_it_runs() with the dynamic linker and the glibc in the folder `libraries`, and
 * with one of its libraries preloaded (NULL: none). */
static struct live_process *run_under(const char *libraries, const char *preload,
				      const char *program)
{
	struct live_process *target;
	char *linker = NULL;

	REQUIRE(asprintf(&linker, "%s/ld-linux-x86-64.so.2", libraries) > 0);

	const char *const argv[] = {linker,      "--library-path",       libraries,
				    "--preload", preload ? preload : "", program,
				    NULL};

	target = start_if_it_runs(argv);
	free(linker);
	return target;
}

/* The same program, linked with that release's glibc. */
static struct live_process *link_and_run_under(const char *libraries, const char *preload)
{
	struct live_process *compiler, *target = NULL;
	char *path = live_path("allocators"), *libc = NULL, *libdl = NULL;

	REQUIRE(asprintf(&libc, "%s/libc.so.6", libraries) > 0);
	REQUIRE(asprintf(&libdl, "%s/libdl.so.2", libraries) > 0);

	const char *const argv[] = {"gcc",
				    "-D_GNU_SOURCE",
				    "-O2",
				    "-g",
				    "-w",
				    "-fno-builtin",
				    "-fno-optimize-sibling-calls",
				    "-fno-omit-frame-pointer",
				    "-nodefaultlibs",
				    "-o",
				    path,
				    SOURCE_DIR "/tests/live/targets/allocators.c",
				    libc,
				    libdl,
				    NULL};

	compiler = live_start(argv);
	if (live_wait(compiler, 60) == 0)
		target = run_under(libraries, preload, path);
	else
		printf("  note: %s\n", live_stderr(compiler));
	live_destroy(compiler);
	free(path);
	free(libc);
	free(libdl);
	return target;
}

/* NULL, with a note, if the release's glibc cannot run a program here. */
static struct live_process *start_under(const char *libraries, const char *preload)
{
	struct live_process *target = run_under(libraries, preload, PLAIN);

	return target ? target : link_and_run_under(libraries, preload);
}

/* The folder with the libraries of a release, owned. NULL, with a note, if scripts/test
 * has not fetched them. */
static char *libraries_of(const char *release)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	char *libraries = NULL, *linker = NULL;

	REQUIRE(asprintf(&libraries, "%s/%s", dir ? dir : "", release) > 0);
	REQUIRE(asprintf(&linker, "%s/ld-linux-x86-64.so.2", libraries) > 0);
	if (!dir || access(linker, X_OK)) {
		CHECK_LEAVE_OUT_PART("MEMTRACE_TEST_LIBRARIES names no glibc of %s",
				     release);
		free(libraries);
		libraries = NULL;
	}
	free(linker);
	return libraries;
}

/* Ubuntu's functions begin with endbr64. Before 2.34 the first calls of realloc and
 * memalign call these functions again by a hook (malloc/hooks.c). */
static void glibc_of(const char *release, int hooks)
{
	char *libraries = libraries_of(release);
	struct live_process *target = libraries ? start_under(libraries, NULL) : NULL;

	if (target) {
		printf("     glibc of %s\n", release);
		CHECK_INT(print_places(live_pid(target), BY_RULES), 0);
		count_calls(target, RELEASE_ROUNDS, BY_RULES, false, hooks);
	} else if (libraries) {
		CHECK_SKIP_PART("no program runs with the glibc of %s", release);
	}
	live_destroy(target);
	free(libraries);
}

/* musl is its own dynamic linker. */
static void musl_of(const char *release)
{
	char *libraries = libraries_of(release), *linker = NULL, *path = NULL;
	struct live_process *target = NULL;

	REQUIRE(asprintf(&linker, "%s/ld-musl-x86_64.so.1", libraries ? libraries : "") >
		0);
	REQUIRE(asprintf(&path, "%s/allocators_musl_dynamic", ALLOCATORS_DIR) > 0);

	const char *const argv[] = {linker, path, NULL};

	if (libraries && !access(linker, X_OK) && !access(path, X_OK))
		target = start_if_it_runs(argv);
	if (target) {
		printf("     musl of %s\n", release);
		count(target, RELEASE_ROUNDS, BY_FP, false, true);
	} else if (libraries) {
		CHECK_LEAVE_OUT_PART("no program runs with a musl of %s", release);
	}
	live_destroy(target);
	free(libraries);
	free(linker);
	free(path);
}

static void glibc_of_other_releases(void)
{
	glibc_of("ubuntu-22.04", 0);
	glibc_of("ubuntu-24.04", 0);
	glibc_of("debian-11", 2);
	glibc_of("debian-13", 0);
}

static bool has_mapped(pid_t pid, const char *path)
{
	char name[64], line[1024];
	bool found = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	REQUIRE(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, path) != NULL;
	fclose(maps);
	return found;
}

/* jemalloc 5.2: no emulated instruction of malloc settles the result. Its aligned
 * operators are libstdc++'s. */
static bool is_old_jemalloc(const char *release, const char *name)
{
	return !strcmp(release, "debian-11") && strstr(name, "jemalloc");
}

/* With that release's glibc if possible, otherwise with this machine's. */
static void allocator_of(const char *release, const char *libraries, const char *name)
{
	bool is_old = is_old_jemalloc(release, name);
	char *preload = NULL;
	struct live_process *target;

	REQUIRE(asprintf(&preload, "%s/%s", libraries, name) > 0);
	if (access(preload, R_OK)) {
		CHECK_LEAVE_OUT_PART("there is no %s", preload);
	} else {
		target = start_under(libraries, preload);
		if (!target)
			target = target_start_with(preload, PLAIN);
		printf("     %s of %s\n", name, release);
		CHECK(has_mapped(live_pid(target), preload));
		count(target, RELEASE_ROUNDS, BY_FP, is_old, !is_old);
		live_destroy(target);
	}
	free(preload);
}

static void musl_of_other_releases(void)
{
	musl_of("debian-11");
	musl_of("debian-13");
}

static void allocators_of_other_releases(void)
{
	static const char *const releases[] = {"debian-11", "debian-13", "ubuntu-22.04",
					       "ubuntu-24.04"};
	static const char *const names[] = {
		"libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4",
		"libmimalloc.so.2", "libmimalloc.so.3"};

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		char *libraries = libraries_of(releases[i]);

		for (size_t n = 0; libraries && n < sizeof(names) / sizeof(*names); n++)
			allocator_of(releases[i], libraries, names[n]);
		free(libraries);
	}
}

/* memtrace does not trace functions that may throw and whose code it does not understand.
 * The report counts these functions. */
static void check_refused(struct live_process *target)
{
	struct live_process *memtrace = memtrace_start(live_pid(target), BY_RULES);
	json_t *report;

	oracle_do(target, "run %d", CALLS / 2);
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.totals.allocations") > 0);
	CHECK(live_int(report, "losses.functions_untraced") > 0);
	CHECK(live_is_running(target));
	json_decref(report);
}

/* Counts the calls of one build of scripts/builds. False: the folder is for another
 * allocator. Which functions have sites depends on the compiler; the counts do not. */
static bool count_build(const char *folder, const char *name)
{
	struct live_process *target;
	char *preload = NULL;
	bool is_there;

	REQUIRE(asprintf(&preload, "%s/%s", folder, name) > 0);
	is_there = !access(preload, R_OK);
	if (is_there) {
		target = target_start_with(preload, PLAIN);
		printf("     %s\n", strrchr(folder, '/') + 1);
		CHECK(has_mapped(live_pid(target), preload));
		print_places(live_pid(target), BY_RULES);
		if (strstr(folder, "thunk"))
			check_refused(target);
		else
			count_calls(target, BUILD_ROUNDS, BY_RULES, false, 0);
		live_destroy(target);
	}
	free(preload);
	return is_there;
}

static void other_builds(void)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	unsigned there = 0;
	char *pattern = NULL;
	glob_t found;

	REQUIRE(asprintf(&pattern, "%s/builds/*-*", dir) > 0);
	if (glob(pattern, 0, NULL, &found))
		check_leave_out("MEMTRACE_TEST_LIBRARIES names no other builds");
	for (size_t i = 0; i < found.gl_pathc; i++)
		there += count_build(found.gl_pathv[i], "libmimalloc.so.2") ||
			 count_build(found.gl_pathv[i], "libjemalloc.so.2");
	CHECK(there > 0);
	globfree(&found);
	free(pattern);
}

/* Functions at the same offset in their pages must not be confused. */
static void same_place_in_the_page(void)
{
	struct live_process *target = target_start(OWN_MALLOC_ALIGNED_BINARY);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), "--dry-run");
	unsigned alike = 0;
	char *line;

	while ((line = live_read_line(memtrace, 10))) {
		const char *offset = strstr(line, " entry ") ? strstr(line, "0x") : NULL;

		alike += offset && !(strtoul(offset, NULL, 16) & 0xfff);
		free(line);
	}
	CHECK_INT(live_wait(memtrace, 10), 0);
	live_destroy(memtrace);
	/* At least two of malloc, calloc, realloc and free. */
	CHECK(alike >= 2);

	memtrace = memtrace_start(live_pid(target), "");
	for (int i = 0; i < 10; i++)
		oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_own_malloc").bytes, 24000);
	CHECK_INT(report_site(report, "heap", "site_own_calloc").bytes, 30000);
	CHECK_INT(report_site(report, "heap", "site_own_realloc").bytes, 70000);
	CHECK_INT(live_int(report, "heap.live_blocks"), 3000);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
}

/* With an argument: libraries of other releases, other builds, or only a comparison with
 * the preloaded counter. */
int main(int argc, char *argv[])
{
	live_require_root();
	if (argc > 1 && !strcmp(argv[1], "counter")) {
		RUN(preloaded_counter);
		return check_done();
	}
	if (argc > 1 && !getenv("MEMTRACE_TEST_LIBRARIES"))
		check_leave_out("MEMTRACE_TEST_LIBRARIES is not set");
	if (argc > 1 && !strcmp(argv[1], "builds")) {
		RUN_WITH_RETURN_PROBES(other_builds);
		return check_done();
	}
	if (argc > 1) {
		RUN(glibc_of_other_releases);
		RUN(musl_of_other_releases);
		RUN_WITH_RETURN_PROBES(allocators_of_other_releases);
		return check_done();
	}
	RUN(glibc);
	RUN_WITH_RETURN_PROBES(without_unwind_information);
	RUN(libstdcxx);
	RUN(musl);
	RUN(jemalloc);
	RUN(tcmalloc);
	RUN(mimalloc);
	RUN(preloaded_counter);
	RUN_WITH_RETURN_PROBES(same_place_in_the_page);
	return check_done();
}
