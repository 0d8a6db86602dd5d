/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All formats, a row each: FORMAT(NAME, SHOWN, FILE, ABLE, WORDS). NAME_renderer renders
 * it. SHOWN: REPORTS if --format takes the name, else HIDDEN. FILE: OUTPUT_FILE (enum
 * output_kind, format.h) is the file that is written in this format, or NONE. ABLE: a set
 * of enum format_ability. WORDS: the help of --format; "" if HIDDEN. The includer defines
 * FORMAT(); no include guard: the file is included more than once.
 */
/* clang-format off */
FORMAT(text, REPORTS, NONE, FORMAT_SHAPES | FORMAT_GROUPS | FORMAT_TREES,
	"every stack (the default, except on a terminal)")
FORMAT(brief, REPORTS, NONE, FORMAT_CAUSES,
	"what leaks and what is live by cause, and a verdict at the end, in the size of "
	"the terminal (the default there unless --view, --sort or the like asks for more)")
FORMAT(collapsed, HIDDEN, FLAMEGRAPH, FORMAT_SHAPES, "")
FORMAT(flame, HIDDEN, FLAME, FORMAT_SHAPES, "")
FORMAT(pprof, HIDDEN, PPROF, FORMAT_SHAPES, "")
FORMAT(csv, HIDDEN, CSV, FORMAT_SHAPES | FORMAT_GROUPS | FORMAT_STACKS, "")
FORMAT(json, REPORTS, JSON,
	FORMAT_SHAPES | FORMAT_GROUPS | FORMAT_ALL_VIEWS | FORMAT_STACKS | FORMAT_BLOCKS,
	"one object per report and line")
FORMAT(html, HIDDEN, HTML, FORMAT_SHAPES, "")
/* clang-format on */
