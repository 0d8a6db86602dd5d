// SPDX-License-Identifier: Apache-2.0
/* A view of a report equals the report that is built with the view's options. */
#include "fixture.h"

#include "report/view.h"

static char *render(const char *format, const struct report *report)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out);
	REQUIRE(!renderer_find(format)->render(report, out));
	REQUIRE(!fclose(out));
	return text;
}

static void check_equal(struct fixture *f, const struct report_options *options)
{
	struct report_history *history = report_history_create();
	struct report *built;

	REQUIRE(history);
	REQUIRE(!report_build(f->snap, history, f->frames, options, REPORT_STOPPED,
			      &built));

	struct report view;

	REQUIRE(!report_view(f->report, options, &view));
	for (const struct renderer *const *it = renderers; *it; it++) {
		/* Binary. */
		if (!strcmp((*it)->name, "pprof"))
			continue;

		_cleanup_(freep) char *want = render((*it)->name, built);
		_cleanup_(freep) char *got = render((*it)->name, &view);

		if (strcmp((*it)->name, "csv") || options->show_blocks)
			CHECK_STR(got, want);
	}
	report_destroy(built);
	report_history_destroy(history);
}

static void check_views(bool two_processes)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	if (two_processes)
		fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	fixture_report(&f);
	for (uint64_t top = 0; top < 7; top++) {
		struct report_options options = f.report->options;

		options.top = top;
		check_equal(&f, &options);
		options.show_blocks = false;
		check_equal(&f, &options);
	}
}

static void views_are_as_built(void)
{
	check_views(false);
}

/* Rows are sorted by process, and the cut to the top applies to all of them. */
static void views_of_several_processes(void)
{
	check_views(true);
}

int main(void)
{
	RUN(views_are_as_built);
	RUN(views_of_several_processes);
	return check_done();
}
