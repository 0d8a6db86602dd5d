// SPDX-License-Identifier: Apache-2.0
/*
 * The sites where results are settled (plan/returns.h) in real allocators, checked by
 * execution: functions are called in a process that has loaded the library, and ptrace(2)
 * single-steps each instruction.
 */
#include "check.h"

#if !defined(__x86_64__)

int main(void)
{
	check_leave_out("the libraries of this machine are not x86-64");
}

#else

#include <glob.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "allocator/allocator.h"
#include "elf/elf.h"
#include "unit/plan/run_arguments.h"
#include "unit/plan/run_library.h"
#include "unit/plan/run_process.h"
#include "util/cleanup.h"

/* --- a run -------------------------------------------------------------------------- */

static uint64_t find_symbol(const struct library *library, const char *name)
{
	struct elf_symbol symbol;

	REQUIRE(!elf_file_find_functions(library->elf, &name, 1, &symbol));
	return symbol.name ? symbol.address : 0;
}

static void choose_plain(struct tracee *t)
{
	for (size_t i = 0; i < t->library->count; i++) {
		const struct function *f = &t->library->functions[i];

		if (!t->plain_alloc && f->kind->effect == EFFECT_ALLOC &&
		    !f->kind->size_arg && f->kind->count_arg == ARG_NONE &&
		    alignment_argument(f) < 0)
			t->plain_alloc = f;
		if (!t->plain_free && f->kind->effect == EFFECT_FREE)
			t->plain_free = f;
	}
	REQUIRE(t->plain_alloc && t->plain_free);
}

/* Functions whose result is not checked, and functions that need something that is
 * missing. */
static bool is_left_out(const struct tracee *t, const struct function *f)
{
	return has(f, "mi_heap") && !t->heap;
}

static void print_none(const struct library *library)
{
	for (size_t i = 0; i < library->count; i++)
		if (library->functions[i].why[0])
			printf("     %s: no sites in %s: %s\n", library->label,
			       library->functions[i].kind->name,
			       library->functions[i].why[0]);
}

/* Calls of each function, and of functions that programs rarely call: as many of the
 * libraries of this machine, fewer of other releases' without "scripts/test --long". */
#define ROUNDS       120
#define ROUNDS_RARE  30
#define ROUNDS_OTHER 40

/* Is it a function of the C library or a C++ operator? */
static bool is_common(const struct function *f)
{
	return strncmp(f->kind->name, "mi_", 3) != 0 &&
	       strncmp(f->kind->name, "tc_", 3) != 0;
}

static void judge_library(struct library *library)
{
	struct tracee t = {.library = library, .seed = 1};
	unsigned found = 0, failed = 0;
	const char *why = start(&t);
	double cpu_s = check_cpu_s();
	uint64_t heap;
	unsigned rounds =
		library->folder && !getenv("MEMTRACE_TEST_LONG") ? ROUNDS_OTHER : ROUNDS;

	if (why) {
		/* The library may need libraries of another release. */
		CHECK_LEAVE_OUT_PART("no call of %s: %s", library->label, why);
		stop(&t);
		return;
	}
	choose_plain(&t);
	heap = find_symbol(library, "mi_heap_get_default");
	t.heap = heap ? call(&t, heap, 0, 0, 0, 0) : 0;
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < library->count; i++)
			if (!is_left_out(&t, &library->functions[i]) &&
			    (round < ROUNDS_RARE || is_common(&library->functions[i])))
				judge_function(&t, &library->functions[i]);
	stop(&t);
	for (size_t i = 0; i < library->count; i++) {
		found += !library->functions[i].why[0];
		failed += library->functions[i].failed;
	}
	print_none(library);
	printf("     %s: %u of %zu functions have sites; %u calls, %u failed, %u "
	       "threw, %u were too long, %u steps, %.1f s; %u seen whole, of %zu "
	       "functions; more than one site came in",
	       library->label, found, library->count, t.calls, failed,
	       t.caught / (unsigned)VARIANTS, t.left, t.steps, check_cpu_s() - cpu_s,
	       t.by_whole, library->whole_count);
	for (unsigned v = 0; v < VARIANTS; v++)
		printf(" %u", t.again[v]);
	printf("\n");
	/* With thunks functions return by a jump to a thunk, which code/cfg.c refuses. */
	if (strstr(library->label, "thunk"))
		CHECK_INT(found, 0);
	else
		CHECK(found > 0);
	CHECK(t.by_whole || !library->whole_count);
}

/* --- the libraries ------------------------------------------------------------------ */

/* Builds that were already checked. */
static VEC(char *) judged;

