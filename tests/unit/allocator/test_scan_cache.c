// SPDX-License-Identifier: Apache-2.0
/* What was found in a library is found again without reading it. */
#include "check.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/scan_cache.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct scan_cache *, scan_cache_destroy);
DEFINE_CLEANUP(struct target_file *, target_file_release);

#define FIRST_TEXT  0x10000
#define SECOND_TEXT 0x20000

static struct error *scan(struct scan_cache *cache, struct target_file *library,
			  uint64_t text, bool is_named, struct allocators *ret)
{
	const struct allocator_options options = {.library = NULL};
	const struct allocator_file file = {.module_path = "/library",
					    .file = library,
					    .module_start = text,
					    .text_start = text,
					    .text_end = text + 0x1000,
					    .is_named = is_named};
	_cleanup_(freep) char *why_none = NULL;

	return scan_cache_scan(cache, &file, &options, ret, &why_none);
}

/* Does the scan fail while no file can be opened? */
static bool is_read(struct scan_cache *cache, struct target_file *library, bool is_named)
{
	_cleanup_(allocators_deinit) struct allocators found = {0};
	struct rlimit limit, none;
	struct error *err;
	bool has_failed;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){0, limit.rlim_max};
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	err = scan(cache, library, SECOND_TEXT, is_named, &found);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	has_failed = err;
	error_destroy(err);
	CHECK(has_failed || found.list.len == 1);
	return has_failed;
}

/* A copy of the C library, in `path`. */
static struct target_file *copy_libc(const char *path)
{
	struct target_file *file;
	char command[512];

	snprintf(
		command, sizeof(command),
		"cp \"$(ldconfig -p | sed -n 's/.*libc\\.so\\.6 (libc6,x86-64.*=> //p' | "
		"head -1)\" %s",
		path);
	if (system(command))
		check_skip("the C library is not found");
	REQUIRE(!target_file_named(NULL, path, &file));
	return file;
}

static void same_allocators(void)
{
	_cleanup_(scan_cache_destroyp) struct scan_cache *cache = scan_cache_create();
	const char *dir = child_tmpdir();
	char path[128];
	struct allocators first = {0}, second = {0};

	snprintf(path, sizeof(path), "%s/library", dir);

	_cleanup_(target_file_releasep) struct target_file *library = copy_libc(path);

	REQUIRE(cache);
	CHECK(is_read(cache, library, false));
	REQUIRE(!scan(cache, library, FIRST_TEXT, false, &first));
	REQUIRE(!scan(cache, library, SECOND_TEXT, false, &second));
	REQUIRE(first.list.len == 1 && second.list.len == 1);

	const struct allocator *a = &first.list.data[0], *b = &second.list.data[0];

	CHECK_STR(b->label, a->label);
	CHECK_STR(b->module_path, "/library");
	CHECK(a->file == library && b->file == library);
	CHECK_INT(a->text_start, FIRST_TEXT);
	CHECK_INT(b->text_start, SECOND_TEXT);
	CHECK_INT(b->text_end, SECOND_TEXT + 0x1000);
	CHECK(a->functions.len > 5);
	CHECK_INT(b->functions.len, a->functions.len);
	for (size_t i = 0; i < a->functions.len; i++)
		CHECK(a->functions.data[i].symbol.address ==
			      b->functions.data[i].symbol.address &&
		      a->functions.data[i].function == b->functions.data[i].function);
	allocators_deinit(&first);
	CHECK(!is_read(cache, library, false));
	/* Such a file may have a debug file of its process. */
	CHECK(is_read(cache, library, true));
	/* The file may have other contents now. */
	usleep(20000); /* the unit of the time of change may be 4 ms */
	REQUIRE(!chmod(path, 0600) && !chmod(path, 0755));
	CHECK(is_read(cache, library, false));
	allocators_deinit(&second);
	REQUIRE(!scan(cache, library, FIRST_TEXT, false, &first));
	CHECK(!is_read(cache, library, false));
	scan_cache_clear(cache);
	CHECK(is_read(cache, library, false));
	CHECK(is_read(NULL, library, false));
	allocators_deinit(&first);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	RUN(same_allocators);
	return check_done();
}
