// SPDX-License-Identifier: Apache-2.0
/* Parts of the text report that the golden reports do not contain: colours, hidden
 * frames, the timeline. */
#include "fixture.h"

#include <stdbool.h>

#include "colors.h"
#include "render/views/views.h"
#include "frames/filter.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

static char *render(struct fixture *f, const struct report_options *options)
{
	return fixture_render_again(f, "text", options);
}

/* Without its colours the text is the same, and no line ends with a colour on. */
static void colors(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->losses[LOSS_BLOCKS_FULL] = 1;
	f.snap->has_traffic = f.snap->has_lifetimes = f.snap->has_trends = true;
	for (const struct view_ops *const *it = views; *it; it++) {
		struct report_options options = {
			.view = (*it)->name, .older_ns = 1, .singles = 5};
		_cleanup_(freep) char *plain = render(&f, &options);
		_cleanup_(freep) char *colored = NULL;
		bool is_on = false;

		CHECK(!strchr(plain, '\x1b'));
		options.color = true;
		colored = render(&f, &options);
		CHECK_CONTAINS(colored, "\x1b[1mmemtrace report 1");
		CHECK_CONTAINS(colored, "\x1b[1;31mNot everything could be recorded:");
		for (const char *at = colored; *at; at++) {
			if (*at == '\x1b')
				is_on = strncmp(at, "\x1b[0m", 4);
			CHECK(*at != '\n' || !is_on);
		}
		colors_strip(colored);
		CHECK_STR(colored, plain);
	}
}

static void hidden_frames(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	struct report_options options = {.filter = filter};
	_cleanup_(freep) char *text = NULL;

	fixture_init(&f);
	fixture_fill(&f);
	REQUIRE(filter && !report_filter_add(filter, FILTER_HIDE, "fn:malloc"));
	text = render(&f, &options);
	CHECK(!strstr(text, "malloc+"));
	CHECK_CONTAINS(text, "Cache::insert(std::string const&)+0x");
	/* The reason why a stack ends is not a frame. */
	CHECK_CONTAINS(text, "[truncated: stack depth limit");
}

/* On a terminal names and paths are short, and only frames without a name have addresses.
 * Elsewhere lines are as memleak has them. */
static void forms(void)
{
	static const char full[] = "\t\t0x0000000000400210\tCache::insert(std::string "
				   "const&)+0x10 [leaky]\n";
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.is_terminal = true};
	char *text;

	fixture_init(&f);
	fixture_fill(&f);
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\n                Cache::insert [leaky]\n");
	CHECK_CONTAINS(text, "\n                [libblob.so+0x10]\n");
	CHECK_CONTAINS(text, "\n                0x0000000000400410      [unknown]\n");
	CHECK(!strstr(text, "0x0000000000400210"));
	free(text);
	options.addresses = true;
	options.names = REPORT_FORM_FULL;
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\n                0x0000000000400210      Cache::insert("
			     "std::string const&)+0x10\n                    [leaky]\n");
	free(text);
	options = (struct report_options){0};
	text = render(&f, &options);
	CHECK_CONTAINS(text, full);
	free(text);
	options.names = REPORT_FORM_SHORT;
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\t\t0x0000000000400210\tCache::insert+0x10 [leaky]\n");
	free(text);
}

/* No line of any view is wider than the terminal, and without line breaks and blanks the
 * text is the same. */
static void terminals(void)
{
	static const unsigned widths[] = {1, 20, 40, 80, 200};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->losses[LOSS_BLOCKS_FULL] = 1;
	f.snap->has_traffic = f.snap->has_lifetimes = f.snap->has_trends = true;
	for (const struct view_ops *const *it = views; *it; it++) {
		for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
			struct report_options options = {.view = (*it)->name,
							 .singles = 5,
							 .is_terminal = true,
							 .columns = widths[i]};
			_cleanup_(freep) char *text = render(&f, &options);

			CHECK(!strchr(text, '\t'));
			for (const char *at = text; *at; at += strspn(at, "\n")) {
				size_t width = strcspn(at, "\n");

				CHECK(width <= (widths[i] < 10 ? 10 : widths[i]));
				at += width;
			}
		}
	}
}

static void add_moment(struct fixture *f, uint64_t age_s, uint64_t live_bytes,
		       uint64_t rss_bytes)
{
	REQUIRE(vec_push(&f->snap->moments,
			 (struct snapshot_moment){
				 .time_ns = f->snap->time_ns - age_s * FIXTURE_NS,
				 .live_bytes = {live_bytes, 0},
				 .vm_rss_bytes = rss_bytes,
			 }));
}

static void timeline(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.utf8 = false};
	char *text;

	fixture_init(&f);
	add_moment(&f, 8, 0, 0);
	add_moment(&f, 6, 700, 0);
	text = render(&f, &options);
	CHECK(!strstr(text, "timeline"));
	free(text);

	add_moment(&f, 4, 300, 0);
	add_moment(&f, 2, 100, 0);
	add_moment(&f, 0, 700, 0);
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\n  timeline    _#:.#  heap, 0 B to 700 B\n");
	CHECK(!strstr(text, "VmRSS"));
	free(text);

	options.utf8 = true;
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\n  timeline    ▁█▄▂█  heap, 0 B to 700 B\n");
	free(text);

	/* Time is the weight, not the number of snapshots: for seven of eight seconds
	 * nothing was live. */
	f.snap->moments.len = 0;
	add_moment(&f, 8, 0, 4096);
	for (uint64_t i = 0; i < 9; i++)
		add_moment(&f, 0, 512, 4096);
	f.snap->moments.data[1].time_ns -= FIXTURE_NS;
	options.utf8 = false;
	text = render(&f, &options);
	CHECK_CONTAINS(text, "\n  timeline    ________##  heap, 0 B to 512 B\n"
			     "              __________  VmRSS, 4.0 KiB to 4.0 KiB\n");
	free(text);

	/* A file may have them in any order. */
	f.snap->moments.data[3].time_ns = 0;
	text = render(&f, &options);
	CHECK(!strstr(text, "timeline"));
	free(text);
}

