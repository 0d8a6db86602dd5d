// SPDX-License-Identifier: Apache-2.0
#include "unit/files/temp_dir.h"
#include "unit/options/options_check.h"
#include "unit/render/fixture.h"

#include <unistd.h>

#include "options/option_table.h"
#include "output/outputs.h"

static const char *const names[OUTPUT_KIND_COUNT] = {
	[OUTPUT_FLAMEGRAPH] = "out.folded", [OUTPUT_FLAME] = "out.svg",
	[OUTPUT_PPROF] = "out.pb.gz",       [OUTPUT_CSV] = "out.csv",
	[OUTPUT_JSON] = "out.json",         [OUTPUT_HTML] = "out.html",
	[OUTPUT_SAVE] = "out.mts",
};

static const char *const begins[OUTPUT_KIND_COUNT] = {
	[OUTPUT_FLAMEGRAPH] = "[no stack: it was not stored] 7\n",
	[OUTPUT_FLAME] = "<?xml ",
	[OUTPUT_PPROF] = "\x1f\x8b\x08",
	[OUTPUT_CSV] = "pid,stack_id,",
	[OUTPUT_JSON] = "{\"schema\":\"memtrace-report\"",
	[OUTPUT_HTML] = "<!DOCTYPE html>",
	[OUTPUT_SAVE] = "\x8fmts\r\n\x1a\n\x01",
};

struct run {
	struct fixture f;
	struct temp_dir dir;
	struct options options;
	char patterns[OUTPUT_KIND_COUNT][128];
	struct outputs outputs;
};

static void run_init(struct run *r)
{
	*r = (struct run){.dir = temp_dir_create(),
			  .options = {.pids = {4321}, .pid_count = 1}};
	fixture_init(&r->f);
	fixture_fill(&r->f);
	fixture_report(&r->f);
}

static void run_deinit(struct run *r)
{
	fixture_deinit(&r->f);
	temp_dir_destroy(&r->dir);
}

static void ask_for(struct run *r, enum output_kind kind, const char *name)
{
	snprintf(r->patterns[kind], sizeof(r->patterns[kind]), "%s/%s", r->dir.path,
		 name);
	r->options.files[kind] = r->patterns[kind];
}

static void check_fails(struct error *err, const char *want)
{
	CHECK_CONTAINS(err ? err->message : NULL, want);
	error_destroy(err);
}

static void all_files_at_the_end(void)
{
	_cleanup_(run_deinit) struct run r;
	char buf[64];
	struct stat st;

	run_init(&r);
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++)
		ask_for(&r, (enum output_kind)i, names[i]);
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	CHECK_INT(temp_dir_count(&r.dir, false), 0);
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, false));
	CHECK_INT(temp_dir_count(&r.dir, false), 0);
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, true));
	CHECK_INT(temp_dir_count(&r.dir, false), OUTPUT_KIND_COUNT);
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++) {
		temp_dir_read(&r.dir, names[i], buf, sizeof(buf));
		CHECK(!strncmp(buf, begins[i], strlen(begins[i])));
		REQUIRE(!stat(temp_dir_path(&r.dir, names[i]), &st));
		CHECK_INT(st.st_mode, S_IFREG | 0600);
	}
}

static void files_at_each_report(void)
{
	_cleanup_(run_deinit) struct run r;
	char buf[64];

	run_init(&r);
	ask_for(&r, OUTPUT_CSV, "%p-%n.csv");
	ask_for(&r, OUTPUT_FLAMEGRAPH, "always");
	r.options.output_every = true;
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, false));
	r.f.report->sequence++;
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, false));
	CHECK_INT(temp_dir_count(&r.dir, false), 3);
	r.f.report->sequence++;
	/* memtrace did not make this file: it stays. */
	temp_dir_write(&r.dir, "4321-3.csv", "theirs");
	check_fails(outputs_write(&r.outputs, r.f.report, NULL, true),
		    "/4321-3.csv exists: use --force (-f)");
	CHECK_STR(temp_dir_read(&r.dir, "4321-3.csv", buf, sizeof(buf)), "theirs");
	CHECK_CONTAINS(temp_dir_read(&r.dir, "4321-1.csv", buf, sizeof(buf)), "pid,");
	CHECK_CONTAINS(temp_dir_read(&r.dir, "4321-2.csv", buf, sizeof(buf)), "pid,");
	CHECK_INT(temp_dir_count(&r.dir, false), 4);
}

