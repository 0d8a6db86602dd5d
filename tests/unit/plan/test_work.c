// SPDX-License-Identifier: Apache-2.0
/* The work of analysing a library is bounded, and far from the bound for packaged ones.
 */
#include <glob.h>
#include <unistd.h>

#include "check.h"

#include "arch/arch.h"
#include "code/cfg.h"
#include "library_path.h"
#include "unit/plan/plan_build.h"

/* Each packaged library can take so many times more. */
#define FACTOR_MIN 5

/* Takes about a second, or several with sanitizers. Without the limit: minutes. */
#define SLOW_S 15

static const struct plan_options unmapped = {.unmapped = true};

static void endless_calls(void)
{
	struct plan *plan = NULL;
	double before_s = check_cpu_s();

	/* As for other malformed code: no return probes. */
	CHECK_REFUSED(build_path(TEST_ENDLESS, "endless", &unmapped, &plan),
		      ERROR_UNSUPPORTED, "endless: malloc cannot be probed",
		      CFG_TOO_MUCH);
	printf("     %.2f s\n", check_cpu_s() - before_s);
	CHECK(check_cpu_s() - before_s < SLOW_S);
}

static void scan(const char *path, struct allocators *found)
{
	const struct allocator_options how = {0};
	struct allocator_file file = {.module_path = path};
	char *stripped = NULL;

	REQUIRE(!target_file_named(NULL, path, &file.file));
	REQUIRE(!allocators_scan(&file, &how, found, &stripped));
	target_file_release(file.file);
	free(stripped);
}

/* The C library behind such a file is followed as usual: its functions must not get
 * return probes, which may be in all processes. */
static void each_file_has_its_own(void)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	struct allocators found = {0};
	const struct plan_object *endless, *libc;

	scan(TEST_ENDLESS, &found);
	scan(LIBRARY_FOLDER "libc.so.6", &found);
	REQUIRE(!plan_build_for(&found, &unmapped, &plan));
	REQUIRE(plan->objects.len == 2);
	endless = &plan->objects.data[0];
	CHECK(endless->work.is_over);
	vec_foreach (site, &endless->sites) {
		CHECK_INT(site->function->effect, EFFECT_FREE);
		CHECK(!site->wants_return);
	}
	CHECK(endless->sites.len > 0);
	CHECK(endless->skipped.len > 0);
	libc = &plan->objects.data[1];
	CHECK(libc->work.done > 0 && !libc->work.is_over);
	CHECK(libc->sites.len > 5);
	vec_foreach (site, &libc->sites)
		CHECK(!site->no_returns);
}

/* Raise *most to the part of the limit that the library's analysis takes. */
static void judge(const char *path, double *most)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	_cleanup_(error_destroyp) struct error *err = NULL;
	double before_s = check_cpu_s(), part;

	err = build_path(path, "library", &unmapped, &plan);
	if (err)
		return;
	part = (double)only(plan)->work.done / (double)WORK_MAX;
	printf("     %s: %" PRIu64 ", %.1f ms\n", path, only(plan)->work.done,
	       1000 * (check_cpu_s() - before_s));
	CHECK(only(plan)->work.done > 0);
	CHECK(!only(plan)->work.is_over);
	if (part > *most)
		*most = part;
}

static void packaged_libraries(void)
{
	static const char *const names[] = {
		"libc.so.6",        "libjemalloc.so.*",    "libtcmalloc_minimal.so.4",
		"libtcmalloc.so.4", "libmimalloc.so.*",    "libstdc++.so.6",
		"libc++abi.so.1",   "ld-musl-x86_64.so.1",
	};
	const char *dir = getenv("MEMTRACE_TEST_LIBRARIES");
	double most = 0;

	for (size_t i = 0; i < COUNT(names); i++) {
		_cleanup_(freep) char *here = NULL, *others = NULL;
		glob_t found;

		REQUIRE(asprintf(&here, LIBRARY_FOLDER "%s", names[i]) > 0);
		REQUIRE(asprintf(&others, "%s/*/%s", dir ? dir : "/nowhere", names[i]) >
			0);
		glob(here, 0, NULL, &found);
		glob(others, GLOB_APPEND, NULL, &found);
		for (size_t n = 0; n < found.gl_pathc; n++)
			judge(found.gl_pathv[n], &most);
		globfree(&found);
	}
	REQUIRE(most > 0);
	printf("     the limit is %.0f times the most\n", 1 / most);
	CHECK(most * FACTOR_MIN < 1);
}

int main(void)
{
	if (!arch.has_decoder)
		check_skip("memtrace does not follow this machine's code");
	RUN(packaged_libraries);
	RUN(endless_calls);
	RUN(each_file_has_its_own);
	return check_done();
}
