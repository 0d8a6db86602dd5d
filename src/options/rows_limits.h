/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: limits of tables and of work. See option_rows.h. */
/* clang-format off */
#define GROUP GROUP_LIMITS

OPTION(MAX_ALLOCATIONS,
	"max-allocations", .argument = "N",
	.kind = KIND_QUANTITY, FIELD(trace.max_allocations),
	.min = 1024, .max = UINT64_C(1) << 30,
	.expected = "a number from 1024 to 1G (1073741824), such as 4M",
	.needs = MODE_BLOCKS,
	.help = "at most N live blocks; those beyond are counted, not listed. Their "
		"table grows as needed (default 16M = 16777216, or what fits "
		"--table-memory; 1M with --tables hashes)")

OPTION(MAX_STACKS,
	"max-stacks", .argument = "N",
	.kind = KIND_QUANTITY, FIELD(trace.max_stacks),
	.min = 64, .max = UINT64_C(1) << 24,
	.expected = "a number from 64 to 16M (16777216), such as 256K",
	.help = "at most N call paths, of 16 frames on average. Their tables grow as "
		"needed (default 1M = 1048576, or what fits --table-memory; 256K with "
		"--traffic and --event; 64K with --tables hashes)")

OPTION(TABLE_MEMORY,
	"table-memory", .argument = "SIZE",
	.kind = KIND_SIZE, FIELD(trace.table_memory_bytes),
	.min = 1 << 24, .max = UINT64_C(1) << 40,
	.needs = RUN_GROWS,
	.expected = "a size from 16M to 1T",
	.help = "let the tables of blocks and call paths grow to at most SIZE of kernel "
		"memory (default: an eighth of the machine's memory). It has no effect "
		"on a table whose size --max-allocations or --max-stacks gives")

OPTION(MAX_THREADS,
	"max-threads", .argument = "N",
	.kind = KIND_QUANTITY, FIELD(trace.max_threads),
	.min = 64, .max = UINT64_C(1) << 20,
	.expected = "a number from 64 to 1M (1048576), such as 64K",
	.needs = MODE_TRAFFIC,
	.help = "with --traffic, make room for N threads, including those that have "
		"exited (default 16K = 16384)")

OPTION(MAX_PROCESSES,
	"max-processes", .argument = "N",
	.kind = KIND_QUANTITY, FIELD(trace.max_processes),
	.min = 64, .max = UINT64_C(1) << 15,
	.expected = "a number from 64 to 32K (32768), such as 4K",
	.needs = MODE_PROCESSES,
	.help = "with --follow-forks, and with --lib alone, make room for N processes "
		"at once; up to N/4 that have exited are kept for the next report "
		"(default 16K = 16384)")

OPTION(STACK_DEPTH,
	"stack-depth", .argument = "N",
	.kind = KIND_INTEGER, FIELD(trace.stack_depth), .min = 1, .max = 127,
	.expected = "a whole number from 1 to 127",
	.help = "keep at most N frames of a call path: both ends of a deeper one "
		"(default and maximum 127; 64 with --unwind fp and --kernel)")

OPTION(UNWIND_CPU,
	"unwind-cpu", .argument = "PERCENT",
	.kind = KIND_INTEGER, FIELD(trace.unwind_cpu_percent), .min = 1, .max = 100,
	.expected = "a whole number from 1 to 100",
	.needs = MODE_PROCESSES,
	.help = "let the search for unwind rules of new call sites take PERCENT of one "
		"processor, averaged over 20 s (default 25); after that, stacks of new "
		"call sites are cut short and counted")

OPTION(UNWIND_MEMORY,
	"unwind-memory", .argument = "SIZE",
	.kind = KIND_SIZE, FIELD(trace.unwind_memory_bytes),
	.min = 1 << 20, .max = UINT64_C(1) << 30,
	.expected = "a size from 1M to 1G",
	.needs = MODE_PROCESSES,
	.help = "let the unwind rules of whole files take at most SIZE of kernel "
		"memory, which is taken as it is needed (default 32M); beyond that, the "
		"rules of the files that are used least are removed")

#undef GROUP
/* clang-format on */