/* One output that cannot be written does not prevent the others. */
static void others_are_written(void)
{
	_cleanup_(run_deinit) struct run r;
	char buf[64];

	run_init(&r);
	ask_for(&r, OUTPUT_FLAMEGRAPH, "first");
	ask_for(&r, OUTPUT_CSV, "second");
	ask_for(&r, OUTPUT_JSON, "third");
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	temp_dir_write(&r.dir, "first", "theirs");
	REQUIRE(!symlink("first", temp_dir_path(&r.dir, "third")));
	check_fails(outputs_write(&r.outputs, r.f.report, NULL, true), "/first exists");
	CHECK_STR(temp_dir_read(&r.dir, "first", buf, sizeof(buf)), "theirs");
	CHECK_CONTAINS(temp_dir_read(&r.dir, "second", buf, sizeof(buf)), "pid,");
	CHECK_INT(temp_dir_count(&r.dir, false), 3);
}

static void troubles_show_before_the_run(void)
{
	_cleanup_(run_deinit) struct run r;

	run_init(&r);
	temp_dir_write(&r.dir, "old", "old");
	temp_dir_write(&r.dir, "old-1", "old");
	temp_dir_write(&r.dir, "old-4321", "old");
	ask_for(&r, OUTPUT_CSV, "old");
	check_fails(outputs_init(&r.outputs, &r.options, NULL), "--csv ");
	r.options.force = true;
	CHECK(!outputs_init(&r.outputs, &r.options, NULL));
	r.options.force = false;
	ask_for(&r, OUTPUT_CSV, "old-%p");
	check_fails(outputs_init(&r.outputs, &r.options, NULL), "/old-4321 exists");
	/* --output-every checks only the first number. A command's pid is unknown yet. */
	ask_for(&r, OUTPUT_CSV, "old-%n");
	CHECK(!outputs_init(&r.outputs, &r.options, NULL));
	r.options.output_every = true;
	check_fails(outputs_init(&r.outputs, &r.options, NULL), "/old-1 exists");
	ask_for(&r, OUTPUT_CSV, "old-%p");
	r.options.pid_count = 0;
	CHECK(!outputs_init(&r.outputs, &r.options, NULL));
	ask_for(&r, OUTPUT_CSV, "none/x");
	check_fails(outputs_init(&r.outputs, &r.options, NULL),
		    "No such file or directory");
	CHECK_INT(temp_dir_count(&r.dir, false), 3);
}

/* Only reports for files need all rows and blocks. */
static void reports_have_what_is_needed(void)
{
	_cleanup_(run_deinit) struct run r;
	const struct report_options usual = {.top = 3, .older_ns = 5};
	struct report_options got;

	run_init(&r);
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	got = outputs_report_options(&r.outputs, &usual, true);
	CHECK(got.top == 3 && !got.show_blocks && got.older_ns == 5);
	CHECK(!outputs_save_is_due(&r.outputs, true));
	/* A snapshot contains all blocks anyway. */
	ask_for(&r, OUTPUT_SAVE, "y");
	got = outputs_report_options(&r.outputs, &usual, true);
	CHECK(got.top == 3 && !got.show_blocks && got.older_ns == 5);
	CHECK(outputs_save_is_due(&r.outputs, true));
	CHECK(!outputs_save_is_due(&r.outputs, false));
	ask_for(&r, OUTPUT_PPROF, "x");
	got = outputs_report_options(&r.outputs, &usual, false);
	CHECK(got.top == 3 && !got.show_blocks);
	got = outputs_report_options(&r.outputs, &usual, true);
	CHECK(got.top == 0 && got.show_blocks && got.older_ns == 5);
	CHECK(got.past && got.singles);
	r.options.output_every = true;
	got = outputs_report_options(&r.outputs, &usual, false);
	CHECK(got.top == 0 && got.show_blocks);
	CHECK(outputs_save_is_due(&r.outputs, false));
}

/* The JSON file lists blocks only with --show-allocs. */
static void json_lists_blocks_when_asked(void)
{
	_cleanup_(run_deinit) struct run r;
	char buf[8192];

	run_init(&r);
	ask_for(&r, OUTPUT_JSON, "x");
	r.options.output_every = true;
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, true));
	temp_dir_read(&r.dir, "x", buf, sizeof(buf));
	CHECK_CONTAINS(buf, "\"frames\":[");
	CHECK(!strstr(buf, "\"allocations\":["));
	r.options.show_allocs = true;
	REQUIRE(!outputs_write(&r.outputs, r.f.report, NULL, true));
	CHECK_CONTAINS(temp_dir_read(&r.dir, "x", buf, sizeof(buf)), "\"allocations\":[");
}

