/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: when reports are made and what they show. See option_rows.h.
 */
/* clang-format off */
#define GROUP GROUP_REPORTS

OPTION(INTERVAL,
	"interval", 'i', .argument = "TIME",
	.kind = KIND_DURATION, FIELD(interval_ns),
	.min = TIME_MIN_NS, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_S,
	.expected = "a time from 10ms to 8760h (a plain number is seconds), "
		    "such as 5, 0.5, 500ms or 2m",
	.is_of_reports = true,
	.help = "time between reports; a plain number is seconds (default 5)")

OPTION(LIVE,
	"live", 'l', .offline = OFFLINE_REPLAY,
	.kind = KIND_FLAG, FIELD(live),
	.needs = RUN_ENDS,
	.denies = {{.abilities = RUN_PRINTS, .does = "shows a screen"}},
	.help = "show a screen with keys and the mouse instead of reports that scroll by "
		"(? is its help), updated every second or --interval; q ends it with the "
		"final report")

OPTION(COUNT,
	"count", 'n', .argument = "N",
	.kind = KIND_INTEGER, FIELD(count), .min = 1, .max = 1000000000,
	.expected = "a whole number from 1 to 1000000000",
	.needs = RUN_ENDS,
	.is_of_reports = true,
	.help = "end after N reports (default: no bound)")

OPTION(DURATION,
	"duration", 'd', .argument = "TIME",
	.kind = KIND_DURATION, FIELD(duration_ns),
	.min = TIME_MIN_NS, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_S,
	.expected = "a time from 10ms to 8760h (a plain number is seconds), "
		    "such as 60, 90s or 2h",
	.needs = RUN_ENDS,
	.help = "end with a final report after TIME; a plain number is seconds "
		"(default: no bound)")

OPTION(TOP,
	"top", 'T', .argument = "N", .offline = OFFLINE_SAVED,
	.kind = KIND_INTEGER, FIELD(top), .min = 0, .max = 1000000000,
	.expected = "a whole number from 0 (all) to 1000000000",
	.help = "list at most N stacks, or causes in a brief report (default 10; 0: all)")

OPTION(VIEW,
	"view", .argument = "VIEW", .offline = OFFLINE_REPLAY,
	.kind = KIND_NAME, FIELD(view), .choices = choice_view_names,
	.needs = MODE_BLOCKS,
	.reshapes = true,
	.is_of_reports = true,
	.help = view_help)

OPTION(SORT,
	"sort", .argument = "KEY", .offline = OFFLINE_SAVED,
	.kind = KIND_CHOICE, FIELD(sort), .choices = choice_sorts,
	.reshapes = true,
	.help = "rank stacks by size (bytes, the default of most views), count "
		"(blocks), traffic (bytes allocated), growth (since the last report), "
		"age (of the oldest block), peak (most bytes at once), at-peak (bytes "
		"when the heap was largest), temporary (blocks that were freed at once) or lost (bytes that nothing "
		"points to); functions also by cumulative (their bytes and "
		"their callees', the default there)")

OPTION(GROUP_BY,
	"group-by", .argument = "WHAT",
	.offline = OFFLINE_REPLAY, .kind = KIND_CHOICE, FIELD(group_by),
	.choices = choice_groups,
	.reshapes = true,
	.is_of_reports = true,
	.help = "with several processes: stack (the default) makes one row of the same "
		"stack in all of them, process lists the rows of each together. Instead of "
		"stacks: a table by function (as --view functions), caller (the innermost "
		"function of the program's own code), module, library (the program's own "
		"code, libstdc++ and so on), source (file), line, allocator or thread (that "
		"allocated; counts traffic too)")

OPTION(SHOW_ALLOCS,
	"show-allocs", 'a', .offline = OFFLINE_REPLAY,
	.kind = KIND_FLAG, FIELD(show_allocs),
	.needs = MODE_BLOCKS | RUN_SINGLES,
	.reshapes = true,
	.is_of_reports = true,
	.help = "list each block behind a stack: address, size, age and thread")

OPTION(COMBINED_ONLY,
	"combined-only", .offline = OFFLINE_SAVED,
	.kind = KIND_FLAG, FIELD(trace.combined_only),
	.needs = MODE_BLOCKS,
	.denies = {{.abilities = RUN_SINGLES, .does = "keeps no single blocks"},
		{.abilities = RUN_AGES, .does = "counts blocks of every age"}},
	.help = "totals per stack over blocks of every age, without ages")

#undef GROUP
/* clang-format on */
