// SPDX-License-Identifier: Apache-2.0
/* The line about functions without names. */
#include "check.h"

#include "output/stripped_note.h"
#include "unit/render/fixture.h"

static void check(const struct report *report, bool is_stored, const char *want)
{
	_cleanup_(freep) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out);
	CHECK(stripped_note_say(report, is_stored, out) == (*want != '\0'));
	REQUIRE(!fclose(out));
	CHECK_STR(text, want);
}

static void files_of_frames(void)
{
	static const char *const paths[] = {"/opt/a.so", "/opt/b.so", "/opt/c\033.so",
					    "/opt/d.so", "/opt/e.so"};
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t named, bare[5], jit;

	fixture_init(&f);
	named = fixture_symbol(&f, "main", "/srv/app/bin/leaky");
	for (size_t i = 0; i < 5; i++)
		bare[i] = fixture_symbol(&f, NULL, paths[i]);
	jit = fixture_symbol(&f, NULL, NULL);
	fixture_module(&f, FIXTURE_BASE + 0x100, FIXTURE_BASE + 0x200, paths[0],
		       "0123abcd");
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, bare[4], bare[2], bare[1],
				    bare[0], bare[0], bare[3], jit, named));
	fixture_report(&f);
	check(f.report, false,
	      "memtrace: no function names in a.so (build-id 0123abcd), b.so, c\\x1b.so "
	      "and 2 more: debug packages (-dbgsym, -debuginfo) with these build-ids "
	      "have "
	      "them; --debuginfod fetches them\n");
}

static void none(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, "main", "/srv/app/bin/leaky"),
				    fixture_symbol(&f, NULL, NULL),
				    fixture_symbol(&f, NULL, "[vdso]")));
	fixture_report(&f);
	check(f.report, false, "");
}

static void stored(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, NULL, "/opt/a.so")));
	fixture_report(&f);
	check(f.report, true,
	      "memtrace: no function names in a.so: debug packages (-dbgsym, -debuginfo) "
	      "with these build-ids have them; unpack them to DIR and add --debug-dir "
	      "DIR\n");
}

int main(void)
{
	RUN(files_of_frames);
	RUN(none);
	RUN(stored);
	return check_done();
}
