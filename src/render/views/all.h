/* SPDX-License-Identifier: Apache-2.0 */
/* The views in the table of views.c. Private to render/. */
#ifndef RENDER_VIEWS_ALL_H
#define RENDER_VIEWS_ALL_H

#include "render/views/views.h"

/* What is held now, and which call paths seem to leak. */
extern const struct view_ops view_leaks;
/* What grew since the previous report, and over the run. */
extern const struct view_ops view_growth;
/* What was allocated and freed, even if nothing is held now. */
extern const struct view_ops view_traffic;
/* The most that was held at once. */
extern const struct view_ops view_peak;
/* The largest single blocks, in addition to the stacks that hold most. */
extern const struct view_ops view_allocations;
/* Which threads allocated and freed. */
extern const struct view_ops view_threads;
/* Block sizes in powers of two. */
extern const struct view_ops view_histogram;
/* How long freed blocks lived. */
extern const struct view_ops view_lifetimes;
/* What each process holds. */
extern const struct view_ops view_processes;
/* What each function, module or source file holds. */
extern const struct view_ops view_functions;
/* What each function holds, below its callers. */
extern const struct view_ops view_tree;
/* Blocks that nothing points to. */
extern const struct view_ops view_unreachable;

#endif
