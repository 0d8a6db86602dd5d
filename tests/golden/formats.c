// SPDX-License-Identifier: Apache-2.0
/*
 * Flame graphs and summaries must equal NAME.svg and NAME.html byte for byte, without the
 * parts that cut.h removes. With a directory as argument, writes them there instead, to
 * be reviewed and copied here, and complete as whole-NAME for viewing.
 */
#include "cut.h"
#include "unit/render/fixture_timeline.h"

#include <time.h>

#include "render/flame/flame.h"
#include "render/html/html.h"

static const char *write_dir;

static void write_file(const char *prefix, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s%s", write_dir, prefix, name);

	_cleanup_(fclosep) FILE *file = fopen(path, "we");

	REQUIRE(file && fputs(text, file) >= 0);
}

static void compare(const char *name, char *got)
{
	size_t cap = 1 << 20;
	_cleanup_(freep) char *want = malloc(cap);
	char path[512];

	if (write_dir)
		write_file("whole-", name, got);
	cut_page(got);
	if (write_dir) {
		write_file("", name, got);
		return;
	}
	snprintf(path, sizeof(path), TEST_DATA_DIR "/golden/%s", name);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	REQUIRE(file && want);
	want[fread(want, 1, cap - 1, file)] = '\0';
	CHECK_STR(got, want);
}

static void
check_case(const char *name, struct fixture *f, const struct flame_options *options,
	   struct error *(*render)(const struct report *report,
				   const struct flame_options *options, FILE *out))
{
	_cleanup_(freep) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out);
	REQUIRE(!render(f->report ? f->report : fixture_report(f), options, out));
	REQUIRE(!fclose(out));
	compare(name, text);
}

static void flame(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	check_case("flame.svg", &f, &(struct flame_options){0}, flame_render);
}

/* With everything a page can show. */
static void flame_reverse(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);
	f.snap->sampling.every = 100;
	f.snap->losses[LOSS_BLOCKS_FULL] = 12;
	f.snap->losses[LOSS_EVENTS_LOST] = UINT64_MAX;
	f.symbols.data[2].name = "</title>\"<&'>\x1b\xff";
	f.symbols.data[3].module = "/tmp/<\"evil\" & co>\n.so";
	check_case("flame-reverse.svg", &f,
		   &(struct flame_options){.inverted = true, .reverse = true},
		   flame_render);
}

/* A run with everything that can be measured. */
static void html(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_timeline(&f);
	f.snap->processes.data->memory = (struct snapshot_memory){
		.vm_rss_bytes = 15 << 20,
		.vm_hwm_bytes = 16 << 20,
		.vm_size_bytes = 64 << 20,
	};
	f.snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 6000,
		.allocated_bytes = 6500000,
		.frees = 5993,
		.freed_bytes = 6500000 - 2100323,
		.frees_unknown = 5,
		.failures = 1,
	};
	check_case("summary.html", &f, &(struct flame_options){0}, html_render);
}

/* Several processes, mappings, sampling, losses and hostile names. Nothing else was
 * measured, and it is not the first report. */
static void html_hostile(void)
{
	static const char evil[] =
		"</script></style>]]>--><img src=x onerror=\"x\">'&\x1b\xff";
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	f.snap->processes.data[1].exited = true;
	f.snap->sampling.every = 100;
	f.snap->min_size_bytes = 2;
	f.snap->max_size_bytes = 4096;
	f.snap->losses[LOSS_BLOCKS_FULL] = 12;
	f.snap->losses[LOSS_EVENTS_LOST] = UINT64_MAX;
	f.symbols.data[2].name = evil;
	f.symbols.data[3].module = evil;
	free(f.snap->processes.data[0].command);
	f.snap->processes.data[0].command = strdup(evil);
	f.snap->library = strdup(evil);
	fixture_report(&f);
	f.report->has_previous = f.report->has_growth = true;
	check_case("summary-hostile.html", &f, &(struct flame_options){.inverted = true},
		   html_render);
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(flame);
	RUN(flame_reverse);
	RUN(html);
	RUN(html_hostile);
	return check_done();
}
