/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers behind the table in diff.c. Private to render/. */
#ifndef RENDER_DIFF_FORMATS_H
#define RENDER_DIFF_FORMATS_H

#include "render/diff.h"

/* For people. */
extern const struct diff_renderer diff_text;

/* One JSON object on one line; JSON.md says what is in it. */
extern const struct diff_renderer diff_json;

/*
 * RFC 4180: difference (bytes), difference_count (blocks), old, old_count, new,
 * new_count, stacktrace (lines "symbol [module]", leaf first) and class ("heap" or
 * "mapping").
 */
extern const struct diff_renderer diff_csv;

/* Collapsed stacks with two numbers, "root;...;leaf OLD NEW", as flamegraph.pl's
 * difffolded.pl writes them, of all stacks. */
extern const struct diff_renderer diff_collapsed;

#endif
