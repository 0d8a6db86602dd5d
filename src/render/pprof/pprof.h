/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for pprof with limits, for engines that scrape them. Without limits:
 * pprof_renderer (render/formats.h), whose format this is. */
#ifndef RENDER_PPROF_PPROF_H
#define RENDER_PPROF_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/report.h"

struct pprof_options {
	/* Most samples, and most bytes before compression. The call paths of lowest rank
	 * are folded into one sample, "[other]", and a comment says how many. 0: no
	 * limit. */
	size_t max_samples, max_bytes;
	/* The default sample type is alloc_space, if traffic is measured. */
	bool shows_allocs;
	/* Write only the four sample types of Go's heap profiles. Alloy accepts no more
	 * (grafana/alloy, internal/component/pyroscope/scrape/internal/fastdelta/
	 * delta_map.go, fullSampleValue). */
	bool only_heap;
	/* Write the change of each call path since the previous report, instead of its
	 * live and allocated bytes. */
	bool changes;
};

/*
 * Write a profile. Ids of mappings, functions and locations are 1, 2 and so on in the
 * order of their lists, which Parca requires (parca-dev/parca,
 * pkg/normalizer/validate.go). The caller flushes and checks `out`. Fails only if memory
 * is out.
 */
struct error *pprof_render(const struct report *report,
			   const struct pprof_options *options, FILE *out)
	__attribute__((warn_unused_result));

#endif