/* The report does not claim that the blocks are older than the attach. If memtrace
 * started the program, no such blocks exist. */
static void frees_of_what_was_not_live(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.utf8 = false};
	char *text;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->totals[BLOCK_HEAP].frees_unknown = 2;
	text = render(&f, &options);
	CHECK_CONTAINS(text, " 2 more frees, of blocks from before the attach, freed "
			     "already, or not traced\n");
	free(text);

	f.snap->launched = true;
	text = render(&f, &options);
	CHECK_CONTAINS(text, " 2 more frees, of blocks freed already, or not traced\n");
	free(text);

	f.snap->min_size_bytes = 100;
	text = render(&f, &options);
	CHECK_CONTAINS(text, " 2 more frees, of blocks that were not tracked\n");
	free(text);
}

/* If there are several processes, the report names a suspect's process. */
static void processes_of_suspects(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct snapshot_trend leak = {
		.intervals = 9,
		.grew = 9,
		.slope_bytes_per_s = 100,
		.determination = 1,
		.rise_bytes = 900,
	};
	struct report_options options = {.top = 1};
	char *text;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->has_trends = true;
	for (size_t i = 0; i < f.snap->stacks.len; i++)
		REQUIRE(vec_push(&f.snap->trends[BLOCK_HEAP],
				 i ? (struct snapshot_trend){0} : leak));
	text = render(&f, &options);
	CHECK_CONTAINS(text, "1 leak suspect:\n");
	CHECK(!strstr(text, "in process"));
	free(text);
	fixture_deinit(&f);

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	f.snap->has_trends = true;
	for (size_t i = 0; i < f.snap->stacks.len; i++)
		REQUIRE(vec_push(&f.snap->trends[BLOCK_HEAP],
				 i + 1 < f.snap->stacks.len ? (struct snapshot_trend){0}
							    : leak));
	f.snap->totals[BLOCK_HEAP].frees_unknown = 1;
	text = render(&f, &options);
	CHECK_CONTAINS(text, "1 leak suspect:\n\t");
	CHECK_CONTAINS(text, "oldest block 1.0 s) in process 99 (se;c\\x0a)\n");
	CHECK_CONTAINS(text, " 1 more free, of blocks from before the attach, freed "
			     "already, inherited by a fork, or not traced\n");
	free(text);
}

/* A row of several processes names them. If there are several processes, a row of one
 * process names it. */
static void rows_of_many_processes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 10};
	char *text;

	fixture_init(&f);
	fixture_fill(&f);
	text = render(&f, &options);
	CHECK(!strstr(text, ") in "));
	free(text);

	fixture_fill_second(&f);
	f.snap->blocks[BLOCK_HEAP].data[0].process = 1;
	text = render(&f, &options);
	CHECK_CONTAINS(text, " in 2 processes (leaky, se;c\\x0a)\n");
	CHECK_CONTAINS(text, " in 99 (se;c\\x0a)\n");
	CHECK(!strstr(text, "\n    process "));
	free(text);
}

/* If a process ended too soon, its symbols come from another process with the same file.
 * A file with the same name but another build-id is not the same. */
static void names_by_another_process(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 10};
	const uint64_t elsewhere = FIXTURE_BASE + 0x900000, insert = 0x111;
	char *text;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_process(&f, 99, "gone");
	fixture_module(&f, elsewhere, elsewhere + 0x300, "/srv/app/bin/leaky",
		       "00112233445566778899aabbccddeeff00112233");
	fixture_module(&f, elsewhere + 0x1000, elsewhere + 0x1300,
		       "/opt/vendor/libblob.so", "abcdee");
	fixture_block(&f, BLOCK_HEAP, 5000, 99,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, elsewhere + insert,
				    elsewhere + 0x1011));
	text = render(&f, &options);
	CHECK_CONTAINS(text,
		       " in 99 (gone)\n"
		       "\t\t0x0000000000d00110\tCache::insert(std::string const&)+0x10 "
		       "[leaky]\n"
		       "\t\t0x0000000000d01010\t[libblob.so+0x1010]\n");
	free(text);
}

/* The report names the signal. */
static void hangup(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(freep) char *text = NULL;

	fixture_init(&f);
	fixture_report(&f);
	f.report->cause = REPORT_HANGUP;
	text = fixture_render(&f, "text", NULL);
	CHECK_CONTAINS(text, "\n  final       stopped by SIGHUP, as when its terminal is "
			     "closed\n");
}

int main(void)
{
	RUN(colors);
	RUN(hidden_frames);
	RUN(forms);
	RUN(terminals);
	RUN(timeline);
	RUN(frees_of_what_was_not_live);
	RUN(processes_of_suspects);
	RUN(rows_of_many_processes);
	RUN(names_by_another_process);
	RUN(hangup);
	return check_done();
}
