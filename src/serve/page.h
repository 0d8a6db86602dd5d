/* SPDX-License-Identifier: Apache-2.0 */
/* Input of the renderers of pages. A renderer writes its page to a stream, which the
 * caller checks for failed writes. */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include <stdio.h>

#include "observe/observer.h"
#include "options/options.h"
#include "serve/query.h"
#include "util/error.h"

struct page {
	const struct options *options;
	/* NULL, only for a page that needs no observation: not available. */
	const struct observation *observation;
	/* The observation's, or the changes since an earlier one, with ?seconds=N. */
	const struct report *report;
	const struct query *query;
	uint64_t snapshots; /* how many the run was asked for */
};

typedef struct error *page_fn(const struct page *page, FILE *out);

/* /metrics */
page_fn metrics_page;

/* The pages that the renderers of reports write; see serve/routes.c. */
page_fn summary_page, flame_page, json_page, snapshot_page, heap_page, allocs_page;

#endif
