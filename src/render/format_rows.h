/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All formats, a row each: FORMAT(NAME, SHOWN, FILE, SCOPE). NAME_renderer renders it.
 * The includer defines FORMAT(). No include guard: the file is included more than once.
 *
 * SHOWN: REPORTS if --format takes the name, else HIDDEN.
 * FILE: OUTPUT_FILE (enum output_kind) is the file that is written in this format, or
 * NONE.
 * SCOPE: ALL, or LIVE if the format has one view and one order, of live memory of
 * processes.
 */
/* clang-format off */
FORMAT(text, REPORTS, NONE, ALL)
FORMAT(brief, REPORTS, NONE, LIVE)
FORMAT(collapsed, HIDDEN, FLAMEGRAPH, ALL)
FORMAT(flame, HIDDEN, FLAME, ALL)
FORMAT(pprof, HIDDEN, PPROF, ALL)
FORMAT(csv, HIDDEN, CSV, ALL)
FORMAT(json, REPORTS, JSON, ALL)
FORMAT(html, HIDDEN, HTML, ALL)
/* clang-format on */
