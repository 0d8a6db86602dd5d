/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers behind the table in renderer.c. Private to render/. */
#ifndef RENDER_FORMATS_H
#define RENDER_FORMATS_H

#include "render/renderer.h"

/* For people; the lines of stacks and frames are those of BCC's memleak, extended. */
extern const struct renderer text_renderer;

/* One JSON object (RFC 8259) on one line; JSON.md says what is in it. */
extern const struct renderer json_renderer;

/*
 * Collapsed stacks, as flamegraph.pl and speedscope read them: a line "root;...;leaf
 * bytes" for each path of names. In a name ';' and a space at which a reader could cut
 * are written \x3b and \x20.
 */
extern const struct renderer collapsed_renderer;

/*
 * RFC 4180, with the columns of jeprofl and behind them the class, "heap", "mapping" or
 * "event": pid (empty when not known), stack_id (empty without a stack), total (bytes),
 * count (blocks), histogram ("16..31=3": three blocks of 16 to 31 bytes) and stacktrace
 * (lines "address - symbol" that end in LF, leaf first). Numbers are scaled when
 * sampling. With options.view the table of that view (render/views.h).
 */
extern const struct renderer csv_renderer;

/*
 * The profile format of pprof (render/profile.proto), compressed by gzip. Sample types
 * are those of heap profiles: inuse_objects/count and inuse_space/bytes, the default;
 * before them, in reports with traffic, alloc_objects and alloc_space, which are since
 * the attach. With mappings, mapped_objects and mapped_space come first of all. A report
 * with show_blocks has a sample for each stack, thread and size of block, with the labels
 * "thread" and "bytes", and with traffic one without labels for each stack; another one
 * for each stack, without labels. Numbers are scaled when sampling. Locations have source
 * lines where they are known, and functions that were inlined.
 */
extern const struct renderer pprof_renderer;

/* An SVG flame graph; see render/flame.h. */
extern const struct renderer flame_renderer;

/* A summary in HTML; see render/html.h. */
extern const struct renderer html_renderer;

#endif
