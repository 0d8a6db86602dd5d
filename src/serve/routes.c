// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include <string.h>

#include "serve/openmetrics.h"

static page_fn index_page;

/*
 * Alloy, Pyroscope and Parca fetch /debug/pprof/allocs for memory by default
 * (grafana/alloy, internal/component/pyroscope/scrape/scrape.go; parca-dev/parca,
 * pkg/config/config.go).
 */
const struct route routes[] = {
	{"/", "text/html; charset=utf-8", "summary with the flame graph",
	 .render = summary_page, .needs_blocks = true, .reloads = true},
	{"/metrics", OPENMETRICS_TYPE, "totals, for Prometheus", .render = metrics_page,
	 .takes_none = true},
	{"/healthz", ROUTE_TEXT_TYPE, "\"ok\" while memtrace runs", .fixed = "ok\n"},
	{"/report.json", "application/json", "report; ?top=N: with N call paths",
	 .render = json_page, .needs_blocks = true},
	{"/flame.svg", "image/svg+xml", "flame graph", .render = flame_page},
	{"/snapshot.mts", "application/octet-stream", "snapshot for memtrace --replay",
	 .render = snapshot_page, .needs_blocks = true},
	{"/debug/pprof/", "text/html; charset=utf-8", "this list", .render = index_page,
	 .takes_none = true},
	{"/debug/pprof/heap", "application/octet-stream",
	 "what is live, for pprof; ?seconds=N: changes in N seconds; ?debug=1: text",
	 .render = heap_page, .takes_seconds = true, .takes_debug = true},
	{"/debug/pprof/allocs", "application/octet-stream",
	 "the same; pprof shows what was allocated first", .render = allocs_page,
	 .takes_seconds = true, .takes_debug = true},
	{.path = NULL},
};

const struct route *route_find(const char *path)
{
	for (const struct route *route = routes; route->path; route++)
		if (!strcmp(route->path, path))
			return route;
	return NULL;
}

const char *route_type(const struct route *route, const struct query *query)
{
	return route->takes_debug && query->debug ? ROUTE_TEXT_TYPE : route->type;
}

bool route_needs_blocks(const struct route *route, const struct query *query)
{
	return route->needs_blocks || (route->takes_debug && query->debug);
}

static struct error *index_page(const struct page *page, FILE *out)
{
	(void)page;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<title>memtrace</title>\n"
	      "<h1>memtrace</h1>\n<ul>\n",
	      out);
	for (const struct route *route = routes; route->path; route++)
		fprintf(out, "<li><a href=\"%s\">%s</a>: %s\n", route->path, route->path,
			route->text);
	fputs("</ul>\n", out);
	return NULL;
}
