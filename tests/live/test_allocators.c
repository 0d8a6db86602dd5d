/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocator that a process can have, preloaded or linked: memtrace finds it, names
 * it, and counts each of its functions to the byte and the block. Allocators that are not
 * installed are skipped with a note.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#define BLOCKS 200

#if defined(__x86_64__)
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#endif

struct setup {
	const char *program; /* in ALLOCATORS_DIR */
	const char *preload; /* base names, separated by blanks, or NULL */
	const char *options; /* for memtrace, or NULL */
	unsigned functions;  /* the target must find at least this many */
	const char *labels[4];
	bool wrapped; /* the calls come from code without frame pointers */
};

/* Writes the paths of the libraries `preload` to `paths`. False, with a note, if one is
 * not installed. */
static bool find_libraries(const char *preload, char *paths, size_t size)
{
	char names[256], *save = NULL;

	paths[0] = '\0';
	snprintf(names, sizeof(names), "%s", preload ? preload : "");
	for (char *name = strtok_r(names, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		char path[512];

		snprintf(path, sizeof(path), LIBRARIES "%s", name);
		if (access(path, R_OK)) {
			CHECK_SKIP_PART("%s is not installed", path);
			return false;
		}
		snprintf(paths + strlen(paths), size - strlen(paths), "%s ", path);
	}
	return true;
}

static char *program_path(const char *name)
{
	char *path = NULL;

	REQUIRE(asprintf(&path, "%s/%s", ALLOCATORS_DIR, name) > 0);
	if (!access(path, X_OK))
		return path;
	CHECK_SKIP_PART("%s could not be built here", name);
	free(path);
	return NULL;
}

static struct live_process *start(const struct setup *setup)
{
	char paths[1024];
	char *program = find_libraries(setup->preload, paths, sizeof(paths))
				? program_path(setup->program)
				: NULL;

	if (!program)
		return NULL;
	if (paths[0])
		setenv("LD_PRELOAD", paths, 1);

	struct live_process *target = target_start(program);

	unsetenv("LD_PRELOAD");
	free(program);
	return target;
}

/* The output of --dry-run, to be freed. */
static char *plan_of(struct live_process *target, const char *options)
{
	char whole[256], *text = strdup(""), *line;

	snprintf(whole, sizeof(whole), "--dry-run %s", options ? options : "");

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), whole);

	while ((line = live_read_line(memtrace, 10))) {
		char *longer = NULL;

		REQUIRE(asprintf(&longer, "%s%s\n", text, line) > 0);
		free(text);
		free(line);
		text = longer;
	}
	CHECK_INT(live_wait(memtrace, 10), 0);
	CHECK_STR(live_stderr(memtrace), "");
	live_destroy(memtrace);
	return text;
}

static void check_labels(const char *plan, const struct setup *setup)
{
	const char *at = plan;
	unsigned objects = 0, wanted = 0;

	for (; (at = strstr(at, "allocator  ")); at++)
		objects++;
	for (; wanted < 4 && setup->labels[wanted]; wanted++) {
		char line[64];

		snprintf(line, sizeof(line), "allocator  %s\n", setup->labels[wanted]);
		CHECK_CONTAINS(plan, line);
	}
	CHECK_INT(objects, wanted);
}

static void check_report(struct live_process *target, const json_t *report,
			 const struct setup *setup)
{
	json_t *truth = oracle_ask(target, "truth");

	if (setup->wrapped)
		CHECK_INT(live_int(report, "heap.live_blocks"),
			  live_int(truth, "allocations") - live_int(truth, "frees"));
	else
		CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	json_decref(truth);
}

static void check_traced(struct live_process *target, const struct setup *setup)
{
	json_t *count = oracle_ask(target, "count");

	CHECK(live_int(count, "count") >= setup->functions);
	json_decref(count);

	struct live_process *memtrace =
		memtrace_start(live_pid(target), setup->options ? setup->options : "");

	oracle_do(target, "run %d", BLOCKS);
	json_t *report = memtrace_report(memtrace);
	CHECK(live_int(report, "heap.live_blocks") >= setup->functions * BLOCKS);
	check_report(target, report, setup);
	json_decref(report);

	oracle_do(target, "release");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	check_report(target, report, setup);
	json_decref(report);
	CHECK(live_is_running(target));
}

