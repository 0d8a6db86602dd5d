/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: formats and files. See option_rows.h. */
/* clang-format off */
#define GROUP GROUP_OUTPUT

OPTION(FORMAT,
	"format", .argument = "FORMAT", .offline = OFFLINE_SAVED,
	.kind = KIND_NAME, FIELD(format), .choices = choice_formats,
	.is_of_reports = true,
	.help = format_help + SEPARATOR_LENGTH)

OPTION(COLOR,
	"color", .argument = "WHEN", .offline = OFFLINE_SAVED,
	.kind = KIND_CHOICE, FIELD(color), .choices = choice_colors,
	.help = "colour text reports: auto (the default: on a terminal, unless "
		"NO_COLOR is set), always or never")

OPTION(OUTPUT,
	"output", 'o', .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_PATH, FIELD(output), .offer = OFFER_FILES,
	.expected = "a file name",
	.help = "write reports to FILE, which must not exist yet "
		"(default, and '-': standard output)")

OPTION(FLAMEGRAPH,
	"flamegraph", .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_FLAMEGRAPH]),
	.expected = PATTERN,
	.gives = RUN_STACKS,
	.help = "write collapsed stacks to FILE, for flamegraph.pl or speedscope; "
		"in this and the names of the files below %p is the process id, %t "
		"the time, %n the number of the report; '-', for one of them, is "
		"standard output, which then has no reports")

OPTION(FLAME,
	"flame", .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_FLAME]),
	.expected = PATTERN,
	.gives = RUN_STACKS | RUN_GRAPH | RUN_TREE,
	.help = "write a flame graph to FILE, an SVG for a browser")

OPTION(FLAME_OF,
	"flame-of", .argument = "WHAT", .offline = OFFLINE_REPLAY,
	.kind = KIND_CHOICE, FIELD(flame_of), .choices = choice_flame_ofs,
	.needs = MODE_TRAFFIC | RUN_STACKS,
	.help = "what --flame, --flamegraph and --html show: live (bytes, the "
		"default), peak (bytes when the heap was largest), traffic (bytes allocated), "
		"lost (bytes that nothing points to) or count (live blocks)")

OPTION(INVERTED,
	"inverted", .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(inverted),
	.needs = RUN_GRAPH,
	.help = "the graph of --flame and --html has its root at the top")

OPTION(REVERSE,
	"reverse", .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(reverse),
	.needs = RUN_TREE,
	.help = "the graph of --flame and --html merges stacks from the allocation "
		"function on, and --view tree begins with the functions that allocate")

OPTION(PPROF,
	"pprof", .argument = "FILE", .offline = OFFLINE_REPLAY,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_PPROF]),
	.expected = PATTERN,
	.help = "write a profile to FILE for pprof, usually named .pb.gz")

OPTION(CSV,
	"csv", .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_CSV]),
	.expected = PATTERN,
	.help = "write a table of all stacks with histograms to FILE")

OPTION(JSON,
	"json", .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_JSON]),
	.expected = PATTERN,
	.help = "write a report with all stacks to FILE, as --format json does")

OPTION(SAVE,
	"save", .argument = "FILE",
	.offline = OFFLINE_REPLAY, .kind = KIND_PATTERN,
	FIELD(files[OUTPUT_SAVE]),
	.expected = PATTERN,
	.needs = MODE_BLOCKS,
	.instead = "use --json or --csv",
	.help = "write a snapshot to FILE, with the names of all frames, from "
		"which --replay makes every other report and file later")

OPTION(HTML,
	"html", .argument = "FILE", .offline = OFFLINE_REPLAY,
	.kind = KIND_PATTERN, FIELD(files[OUTPUT_HTML]),
	.expected = PATTERN,
	.needs = MODE_BLOCKS,
	.gives = RUN_STACKS | RUN_GRAPH | RUN_TREE,
	.instead = "use --flame, --csv or --json",
	.help = "write a summary to FILE, a page for a browser: totals, the timeline of "
		"the run, call paths, flame graph, sizes, ages")

OPTION(OUTPUT_EVERY,
	"output-every",
	.kind = KIND_FLAG, FIELD(output_every),
	.needs = RUN_FILES,
	.help = "write these files anew at each report (default: at the end)")

OPTION(LISTEN,
	"listen", .argument = "ADDRESS", .kind = KIND_PATH, FIELD(listen),
	.expected = "PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH",
	.gives = RUN_LISTEN,
	.help = "answer HTTP requests on ADDRESS: profiles for pprof and for what scrapes "
		"them, /metrics for Prometheus, a page for a browser; PORT (on this "
		"machine only), ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH; reports are "
		"then printed only with --output or --format")

OPTION(LISTEN_ALLOW_REMOTE,
	"listen-allow-remote", .kind = KIND_FLAG, FIELD(listen_allow_remote),
	.needs = RUN_LISTEN,
	.help = "let --listen use an address that other machines reach: their users can "
		"read the names of the program's functions and files, and what it "
		"allocates")

OPTION(FORCE,
	"force", 'f', .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(force),
	.help = "let files that exist be overwritten")

OPTION(QUIET,
	"quiet", 'q', .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(quiet),
	.help = "no progress and no notes on standard error, only errors")

OPTION(VERBOSE,
	"verbose", 'v', .offline = OFFLINE_SAVED | OFFLINE_PRIME,
	.kind = KIND_REPEATED, FIELD(verbose),
	.help = "say more on standard error; may be given more than once")

#undef GROUP
/* clang-format on */
