// SPDX-License-Identifier: Apache-2.0
/* The pages that the renderers of reports write. */
#include "render/flame/flame.h"
#include "render/html/html.h"
#include "render/pprof/pprof.h"
#include "render/table/renderers.h"
#include "report/view.h"
#include "serve/page.h"
#include "snapshot/file.h"

/* Rows of ?debug=1. */
#define TEXT_ROWS 1000

/* The limits of Pyroscope (grafana/pyroscope, pkg/validation/limits.go:
 * max_profile_stacktrace_samples, max_profile_size_bytes). */
#define PROFILE_SAMPLES 16000
#define PROFILE_BYTES   ((size_t)4 << 20)

static struct flame_options flame_options(const struct options *options)
{
	return (struct flame_options){.inverted = options->inverted,
				      .reverse = options->reverse};
}

struct error *summary_page(const struct page *page, FILE *out)
{
	const struct flame_options options = flame_options(page->options);

	return html_render(page->report, &options, out);
}

struct error *flame_page(const struct page *page, FILE *out)
{
	const struct flame_options options = flame_options(page->options);

	return flame_render(page->report, &options, out);
}

/* Render the `top` rows. */
static struct error *render_rows(const struct page *page, const char *format,
				 uint64_t top, FILE *out)
{
	struct report_options options = page->report->options;
	struct report view;
	struct error *err;

	options.top = top;
	err = report_view(page->report, &options, &view);
	return err ? err : renderer_find(format)->render(&view, out);
}

struct error *json_page(const struct page *page, FILE *out)
{
	uint64_t top = page->query->has_top ? page->query->top : page->options->top;

	return render_rows(page, "json", top ? top : QUERY_TOP_MAX, out);
}

struct error *snapshot_page(const struct page *page, FILE *out)
{
	const struct snapshot *snap = page->report->snapshot;

	return snapshot_write(snap->made_of ? snap->made_of : snap, out);
}

static struct error *profile(const struct page *page, bool shows_allocs, FILE *out)
{
	const struct pprof_options options = {
		.max_samples = PROFILE_SAMPLES,
		.max_bytes = PROFILE_BYTES,
		.shows_allocs = shows_allocs,
		.only_heap = shows_allocs,
		.changes = page->query->seconds,
	};

	if (page->query->debug)
		return render_rows(page, "text", TEXT_ROWS, out);
	return pprof_render(page->report, &options, out);
}

struct error *heap_page(const struct page *page, FILE *out)
{
	return profile(page, false, out);
}

struct error *allocs_page(const struct page *page, FILE *out)
{
	return profile(page, true, out);
}