static void check_setup(const struct setup *setup)
{
	struct live_process *target = start(setup);

	if (!target)
		return;

	char *plan = plan_of(target, setup->options);

	check_labels(plan, setup);
	check_traced(target, setup);
	live_destroy(target);
	free(plan);
}

#define CHECK_SETUP(...) check_setup(&(const struct setup){__VA_ARGS__})

static void glibc(void)
{
	CHECK_SETUP(.program = "allocators", .functions = 10, .labels = {"glibc"});
	CHECK_SETUP(.program = "allocators", .functions = 10, .labels = {"glibc"},
		    .options = "--mappings");
	CHECK_SETUP(.program = "allocators_static", .functions = 9, .labels = {"glibc"});
	/* malloc is a local symbol there. */
	CHECK_SETUP(.program = "allocators_static_pie", .functions = 9,
		    .labels = {"glibc"});
}

/* operator new calls malloc there: it must count as one block and one free. */
static void libstdcxx_over_glibc(void)
{
	CHECK_SETUP(.program = "allocators", .preload = "libstdc++.so.6", .functions = 20,
		    .labels = {"glibc"}, .wrapped = true);
	CHECK_SETUP(.program = "allocators_static_pie_cxx", .functions = 19,
		    .labels = {"glibc"}, .wrapped = true);
}

static void jemalloc(void)
{
	CHECK_SETUP(.program = "allocators", .preload = "libjemalloc.so.2",
		    .functions = 24, .labels = {"glibc", "jemalloc"});
	CHECK_SETUP(.program = "allocators", .preload = "libjemalloc.so.2",
		    .functions = 24, .labels = {"jemalloc"},
		    .options = "--lib libjemalloc.so.2");
	CHECK_SETUP(.program = "allocators", .preload = "libjemalloc.so.2",
		    .functions = 24, .labels = {"glibc", "jemalloc"},
		    .options = "--mappings");
	CHECK_SETUP(.program = "allocators", .preload = "libjemalloc.so.2",
		    .functions = 24, .labels = {"glibc", "jemalloc"},
		    .options = "--attach perf");
}

static void jemalloc_linked_statically(void)
{
	CHECK_SETUP(.program = "allocators_jemalloc", .functions = 24,
		    .labels = {"jemalloc", "glibc"});
	CHECK_SETUP(.program = "allocators_je", .functions = 26,
		    .labels = {"jemalloc", "glibc"});
}

static void tcmalloc(void)
{
	CHECK_SETUP(.program = "allocators", .preload = "libtcmalloc_minimal.so.4",
		    .functions = 25, .labels = {"glibc", "tcmalloc"});
}

static void mimalloc(void)
{
	CHECK_SETUP(.program = "allocators", .preload = "libmimalloc.so.2",
		    .functions = 70, .labels = {"glibc", "mimalloc"});
}

static void two_allocators_at_once(void)
{
	CHECK_SETUP(.program = "allocators",
		    .preload = "libjemalloc.so.2 libmimalloc.so.2", .functions = 40,
		    .labels = {"glibc", "jemalloc", "mimalloc"});
	CHECK_SETUP(.program = "allocators_je", .preload = "libtcmalloc_minimal.so.4",
		    .functions = 30, .labels = {"glibc", "jemalloc", "tcmalloc"});
}

static void musl(void)
{
	CHECK_SETUP(.program = "allocators_musl_static", .functions = 6,
		    .labels = {"musl"});
	CHECK_SETUP(.program = "allocators_musl_dynamic", .functions = 6,
		    .labels = {"musl"});
}

/* --- hidden ------------------------------------------------------------------------ */

/* A program with its own allocator, whose functions no other file can see. */
static void a_hidden_allocator(void)
{
	char *program = program_path("own_malloc_hidden");

	REQUIRE(program);

	struct live_process *target = target_start(program);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--lib own_malloc_hidden");

	oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_own_malloc").bytes, 2400);
	CHECK_INT(report_site(report, "heap", "site_own_calloc").bytes, 3000);
	CHECK_INT(report_site(report, "heap", "site_own_realloc").bytes, 7000);
	CHECK_INT(live_int(report, "heap.live_blocks"), 300);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
	free(program);
}

