/* SPDX-License-Identifier: Apache-2.0 */
/* The views behind the table in views.c. Private to render/. */
#ifndef RENDER_VIEWS_ALL_H
#define RENDER_VIEWS_ALL_H

#include "render/views.h"

/* What is held, and who seems to leak it. */
extern const struct view_ops view_leaks;
/* What became more since the previous report, and over the run. */
extern const struct view_ops view_growth;
/* What was allocated and freed, whether or not it is held now. */
extern const struct view_ops view_traffic;
/* The most that was held at once. */
extern const struct view_ops view_peak;
/* The largest single blocks beside the stacks that hold most. */
extern const struct view_ops view_allocations;
/* Who allocated and who freed. */
extern const struct view_ops view_threads;
/* Blocks by size, in powers of two. */
extern const struct view_ops view_histogram;
/* How long blocks lived that were freed. */
extern const struct view_ops view_lifetimes;
/* What each process holds. */
extern const struct view_ops view_processes;

#endif
