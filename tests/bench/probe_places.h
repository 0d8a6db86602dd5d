/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a plan's probes, for programs that do nothing. */
#ifndef BENCH_PROBE_PLACES_H
#define BENCH_PROBE_PLACES_H

#include "attach/attach.h"
#include "plan/plan.h"
#include "util/vec.h"

enum probe_places {
	PLACES_OUTSIDE, /* entry and return of each function */
	/* Where memtrace puts its own probes on a kernel with all features
	 * (collect_site() of trace/tracer_attach.c). */
	PLACES_INSIDE,
	/* The sites of PLACES_INSIDE that see results and that the kernel single-steps;
	 * there may be none. */
	PLACES_STEPPED,
};

/* Paths and names are borrowed from the plan. The caller sets `program`. */
struct probe_list {
	VEC(struct attach_probe) list;
};

/* Running out of memory ends the bench. */
void probe_list_init(struct probe_list *ret, const struct plan *plan,
		     enum probe_places places);
void probe_list_deinit(struct probe_list *probes);

#endif