/* An allocator whose malloc cannot be found: the numbers are wrong, and memtrace must say
 * so. */
static void an_allocator_half_seen(void)
{
	char *program = program_path("own_malloc_half");

	REQUIRE(program);

	struct live_process *target = target_start(program);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	CHECK_CONTAINS(live_stderr(memtrace), "memtrace: warning: ");
	CHECK_CONTAINS(live_stderr(memtrace), "own_malloc_half: malloc is not found");
	oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 200);
	CHECK(live_int(report, "heap.totals.frees_unknown") >= 100);
	CHECK_INT(live_int(report, "losses.functions_untraced"), 1);
	CHECK(json_is_false(json_object_get(report, "complete")));
	CHECK_INT(compare_losses(report, "functions_untraced"), 0);
	json_decref(report);
	live_destroy(target);
	free(program);
}

/* --- stripped ---------------------------------------------------------------------- */

/* The value of a line "name value\n" of a plan, to be freed. */
static char *fact(const char *plan, const char *name)
{
	const char *at = strstr(plan, name);

	REQUIRE(at);
	at += strlen(name);
	at += strspn(at, " ");
	return strndup(at, strcspn(at, "\n"));
}

static void a_stripped_static_program(void)
{
	static const struct setup setup = {.functions = 9, .labels = {"glibc"}};
	char *debug = program_path("allocators_static");
	char *program = program_path("allocators_stripped");

	if (!program || !debug)
		return;

	/* The debug file is in the program's directory. */
	struct live_process *target = target_start(program);
	char *plan = plan_of(target, NULL), *id = fact(plan, "build-id");

	check_labels(plan, &setup);
	CHECK_CONTAINS(plan, "names from ");
	CHECK_CONTAINS(plan, "/allocators_stripped.debug\n");
	check_traced(target, &setup);
	live_destroy(target);
	free(plan);

	/* No debug file: one line must say what is missing. */
	char *alone = live_path("root/alone");

	files_make_folders(alone);
	files_copy(program, alone);
	target = target_start(alone);

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), "");

	CHECK_INT(live_wait(memtrace, 30), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "alone is stripped");
	CHECK_CONTAINS(live_stderr(memtrace), "/usr/lib/debug/.build-id/");
	CHECK_CONTAINS(live_stderr(memtrace), id + 2);
	CHECK_CONTAINS(live_stderr(memtrace), "--lib");
	CHECK(strchr(live_stderr(memtrace), '\n')[1] == '\0');
	live_destroy(memtrace);
	CHECK(live_is_running(target));
	live_destroy(target);

	/* The process has its own root directory, with a debug file at the build-id's
	 * path. */
	char *root = live_path("root"), name[256];

	snprintf(name, sizeof(name), "root/usr/lib/debug/.build-id/%.2s/%s.debug", id,
		 id + 2);
	char *by_id = live_path(name);

	files_make_folders(by_id);
	files_copy(debug, by_id);

	const char *const argv[] = {"chroot", root, "/alone", NULL};

	target = live_start(argv);

	json_t *ready = live_read_json(target, 30);

	CHECK(ready);
	json_decref(ready);
	plan = plan_of(target, NULL);
	check_labels(plan, &setup);
	CHECK_CONTAINS(plan, "names from /usr/lib/debug/.build-id/");
	/* The symbolizer does not look in that root directory: the frames have no
	 * names. */
	check_traced(target, &(const struct setup){.functions = 9, .wrapped = true});
	live_destroy(target);

	free(plan);
	free(id);
	free(alone);
	free(root);
	free(by_id);
	free(program);
	free(debug);
}

/*
 * The debug file is where a distribution's -dbgsym package installs it, and the program
 * has no link to it. Uses a mount namespace, so that the machine does not change. Must
 * run last.
 */
