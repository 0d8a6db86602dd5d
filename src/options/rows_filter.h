/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: what is left out of reports, or not traced. See
 * option_rows.h. */
/* clang-format off */
#define GROUP GROUP_FILTER

OPTION(OLDER,
	"older", .argument = "TIME", .offline = OFFLINE_SAVED,
	.kind = KIND_DURATION, FIELD(older_ns),
	.min = 0, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_MS,
	.expected = "a time from 0 to 8760h (a plain number is milliseconds), "
		    "such as 500, 2s or 1m",
	.needs = MODE_BLOCKS | RUN_AGES,
	.help = "leave out blocks younger than TIME; a plain number is "
		"milliseconds (default 500)")

OPTION(MIN_SIZE,
	"min-size", 'z', "min-alloc-size", .argument = "SIZE",
	.kind = KIND_SIZE, FIELD(trace.min_size_bytes), .max = UINT64_MAX,
	.expected = "a size in bytes, such as 4096, 4K or 1.5M",
	.needs = MODE_BLOCKS,
	.denies = {{.abilities = RUN_ALL_BLOCKS, .does = NOT_ALL_BLOCKS}},
	.help = "trace only blocks of at least SIZE bytes (K, M, G allowed)")

OPTION(MAX_SIZE,
	"max-size", 'Z', "max-alloc-size", .argument = "SIZE",
	.kind = KIND_SIZE, FIELD(trace.max_size_bytes), .max = UINT64_MAX,
	.expected = "a size in bytes, such as 4096, 4K or 1.5M",
	.needs = MODE_BLOCKS,
	.denies = {{.abilities = RUN_ALL_BLOCKS, .does = NOT_ALL_BLOCKS}},
	.help = "trace only blocks of at most SIZE bytes (K, M, G allowed)")

OPTION(SKIP_SIZE,
	"skip-size", .argument = "SIZE", .offline = OFFLINE_SAVED,
	.kind = KIND_SIZE, FIELD(skip_bytes), .max = UINT64_MAX,
	.expected = "a size in bytes, such as 4096, 4K or 1.5M",
	.help = "leave out stacks of less than SIZE bytes (K, M, G allowed)")

OPTION(SKIP_COUNT,
	"skip-count", .argument = "N", .offline = OFFLINE_SAVED,
	.kind = KIND_QUANTITY, FIELD(skip_count), .max = UINT64_MAX,
	.expected = "a whole number, such as 100 or 4K",
	.help = "leave out stacks of less than N blocks")

OPTION(FILTER,
	"filter", .argument = "PATTERN", .offline = OFFLINE_SAVED,
	.kind = KIND_LIST, FIELD(filters),
	.expected = "a pattern such as 'parse_*', fn:GLOB, mod:GLOB or src:GLOB, at "
		    "most 16 times",
	.help = "show only stacks with a frame whose function (fn:GLOB), module "
		"(mod:GLOB), source file (src:GLOB), or function or module (GLOB) "
		"matches; a function also without scopes, templates and arguments; "
		"may be given again")

OPTION(EXCLUDE,
	"exclude", .argument = "PATTERN", .offline = OFFLINE_SAVED,
	.kind = KIND_LIST, FIELD(excludes),
	.expected = "a pattern such as 'parse_*', fn:GLOB, mod:GLOB or src:GLOB, at "
		    "most 16 times",
	.help = "leave out stacks with such a frame; may be given again")

OPTION(SUPPRESSIONS,
	"suppressions", .argument = "FILE", .offline = OFFLINE_SAVED,
	.kind = KIND_LIST, FIELD(suppressions), .offer = OFFER_FILES,
	.expected = "a file of lines leak:PATTERN, at most 16 times",
	.help = "leave out stacks that a file for LeakSanitizer suppresses, and say "
		"what they hold; may be given again")

OPTION(SAMPLE_EVERY,
	"sample-every", 's', "sample-rate", .argument = "N",
	.kind = KIND_INTEGER, FIELD(trace.sampling.every), .min = 1, .max = UINT32_MAX,
	.expected = "a whole number from 1 (every allocation) to 4294967295",
	.needs = MODE_BLOCKS,
	.denies = {{.abilities = RUN_POINTERS, .does = SOME_BLOCKS},
		{.abilities = MODE_SAMPLE_BYTES, .does = "samples regardless of the size",
			.applies = skips_allocations}},
	.help = "trace one allocation in N; reports are then estimates (default 1)")

OPTION(SAMPLE_BYTES,
	"sample-bytes", .argument = "SIZE",
	.kind = KIND_SIZE, FIELD(trace.sampling.mean_bytes),
	.min = 2, .max = UINT64_C(1) << 30,
	.expected = "a size from 2 to 1G, such as 512K",
	.needs = MODE_SAMPLE_BYTES,
	.denies = {{.abilities = RUN_POINTERS, .does = SOME_BLOCKS}},
	.help = "trace one allocation in SIZE allocated bytes on average, large ones "
		"more likely; reports are then estimates")

#undef GROUP
/* clang-format on */
