/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: the search for blocks that nothing points to. See
 * option_rows.h. */
/* clang-format off */
#define GROUP GROUP_UNREACHABLE

OPTION(UNREACHABLE,
	"unreachable", 'u', .kind = KIND_FLAG, FIELD(unreachable),
	.needs = MODE_FUNCTIONS | RUN_POINTERS,
	.gives = RUN_SEARCH,
	.help = "with the last report, and at SIGUSR1: search the memory of the process "
		"for pointers to its blocks, and say which are lost, since nothing points "
		"to them; stops the process for a moment")

OPTION(UNREACHABLE_EVERY,
	"unreachable-every", .argument = "N",
	.kind = KIND_INTEGER, FIELD(unreachable_every), .min = 1, .max = 1000000000,
	.expected = "a whole number from 1 to 1000000000",
	.needs = MODE_FUNCTIONS | RUN_POINTERS,
	.gives = RUN_SEARCH,
	.help = "search also at every Nth report")

OPTION(MAX_PAUSE,
	"max-pause", .argument = "TIME",
	.kind = KIND_DURATION, FIELD(max_pause_ns),
	.min = UNITS_NS_PER_MS, .max = 60 * UNITS_NS_PER_S, .unit_ns = UNITS_NS_PER_S,
	.expected = "a time from 1ms to 60s (a plain number is seconds), such as 200ms",
	.needs = RUN_SEARCH,
	.help = "longest time that a search stops the process (default 1s); blocks that it "
		"could not verify in this time are reported as unverified")

OPTION(UNREACHABLE_UNALIGNED,
	"unreachable-unaligned", .kind = KIND_FLAG, FIELD(unreachable_unaligned),
	.needs = RUN_SEARCH,
	.help = "look for pointers at every byte, not only at multiples of 8: for packed "
		"structures; takes about eight times as long")

OPTION(UNREACHABLE_TAGGED,
	"unreachable-tagged", .kind = KIND_FLAG, FIELD(unreachable_tagged),
	.needs = RUN_SEARCH,
	.help = "pointers may have a tag in their lowest 3 bits (the highest byte is "
		"never looked at)")

OPTION(UNREACHABLE_STRICT,
	"unreachable-strict", .kind = KIND_FLAG, FIELD(unreachable_strict),
	.needs = RUN_SEARCH | RUN_ALL_BLOCKS,
	.help = "with -- COMMAND, whose blocks are all known: do not look for pointers in "
		"free memory of the heap")

#undef GROUP
/* clang-format on */