static void an_installed_debug_file(void)
{
	static const struct setup setup = {.functions = 9, .labels = {"glibc"}};
	char *debug = program_path("allocators_static");
	char *program = program_path("allocators_stripped");
	bool made;

	if (!program || !debug)
		return;
	made = !mkdir("/usr/lib/debug", 0755);
	REQUIRE(!unshare(CLONE_NEWNS));
	REQUIRE(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	REQUIRE(!mount("tmpfs", "/usr/lib/debug", "tmpfs", 0, NULL));

	char *alone = live_path("lonely"), by_id[256];

	files_copy(program, alone);

	struct live_process *target = target_start(program);
	char *plan = plan_of(target, NULL), *id = fact(plan, "build-id");

	live_destroy(target);
	free(plan);
	snprintf(by_id, sizeof(by_id), "/usr/lib/debug/.build-id/%.2s/%s.debug", id,
		 id + 2);
	files_make_folders(by_id);
	files_copy(debug, by_id);

	target = target_start(alone);
	plan = plan_of(target, NULL);
	check_labels(plan, &setup);
	CHECK_CONTAINS(plan, by_id);
	/* All call paths must have names. */
	check_traced(target, &setup);
	live_destroy(target);

	REQUIRE(!umount("/usr/lib/debug"));
	if (made)
		rmdir("/usr/lib/debug");
	free(plan);
	free(id);
	free(alone);
	free(program);
	free(debug);
}

/* --- choices ----------------------------------------------------------------------- */

/* Traces one function: only its blocks are counted. Their realloc ends them. */
static void one_function(void)
{
	const struct setup setup = {.program = "allocators"};
	struct live_process *target = start(&setup);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--function calloc");

	oracle_do(target, "run 100");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_calloc").blocks, 100);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 200);
	CHECK_INT(live_int(report, "heap.totals.frees"), 100);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	oracle_do(target, "release");

	memtrace = memtrace_start(live_pid(target), "--function malloc");
	oracle_do(target, "run 100");
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_malloc").blocks, 100);
	CHECK_INT(report_site(report, "heap", "site_realloc").blocks, 0);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	oracle_do(target, "release");

	memtrace = memtrace_start_plain(live_pid(target), "--function mallocx");
	CHECK_INT(live_wait(memtrace, 30), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "mallocx");
	CHECK_CONTAINS(live_stderr(memtrace), "posix_memalign");
	live_destroy(memtrace);

	memtrace = memtrace_start_plain(live_pid(target), "--symbols-prefix my_");
	CHECK_INT(live_wait(memtrace, 30), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "my_malloc");
	live_destroy(memtrace);
	live_destroy(target);
}

/* Traces only the functions with this prefix. With --mappings also libc's mmap. */
static void symbols_prefix(void)
{
	const struct setup setup = {.program = "allocators_je"};
	struct live_process *target = start(&setup);

	if (!target)
		return;

	char *plan = plan_of(target, "--symbols-prefix je_ --mappings");

	CHECK_CONTAINS(plan, "allocator  executable\n");
	CHECK_CONTAINS(plan, "allocator  libc.so.6\n");
	CHECK_CONTAINS(plan, "  je_xallocx ");
	CHECK_CONTAINS(plan, "  munmap ");
	CHECK(!strstr(plan, "  malloc "));
	free(plan);

	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--symbols-prefix je_");

	oracle_do(target, "run 100");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_je_malloc").blocks, 100);
	CHECK_INT(report_site(report, "heap", "site_je_rallocx").blocks, 100);
	CHECK_INT(report_site(report, "heap", "site_malloc").blocks, 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(glibc);
	RUN(libstdcxx_over_glibc);
	RUN(jemalloc);
	RUN(jemalloc_linked_statically);
	RUN(tcmalloc);
	RUN(mimalloc);
	RUN(two_allocators_at_once);
	RUN(musl);
	RUN_WITH_RETURN_PROBES(a_hidden_allocator);
	RUN_WITH_RETURN_PROBES(an_allocator_half_seen);
	RUN_WITH_RETURN_PROBES(a_stripped_static_program);
	RUN(one_function);
	RUN(symbols_prefix);
	RUN_WITH_RETURN_PROBES(an_installed_debug_file);
	return check_done();
}
