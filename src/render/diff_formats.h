/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers in the table of render/table/diff_renderers.c. Private to render/. */
#ifndef RENDER_DIFF_FORMATS_H
#define RENDER_DIFF_FORMATS_H

#include "render/diff.h"

/* For people to read. */
extern const struct diff_renderer diff_text;

/* One JSON object on one line; see docs/json.md. */
extern const struct diff_renderer diff_json;

/*
 * CSV (RFC 4180): difference (bytes), difference_count (blocks), old, old_count, new,
 * new_count, stacktrace (lines "symbol [module]", leaf first), class ("heap", "mapping"
 * or "kernel") and command (empty: unknown, or only one process).
 */
extern const struct diff_renderer diff_csv;

/* Collapsed stacks with two numbers, "root;...;leaf OLD NEW", in the format of
 * flamegraph.pl's difffolded.pl. Contains all stacks. */
extern const struct diff_renderer diff_collapsed;

#endif