/* CSV has the table of the view; the rows of freed blocks are only in views that have
 * them. */
static void csv_is_of_the_view(void)
{
	_cleanup_(run_deinit) struct run r;
	struct report_options options = {.past = true};
	struct report *report;
	char buf[8192];

	run_init(&r);
	r.f.snap->has_traffic = true;
	for (size_t i = 0; i < r.f.snap->stacks.len; i++)
		REQUIRE(vec_push(&r.f.snap->traffic,
				 (struct snapshot_traffic){.allocations = 1}));
	/* The first three blocks: of stack 0 and of stack 1. */
	r.f.snap->blocks[BLOCK_HEAP].len = 3;
	ask_for(&r, OUTPUT_CSV, "x");
	r.options.force = true;
	REQUIRE(!outputs_init(&r.outputs, &r.options, NULL));
	for (int i = 0; i < 2; i++) {
		r.options.view = options.view = i ? "traffic" : "growth";
		REQUIRE(!report_build(r.f.snap, r.f.history, r.f.frames, &options,
				      REPORT_STOPPED, &report));
		REQUIRE(!outputs_write(&r.outputs, report, NULL, true));
		temp_dir_read(&r.dir, "x", buf, sizeof(buf));
		CHECK(!strncmp(buf,
			       i ? "pid,stack_id,class,allocations,"
				 : "pid,stack_id,class,bytes,",
			       25));
		CHECK_CONTAINS(buf, "\r\n4321,0,heap,");
		CHECK_CONTAINS(buf, "\r\n4321,1,heap,");
		CHECK_INT(!!strstr(buf, "\r\n4321,2,heap,"), i);
		report_destroy(report);
	}
}

/* Standard output cannot be replaced, so it gets only the final version. */
static void standard_output_at_the_end(void)
{
	_cleanup_(run_deinit) struct run r;
	const struct report_options usual = {.top = 3};
	char buf[64];
	int saved = dup(STDOUT_FILENO), fd;

	run_init(&r);
	temp_dir_write(&r.dir, "stdout", "");
	fd = open(temp_dir_path(&r.dir, "stdout"), O_WRONLY | O_CLOEXEC);
	REQUIRE(saved >= 0 && fd >= 0);
	r.options.files[OUTPUT_CSV] = "-";
	r.options.output_every = true;
	fflush(stdout);
	REQUIRE(dup2(fd, STDOUT_FILENO) >= 0);
	close(fd);

	struct error *before = outputs_init(&r.outputs, &r.options, NULL);
	unsigned top = (unsigned)outputs_report_options(&r.outputs, &usual, false).top;
	struct error *every = outputs_write(&r.outputs, r.f.report, NULL, false);
	size_t early = strlen(temp_dir_read(&r.dir, "stdout", buf, sizeof(buf)));
	struct error *last = outputs_write(&r.outputs, r.f.report, NULL, true);

	REQUIRE(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	REQUIRE(!before && !every && !last);
	CHECK_INT(top, 3);
	CHECK_INT(outputs_report_options(&r.outputs, &usual, true).top, 0);
	CHECK_INT(early, 0);
	temp_dir_read(&r.dir, "stdout", buf, sizeof(buf));
	CHECK(!strncmp(buf, begins[OUTPUT_CSV], strlen(begins[OUTPUT_CSV])));
	CHECK_INT(temp_dir_count(&r.dir, false), 1);
}

static void errors_name_the_option(void)
{
	unsigned tried = 0;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		char given[64], wanted[64];
		struct options options;
		struct outputs outputs;

		if (row->kind != KIND_PATTERN)
			continue;
		snprintf(given, sizeof(given), "--%s=no/where", row->name);
		snprintf(wanted, sizeof(wanted),
			 "cannot write --%s no/where: ", row->name);
		PARSE(&options, given);
		check_fails(outputs_init(&outputs, &options, NULL), wanted);
		tried++;
	}
	CHECK_INT(tried, OUTPUT_KIND_COUNT);
}

int main(void)
{
	RUN(all_files_at_the_end);
	RUN(files_at_each_report);
	RUN(others_are_written);
	RUN(troubles_show_before_the_run);
	RUN(reports_have_what_is_needed);
	RUN(json_lists_blocks_when_asked);
	RUN(csv_is_of_the_view);
	RUN(standard_output_at_the_end);
	RUN(errors_name_the_option);
	return check_done();
}
