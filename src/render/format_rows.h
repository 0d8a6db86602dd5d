/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All formats, a row each: FORMAT(NAME, SHOWN, FILE, SCOPE, WORDS). NAME_renderer
 * renders it. The includer defines FORMAT(). No include guard: the file is included more
 * than once.
 *
 * SHOWN: REPORTS if --format takes the name, else HIDDEN.
 * FILE: OUTPUT_FILE (enum output_kind) is the file that is written in this format, or
 * NONE.
 * SCOPE: ALL, or LIVE if the format has one view and one order, of live memory of
 * processes.
 * WORDS: what the help of --format says of it; "" if HIDDEN.
 */
/* clang-format off */
FORMAT(text, REPORTS, NONE, ALL, "every stack (the default, except on a terminal)")
FORMAT(brief, REPORTS, NONE, LIVE,
	"what leaks and what is live by cause, and a verdict at the end, in the size of "
	"the terminal (the default there unless --view, --sort or the like asks for more)")
FORMAT(collapsed, HIDDEN, FLAMEGRAPH, ALL, "")
FORMAT(flame, HIDDEN, FLAME, ALL, "")
FORMAT(pprof, HIDDEN, PPROF, ALL, "")
FORMAT(csv, HIDDEN, CSV, ALL, "")
FORMAT(json, REPORTS, JSON, ALL, "one object per report and line")
FORMAT(html, HIDDEN, HTML, ALL, "")
/* clang-format on */