static bool is_new(const char *build_id)
{
	char *copy;

	if (!build_id)
		return true;
	vec_foreach (other, &judged)
		if (!strcmp(*other, build_id))
			return false;
	copy = strdup(build_id);
	REQUIRE(copy && vec_push(&judged, copy));
	return true;
}

/* False if the file does not exist. */
static bool judge_file(const char *label, const char *path, const char *folder,
		       const char *linker)
{
	char *real = realpath(path, NULL);
	/* musl's dynamic linker is the library. */
	struct library library = {.label = label,
				  .path = real,
				  .folder = folder,
				  .linker = linker ? linker : real};
	bool found = library.path && library_open(&library);

	if (found && is_new(library.build_id))
		judge_library(&library);
	library_deinit(&library);
	return found;
}

static const char *const names[] = {
	"libc.so.6",        "libjemalloc.so.2",   "libtcmalloc_minimal.so.4",
	"libtcmalloc.so.4", "libmimalloc.so.2",   "libmimalloc.so.3",
	"libmimalloc.so.1", "libmimalloc.so.2.0", "libstdc++.so.6",
	"libc++abi.so.1",
};

#define LINKER       "/lib64/ld-linux-x86-64.so.2"
#define MUSL         "ld-musl-x86_64.so.1"

static unsigned judge_folder(const char *label, const char *folder, const char *linker,
			     bool is_release)
{
	unsigned there = 0;

	for (size_t i = 0; i < COUNT(names); i++) {
		_cleanup_(freep) char *path = NULL, *full = NULL;

		REQUIRE(asprintf(&path, "%s/%s", folder, names[i]) > 0);
		REQUIRE(asprintf(&full, "%s%s%s", label, *label ? " " : "", names[i]) >
			0);
		there += judge_file(full, path, is_release ? folder : NULL, linker);
	}
	return there;
}

static void this_machine(void)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64"};
	unsigned there = 0;

	for (size_t i = 0; i < COUNT(folders); i++)
		there += judge_folder("", folders[i], LINKER, false);
	judge_file("musl", "/lib/" MUSL, NULL, NULL);
	CHECK(there > 0);
}

/* Releases as for unit.code.place_releases. */
static void other_releases(void)
{
	static const char *const releases[] = {"debian-11", "debian-12", "debian-13",
					       "ubuntu-22.04", "ubuntu-24.04"};
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	unsigned there = 0;

	for (size_t i = 0; dir && i < COUNT(releases); i++) {
		_cleanup_(freep) char *folder = NULL, *linker = NULL, *musl = NULL,
				      *label = NULL;

		REQUIRE(asprintf(&folder, "%s/%s", dir, releases[i]) > 0);
		REQUIRE(asprintf(&linker, "%s/ld-linux-x86-64.so.2", folder) > 0);
		REQUIRE(asprintf(&musl, "%s/%s", folder, MUSL) > 0);
		REQUIRE(asprintf(&label, "%s musl", releases[i]) > 0);
		there += judge_folder(releases[i], folder, linker, true);
		there += judge_file(label, musl, folder, NULL);
	}
	printf("     %u libraries of other releases\n", there);
	if (!there)
		check_leave_out(
			"MEMTRACE_TEST_LIBRARIES names no other release's libraries: "
			"scripts/test fetches them where there is a network");
}

/* Builds of scripts/builds, with other compilers and options. */
static void other_builds(void)
{
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	_cleanup_(freep) char *pattern = NULL;
	unsigned there = 0;
	glob_t found;

	REQUIRE(asprintf(&pattern, "%s/builds/*-*", dir ? dir : "") > 0);
	if (!dir || glob(pattern, 0, NULL, &found))
		check_leave_out(
			"MEMTRACE_TEST_LIBRARIES names no other builds: scripts/test "
			"makes them where it can have their sources");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		_cleanup_(freep) char *musl = NULL;
		const char *label = strrchr(found.gl_pathv[i], '/') + 1;

		REQUIRE(asprintf(&musl, "%s/%s", found.gl_pathv[i], MUSL) > 0);
		there += judge_folder(label, found.gl_pathv[i], LINKER, false);
		there += judge_file(label, musl, NULL, NULL);
	}
	globfree(&found);
	printf("     %u other builds\n", there);
	CHECK(there > 0);
}

int main(int argc, char *argv[])
{
	cpu_set_t one;

	/* Tracer and tracee take turns: on one processor that is twice as fast. */
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (argc > 1 && !strcmp(argv[1], "releases"))
		RUN(other_releases);
	else if (argc > 1)
		RUN(other_builds);
	else
		RUN(this_machine);
	vec_foreach (build_id, &judged)
		free(*build_id);
	vec_deinit(&judged);
	return check_done();
}

#endif
