/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: names of frames. See option_rows.h. */
/* clang-format off */
#define GROUP GROUP_NAMES

OPTION(NO_LINES,
	"no-lines", .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(no_lines),
	.help = "names only: no source lines and no inlined functions")

OPTION(DEBUG_DIR,
	"debug-dir", .argument = "DIR", .offline = OFFLINE_SAVED,
	.kind = KIND_LIST, FIELD(debug_dirs), .offer = OFFER_DIRECTORIES,
	.expected = "a directory, or several with ':' between",
	.help = "look for separate debug files below DIR too, by build-id and "
		"debuglink, before /usr/lib/debug; may be given more than once. With "
		"--replay and --diff: name what has no name or line in the snapshot, "
		"from files below DIR, by build-id")

OPTION(DEBUGINFOD,
	"debuginfod", .kind = KIND_FLAG, FIELD(debuginfod),
	.help = "fetch missing debug files from the servers of DEBUGINFOD_URLS (default: no network is used)")

OPTION(NO_DEMANGLE,
	"no-demangle", .kind = KIND_FLAG,
	FIELD(no_demangle),
	.help = "print names of C++ and Rust as the files have them")

OPTION(NAMES,
	"names", .argument = "HOW", .offline = OFFLINE_SAVED,
	.kind = KIND_CHOICE, FIELD(names), .choices = choice_forms,
	.help = "show names with template arguments and parameters (full) or without "
		"(short), in text reports and flame graphs; auto (the default): short "
		"in brief reports, flame graphs, --view functions and tree, and on a "
		"terminal, full elsewhere")

OPTION(ADDRESSES,
	"addresses", .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(addresses),
	.help = "show the addresses of all frames on a terminal, too (default: only "
		"those without a name there, and all in text reports elsewhere)")

OPTION(PATHS,
	"paths", .argument = "HOW", .offline = OFFLINE_SAVED,
	.kind = KIND_CHOICE, FIELD(paths), .choices = choice_forms,
	.help = "show source files with their directories (full) or by name alone "
		"(short), in text reports; auto (the default): short on a terminal, "
		"full elsewhere")

OPTION(HIDE_FRAMES,
	"hide-frames", .argument = "WHICH", .offline = OFFLINE_SAVED,
	.kind = KIND_PATH, FIELD(hide_frames), .choices = choice_hidden, .offer = OFFER_FILES,
	.expected = "'default', 'none' or a file of patterns",
	.help = "frames to leave out of the stacks of text reports: default (the first "
		"frames of programs and threads, and those between a container and the "
		"allocator), none, or those that match a pattern of a file")

#undef GROUP
/* clang-format on */
