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
 * CSV (RFC 4180) with the columns of jeprofl and the class: pid (empty: not known),
 * stack_id (empty: no stack), total (bytes), count (blocks), histogram ("16..31=3": three
 * blocks of 16 to 31 bytes), stacktrace (lines "address - symbol" that end in LF, leaf
 * first) and class ("heap", "mapping", "event" or "kernel"). With several processes the
 * columns processes and commands follow. Numbers are scaled if blocks were sampled. If
 * options.view has a table of its own, that table is written instead
 * (render/views/views.h).
 */
extern const struct renderer csv_renderer;

/*
 * pprof's profile format (render/profile.proto), compressed with gzip. The sample types
 * are the ones of heap profiles: inuse_objects (count) and inuse_space (bytes), the
 * default. Before them come mapped_objects and mapped_space with mappings, kernel_objects
 * and kernel_space with the kernel, peak_objects and peak_space (live when the heap was
 * largest) if that was counted, and alloc_objects and alloc_space, counted since the
 * attach, with traffic. Event counts have the type events instead. In a report with
 * show_blocks there is a sample for each stack, thread and block size, labelled "thread"
 * and "bytes", and with traffic an unlabelled sample for each stack. Other reports have
 * one unlabelled sample for each stack. Numbers are scaled if blocks were sampled.
 * Locations have source lines and inlined functions where known.
 */
extern const struct renderer pprof_renderer;

/* An SVG flame graph; see render/flame/flame.h. */
extern const struct renderer flame_renderer;

/* An HTML summary; see render/html/html.h. */
extern const struct renderer html_renderer;

#endif
