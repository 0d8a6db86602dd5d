/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers in the table of render/table/renderers.c. Private to render/. */
#ifndef RENDER_FORMATS_H
#define RENDER_FORMATS_H

#include "render/renderer.h"

/* For people to read. The lines of stacks and frames extend the format of BCC's
 * memleak. */
extern const struct renderer text_renderer;

/* For a person at a terminal: causes of leaks and of what is live, and the verdict as the
 * last line. It fits the columns and lines of the options. */
extern const struct renderer brief_renderer;

/* One JSON object (RFC 8259) on one line; see docs/json.md. */
extern const struct renderer json_renderer;

/*
 * Collapsed stacks for flamegraph.pl and speedscope: a line "root;...;leaf BYTES" for
 * each path of names. In a name, ';' and a space where a reader could split the line are
 * written as \x3b and \x20.
 */
extern const struct renderer collapsed_renderer;

/*
 * CSV (RFC 4180). docs/formats.md, "CSV", has the columns. If options.view has a table of
 * its own, that table is written instead (render/views/views.h).
 */
extern const struct renderer csv_renderer;

/*
 * pprof's profile format (render/profile.proto), compressed with gzip. docs/formats.md,
 * "The profile", has its sample types. In a report with show_blocks there is a sample for
 * each stack, thread and block size. Other reports have one unlabelled sample for each
 * stack.
 */
extern const struct renderer pprof_renderer;

/* An SVG flame graph; see render/flame/flame.h. */
extern const struct renderer flame_renderer;

/* An HTML summary; see render/html/html.h. */
extern const struct renderer html_renderer;

#endif
