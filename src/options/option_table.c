// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <string.h>

#include "bpf/cache.h"
#include "options/option_choices.h"
#include "util/units.h"

#define FIELD(member)                                                                    \
	.offset = offsetof(struct options, member),                                      \
	.size = sizeof(((struct options *)NULL)->member)

/* One year: far from the range where sums of nanoseconds overflow. */
#define TIME_MIN_NS (10 * UNITS_NS_PER_MS)
#define TIME_MAX_NS (8760 * UNITS_NS_PER_HOUR)

#define PATTERN                                                                          \
	"a file name, which may contain %p (process), %t (time), %n (number) and %%, "   \
	"or '-'"

/* clang-format off */
const struct option_row option_rows[OPTION_ID_COUNT] = {
	[OPTION_PID] = {
		"pid", 'p', .argument = "PID", .group = GROUP_TARGET,
		.kind = KIND_PIDS, FIELD(pids),
		/* PID_MAX_LIMIT, include/linux/threads.h */
		.min = 1, .max = 4194304,
		.expected = "a process id from 1 to 4194304, or several such as 12,34",
		.help = "the process to trace; it runs on while it is traced. Several: "
			"1,2,3, or the option again",
	},
	[OPTION_FOLLOW_FORKS] = {
		"follow-forks", .group = GROUP_TARGET, .kind = KIND_FLAG,
		FIELD(follow_forks),
		.help = "trace the children of the process too, from their fork on, but "
			"not those that run already",
	},
	[OPTION_PROGRAM] = {
		"program", .argument = "FILE", .group = GROUP_TARGET,
		.kind = KIND_PATH, FIELD(program), .offer = OFFER_FILES,
		.expected = "the program to start",
		.help = "start FILE and trace it from its first instruction; what follows "
			"'--' is then its argument 0 and further arguments (default: FILE "
			"alone)",
	},
	[OPTION_LIB] = {
		"lib", 'L', "obj", 'O', .argument = "FILE", .group = GROUP_TARGET,
		.kind = KIND_PATH, FIELD(library), .offer = OFFER_FILES,
		.expected = "the file that holds the allocator",
		.help = "look for the allocator in this file only (default: in every file that "
			"the process has mapped); without a process: trace every process "
			"that maps it",
	},
	[OPTION_ALL] = {
		"all", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(all),
		.help = "trace every process of the machine, with --growth, --event or "
			"--lib of the C library; --lib of another file alone traces "
			"every process that maps it",
	},
	[OPTION_SYMBOLS_PREFIX] = {
		"symbols-prefix", .argument = "PREFIX", .group = GROUP_TARGET,
		.kind = KIND_PATH, FIELD(symbols_prefix),
		.expected = "what the names of the allocator's functions begin with, such "
			    "as my_ for my_malloc",
		.help = "trace PREFIXmalloc, PREFIXfree and so on (default: the names of "
			"libc, jemalloc, tcmalloc and mimalloc)",
	},
	[OPTION_FUNCTION] = {
		"function", .argument = "NAME", .group = GROUP_TARGET,
		.kind = KIND_PATH, FIELD(function),
		.expected = "the name of a function that allocates, such as calloc or _Znwm",
		.help = "trace only blocks that this function allocates (default: all)",
	},
	[OPTION_MAPPINGS] = {
		"mappings", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(mappings),
		.help = "trace mmap, munmap and mremap too, with totals of their own",
	},
	[OPTION_OTEL_MEMORY] = {
		"otel-memory", .group = GROUP_TARGET, .kind = KIND_FLAG,
		FIELD(otel_memory),
		.help = "trace the blocks that the program reports with OpenTelemetry's USDT "
			"probes otel_memory:alloc and otel_memory:free, and no "
			"allocation functions",
	},
	[OPTION_REPLAY] = {
		"replay", .argument = "FILE", .group = GROUP_TARGET, .kind = KIND_PATH,
		.offline = OFFLINE_REPLAY, FIELD(replay), .offer = OFFER_SNAPSHOTS,
		.expected = "a file that --save has written",
		.help = "trace nothing: make the report of a snapshot that --save has "
			"written, here or elsewhere; needs no root",
	},
	[OPTION_DIFF] = {
		"diff", .argument = "OLD NEW", .group = GROUP_TARGET, .kind = KIND_PAIR,
		.offline = OFFLINE_DIFF, FIELD(diff_old), .offer = OFFER_SNAPSHOTS,
		.expected = "two files that --save has written, the older one first",
		.help = "trace nothing: show which stacks of two snapshots differ, and by "
			"how much; stacks are matched by names",
	},
	[OPTION_TRAFFIC] = {
		"traffic", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(traffic),
		.help = "count allocations, frees, peak, lifetimes and threads of each call "
			"path",
	},
	[OPTION_PEAK] = {
		"peak", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(peak),
		.help = "count also what each call path held when the heap of all processes "
			"together was largest; with --view peak, --flame-of peak and --save anyway",
	},
	[OPTION_TEMPORARY_THRESHOLD] = {
		"temporary-threshold", .argument = "N", .group = GROUP_TARGET,
		.kind = KIND_INTEGER, FIELD(temporary_threshold), .min = 0, .max = 63,
		.expected = "a whole number from 0 to 63",
		.help = "with --traffic, a block is temporary that its thread frees with at "
			"most N of its own heap events between (default 0: as the very next)",
	},

	[OPTION_EVENT] = {
		"event", 'e', .argument = "SPEC", .group = GROUP_TARGET,
		.kind = KIND_PATH, FIELD(event),
		.expected = "an event, such as uprobe:libc.so.6:malloc, profile:hz:99, "
			    "software:page-faults:1 or tracepoint:syscalls:sys_enter_mmap",
		.help = "count the stacks that come to an event instead of tracing "
			"allocations: uprobe:PATH:FUNCTION[+OFFSET], "
			"uretprobe:PATH:FUNCTION, usdt:PATH:PROVIDER:NAME, "
			"tracepoint:CATEGORY:NAME, profile:hz:N, software:NAME:N, "
			"hardware:NAME:N, kprobe:FUNCTION, kretprobe:FUNCTION; without a "
			"process: in all",
	},
	[OPTION_GROWTH] = {
		"growth", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(growth),
		.help = "watch growth at little cost, without probes in the allocator: stacks "
			"of page faults, and of mappings by mmap, mremap and brk",
	},
	[OPTION_KERNEL_STACKS] = {
		"kernel-stacks", .group = GROUP_TARGET, .kind = KIND_FLAG,
		FIELD(kernel_stacks),
		.help = "with --event or --growth: the kernel's part of the stack too",
	},
	[OPTION_KERNEL] = {
		"kernel", 'k', .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(kernel),
		.help = "trace what the kernel itself allocates, instead: slab objects, pages, "
			"per-CPU memory and vmalloc; with a process only what is made on its "
			"behalf",
	},

	[OPTION_WITH_KERNEL] = {
		"with-kernel", .group = GROUP_TARGET, .kind = KIND_FLAG, FIELD(with_kernel),
		.help = "trace a process and, in a section of its own, what the kernel "
			"allocates on its behalf",
	},

	[OPTION_INTERVAL] = {
		"interval", 'i', .argument = "TIME", .group = GROUP_REPORTS,
		.kind = KIND_DURATION, FIELD(interval_ns),
		.min = TIME_MIN_NS, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_S,
		.expected = "a time from 10ms to 8760h (a plain number is seconds), "
			    "such as 5, 0.5, 500ms or 2m",
		.help = "time between reports; a plain number is seconds (default 5)",
	},
	[OPTION_COUNT] = {
		"count", 'n', .argument = "N", .group = GROUP_REPORTS,
		.kind = KIND_INTEGER, FIELD(count), .min = 1, .max = 1000000000,
		.expected = "a whole number from 1 to 1000000000",
		.help = "end after N reports (default: no bound)",
	},
	[OPTION_DURATION] = {
		"duration", 'd', .argument = "TIME", .group = GROUP_REPORTS,
		.kind = KIND_DURATION, FIELD(duration_ns),
		.min = TIME_MIN_NS, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_S,
		.expected = "a time from 10ms to 8760h (a plain number is seconds), "
			    "such as 60, 90s or 2h",
		.help = "end with a final report after TIME; a plain number is seconds "
			"(default: no bound)",
	},
	[OPTION_TOP] = {
		"top", 'T', .argument = "N", .group = GROUP_REPORTS, .offline = OFFLINE_ALL,
		.kind = KIND_INTEGER, FIELD(top), .min = 0, .max = 1000000000,
		.expected = "a whole number from 0 (all) to 1000000000",
		.help = "list at most N stacks, or causes in a brief report (default 10; 0: all)",
	},
	[OPTION_VIEW] = {
		"view", .argument = "VIEW", .group = GROUP_REPORTS, .offline = OFFLINE_REPLAY,
		.kind = KIND_NAME, FIELD(view), .choices = choice_view_names,
		.expected = "'leaks', 'growth', 'traffic', 'peak', 'allocations', "
			    "'threads', 'histogram', 'lifetimes', 'processes', "
			    "'functions' or 'tree'",
		.help = "what text reports and --csv show: leaks (the default), growth, "
			"traffic, peak, allocations (largest single ones), threads, histogram "
			"(of sizes), lifetimes, processes, functions (what each holds itself and "
			"with all it calls), tree (of calls)",
	},
	[OPTION_SORT] = {
		"sort", .argument = "KEY", .group = GROUP_REPORTS, .offline = OFFLINE_ALL,
		.kind = KIND_CHOICE, FIELD(sort), .choices = choice_sorts,
		.expected = "'size', 'count', 'traffic', 'growth', 'age', 'peak', "
			    "'at-peak', 'temporary' or 'cumulative'",
		.help = "rank stacks by size (bytes, the default of most views), count "
			"(blocks), traffic (bytes allocated), growth (since the last report), "
			"age (of the oldest block), peak (most bytes at once), at-peak (bytes "
			"when the heap was largest) or temporary (blocks that were freed at once); functions also by cumulative (bytes "
			"with all that they call, their default)",
	},
	[OPTION_GROUP_BY] = {
		"group-by", .argument = "WHAT", .group = GROUP_REPORTS,
		.offline = OFFLINE_REPLAY, .kind = KIND_CHOICE, FIELD(group_by),
		.choices = choice_groups,
		.expected = "'path', 'process', 'function', 'caller', 'module', 'library', "
			    "'source', 'line' or 'allocator'",
		.help = "with several processes: path (the default) makes one row of the same "
			"call path in all of them, process lists the rows of each together. Instead of "
			"stacks: a table by function (as --view functions), caller (the innermost "
			"function of the program's own code), module, library (the program's own "
			"code, libstdc++ and so on), source (file), line or allocator",
	},
	[OPTION_SHOW_ALLOCS] = {
		"show-allocs", 'a', .group = GROUP_REPORTS, .offline = OFFLINE_REPLAY,
		.kind = KIND_FLAG, FIELD(show_allocs),
		.help = "list each block behind a stack: address, size, age and thread",
	},
	[OPTION_COMBINED_ONLY] = {
		"combined-only", .group = GROUP_REPORTS, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(combined_only),
		.help = "totals per stack over blocks of every age, without ages",
	},

	[OPTION_OLDER] = {
		"older", .argument = "TIME", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_DURATION, FIELD(older_ns),
		.min = 0, .max = TIME_MAX_NS, .unit_ns = UNITS_NS_PER_MS,
		.expected = "a time from 0 to 8760h (a plain number is milliseconds), "
			    "such as 500, 2s or 1m",
		.help = "leave out blocks younger than TIME; a plain number is "
			"milliseconds (default 500)",
	},
	[OPTION_MIN_SIZE] = {
		"min-size", 'z', "min-alloc-size", .argument = "SIZE", .group = GROUP_FILTER,
		.kind = KIND_SIZE, FIELD(min_size_bytes), .max = UINT64_MAX,
		.expected = "a size in bytes, such as 4096, 4K or 1.5M",
		.help = "trace only blocks of at least SIZE bytes (K, M, G allowed)",
	},
	[OPTION_MAX_SIZE] = {
		"max-size", 'Z', "max-alloc-size", .argument = "SIZE", .group = GROUP_FILTER,
		.kind = KIND_SIZE, FIELD(max_size_bytes), .max = UINT64_MAX,
		.expected = "a size in bytes, such as 4096, 4K or 1.5M",
		.help = "trace only blocks of at most SIZE bytes (K, M, G allowed)",
	},
	[OPTION_SKIP_SIZE] = {
		"skip-size", .argument = "SIZE", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_SIZE, FIELD(skip_bytes), .max = UINT64_MAX,
		.expected = "a size in bytes, such as 4096, 4K or 1.5M",
		.help = "leave out stacks of less than SIZE bytes (K, M, G allowed)",
	},
	[OPTION_SKIP_COUNT] = {
		"skip-count", .argument = "N", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_QUANTITY, FIELD(skip_count), .max = UINT64_MAX,
		.expected = "a whole number, such as 100 or 4K",
		.help = "leave out stacks of less than N blocks",
	},
	[OPTION_FILTER] = {
		"filter", .argument = "PATTERN", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_LIST, FIELD(filters),
		.expected = "a pattern such as 'parse_*', fn:GLOB, mod:GLOB or src:GLOB, at "
			    "most 16 times",
		.help = "show only stacks with a frame whose function (fn:GLOB), module "
			"(mod:GLOB), source file (src:GLOB), or function or module (GLOB) "
			"matches; a function also without scopes, templates and arguments; "
			"may be given again",
	},
	[OPTION_EXCLUDE] = {
		"exclude", .argument = "PATTERN", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_LIST, FIELD(excludes),
		.expected = "a pattern such as 'parse_*', fn:GLOB, mod:GLOB or src:GLOB, at "
			    "most 16 times",
		.help = "leave out stacks with such a frame; may be given again",
	},
	[OPTION_SUPPRESSIONS] = {
		"suppressions", .argument = "FILE", .group = GROUP_FILTER, .offline = OFFLINE_ALL,
		.kind = KIND_LIST, FIELD(suppressions), .offer = OFFER_FILES,
		.expected = "a file of lines leak:PATTERN, at most 16 times",
		.help = "leave out stacks that a file for LeakSanitizer suppresses, and say "
			"what they hold; may be given again",
	},
	[OPTION_SAMPLE_EVERY] = {
		"sample-every", 's', "sample-rate", .argument = "N", .group = GROUP_FILTER,
		.kind = KIND_INTEGER, FIELD(sample_every), .min = 1, .max = UINT32_MAX,
		.expected = "a whole number from 1 (every allocation) to 4294967295",
		.help = "trace one allocation in N; reports are then estimates (default 1)",
	},
	[OPTION_SAMPLE_BYTES] = {
		"sample-bytes", .argument = "SIZE", .group = GROUP_FILTER,
		.kind = KIND_SIZE, FIELD(sample_bytes),
		.min = 2, .max = UINT64_C(1) << 30,
		.expected = "a size from 2 to 1G, such as 512K",
		.help = "trace one allocation in SIZE allocated bytes on average, large ones "
			"more likely; reports are then estimates",
	},

	[OPTION_MAX_ALLOCATIONS] = {
		"max-allocations", .argument = "N", .group = GROUP_LIMITS,
		.kind = KIND_QUANTITY, FIELD(max_allocations),
		.min = 1024, .max = UINT64_C(1) << 30,
		.expected = "a number from 1024 to 1G (1073741824), such as 4M",
		.help = "make room for N live blocks; those beyond are counted, not listed "
			"(default 1M = 1048576)",
	},
	[OPTION_MAX_STACKS] = {
		"max-stacks", .argument = "N", .group = GROUP_LIMITS,
		.kind = KIND_QUANTITY, FIELD(max_stacks),
		.min = 64, .max = UINT64_C(1) << 24,
		.expected = "a number from 64 to 16M (16777216), such as 256K",
		.help = "tell at most N call paths apart, of 16 frames on average (default "
			"256K = 262144; 64K with --tables hashes)",
	},
	[OPTION_MAX_THREADS] = {
		"max-threads", .argument = "N", .group = GROUP_LIMITS,
		.kind = KIND_QUANTITY, FIELD(max_threads),
		.min = 64, .max = UINT64_C(1) << 20,
		.expected = "a number from 64 to 1M (1048576), such as 64K",
		.help = "with --traffic, tell at most N threads apart, those that have exited "
			"too (default 16K = 16384)",
	},
	[OPTION_MAX_PROCESSES] = {
		"max-processes", .argument = "N", .group = GROUP_LIMITS,
		.kind = KIND_QUANTITY, FIELD(max_processes),
		.min = 64, .max = UINT64_C(1) << 15,
		.expected = "a number from 64 to 32K (32768), such as 4K",
		.help = "with --follow-forks, and with --lib alone, make room for N processes "
			"at once; up to N/4 that have exited are kept for the next report "
			"(default 16K = 16384)",
	},
	[OPTION_STACK_DEPTH] = {
		"stack-depth", .argument = "N", .group = GROUP_LIMITS,
		.kind = KIND_INTEGER, FIELD(stack_depth), .min = 1, .max = 127,
		.expected = "a whole number from 1 to 127",
		.help = "keep at most N frames of a call path, of a deeper "
			"one both ends (default 127, which is the "
			"most, and 64 with --unwind fp and --kernel)",
	},
	[OPTION_UNWIND_CPU] = {
		"unwind-cpu", .argument = "PERCENT", .group = GROUP_LIMITS,
		.kind = KIND_INTEGER, FIELD(unwind_cpu_percent), .min = 1, .max = 100,
		.expected = "a whole number from 1 to 100",
		.help = "let the search for unwind rules of new call sites take PERCENT of one "
			"processor, averaged over 20 s (default 25); stacks of call sites "
			"beyond are cut short and counted",
	},
	[OPTION_UNWIND_MEMORY] = {
		"unwind-memory", .argument = "SIZE", .group = GROUP_LIMITS,
		.kind = KIND_SIZE, FIELD(unwind_memory_bytes),
		.min = 1 << 20, .max = UINT64_C(1) << 30,
		.expected = "a size from 1M to 1G",
		.help = "let the unwind rules of whole files take at most SIZE of kernel "
			"memory, which is taken as it is needed (default 32M); the files "
			"that are used least go first",
	},

	[OPTION_NO_LINES] = {
		"no-lines", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(no_lines),
		.help = "names only: no source lines and no inlined functions",
	},
	[OPTION_DEBUG_DIR] = {
		"debug-dir", .argument = "DIR", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_LIST, FIELD(debug_dirs), .offer = OFFER_DIRECTORIES,
		.expected = "a directory, or several with ':' between",
		.help = "look for separate debug files below DIR too, by build-id and "
			"debuglink, before /usr/lib/debug; may be given more than once. With "
			"--replay and --diff: name what has no name or line in the snapshot, "
			"from files below DIR, by build-id",
	},
	[OPTION_DEBUGINFOD] = {
		"debuginfod", .group = GROUP_NAMES, .kind = KIND_FLAG, FIELD(debuginfod),
		.help = "fetch missing debug files from the servers of DEBUGINFOD_URLS (default: no network is used)",
	},
	[OPTION_NO_DEMANGLE] = {
		"no-demangle", .group = GROUP_NAMES, .kind = KIND_FLAG,
		FIELD(no_demangle),
		.help = "print names of C++ and Rust as the files have them",
	},
	[OPTION_NAMES] = {
		"names", .argument = "HOW", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_CHOICE, FIELD(names), .choices = choice_forms,
		.expected = "'auto', 'full' or 'short'",
		.help = "show names with template arguments and parameters (full) or without "
			"(short), in text reports and flame graphs; auto (the default): short "
			"in brief reports, flame graphs, --view functions and tree, and on a "
			"terminal, full elsewhere",
	},
	[OPTION_ADDRESSES] = {
		"addresses", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(addresses),
		.help = "show the addresses of all frames on a terminal, too (default: "
			"where there is no name, and in text reports elsewhere)",
	},
	[OPTION_PATHS] = {
		"paths", .argument = "HOW", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_CHOICE, FIELD(paths), .choices = choice_forms,
		.expected = "'auto', 'full' or 'short'",
		.help = "show source files with their directories (full) or by name alone "
			"(short), in text reports; auto (the default): short on a terminal, "
			"full elsewhere",
	},

	[OPTION_HIDE_FRAMES] = {
		"hide-frames", .argument = "WHICH", .group = GROUP_NAMES, .offline = OFFLINE_ALL,
		.kind = KIND_PATH, FIELD(hide_frames), .choices = choice_hidden, .offer = OFFER_FILES,
		.expected = "'default', 'none' or a file of patterns",
		.help = "leave out of the stacks of text reports how programs and threads "
			"begin and what stands between a container and the allocator "
			"(default), frames that match a pattern of a file, or none",
	},

	[OPTION_FORMAT] = {
		"format", .argument = "FORMAT", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_NAME, FIELD(format), .choices = choice_formats,
		.expected = "'text', 'brief' or 'json'",
		.help = "brief: what leaks and what is live by cause, and a verdict at the "
			"end, in the size of the terminal (the default on a terminal unless "
			"--view, --sort or the like asks for more); text: every stack (the "
			"default elsewhere); json: one object per report and line",
	},
	[OPTION_COLOR] = {
		"color", .argument = "WHEN", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_CHOICE, FIELD(color), .choices = choice_colors,
		.expected = "'auto', 'always' or 'never'",
		.help = "colour text reports: auto (the default: on a terminal, unless "
			"NO_COLOR is set), always or never",
	},
	[OPTION_OUTPUT] = {
		"output", 'o', .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_PATH, FIELD(output), .offer = OFFER_FILES,
		.expected = "a file name",
		.help = "write reports to FILE, which must not exist yet "
			"(default, and '-': standard output)",
	},
	[OPTION_FLAMEGRAPH] = {
		"flamegraph", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_FLAMEGRAPH]),
		.expected = PATTERN,
		.help = "write collapsed stacks to FILE, for flamegraph.pl or speedscope; "
			"in this and the names of the files below %p is the process id, %t "
			"the time, %n the number of the report; '-', for one of them, is "
			"standard output, which then has no reports",
	},
	[OPTION_FLAME] = {
		"flame", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_FLAME]),
		.expected = PATTERN,
		.help = "write a flame graph to FILE, an SVG for a browser",
	},
	[OPTION_FLAME_OF] = {
		"flame-of", .argument = "WHAT", .group = GROUP_OUTPUT, .offline = OFFLINE_REPLAY,
		.kind = KIND_CHOICE, FIELD(flame_of), .choices = choice_flame_ofs,
		.expected = "'live', 'peak', 'traffic' or 'count'",
		.help = "what is drawn by --flame, --flamegraph and --html: live (bytes, the "
			"default), peak (bytes when the heap was largest), traffic (bytes allocated) "
			"or count (live blocks)",
	},
	[OPTION_INVERTED] = {
		"inverted", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(inverted),
		.help = "the graph of --flame and --html has its root at the top",
	},
	[OPTION_REVERSE] = {
		"reverse", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(reverse),
		.help = "the graph of --flame and --html merges stacks from the allocation "
			"function on, and --view tree begins with the functions that allocate",
	},
	[OPTION_PPROF] = {
		"pprof", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_REPLAY,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_PPROF]),
		.expected = PATTERN,
		.help = "write a profile to FILE for pprof, usually named .pb.gz",
	},
	[OPTION_CSV] = {
		"csv", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_CSV]),
		.expected = PATTERN,
		.help = "write a table of all stacks with histograms to FILE",
	},
	[OPTION_JSON] = {
		"json", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_JSON]),
		.expected = PATTERN,
		.help = "write a report with all stacks to FILE, as --format json does",
	},
	[OPTION_SAVE] = {
		"save", .argument = "FILE", .group = GROUP_OUTPUT,
		.offline = OFFLINE_REPLAY, .kind = KIND_PATTERN,
		FIELD(files[OUTPUT_SAVE]),
		.expected = PATTERN,
		.help = "write a snapshot to FILE, with the names of all frames, from "
			"which --replay makes every other report and file later",
	},
	[OPTION_HTML] = {
		"html", .argument = "FILE", .group = GROUP_OUTPUT, .offline = OFFLINE_REPLAY,
		.kind = KIND_PATTERN, FIELD(files[OUTPUT_HTML]),
		.expected = PATTERN,
		.help = "write a summary to FILE, a page for a browser: totals, the course of "
			"the run, call paths, flame graph, sizes, ages",
	},
	[OPTION_OUTPUT_EVERY] = {
		"output-every", .group = GROUP_OUTPUT,
		.kind = KIND_FLAG, FIELD(output_every),
		.help = "write these files anew at each report (default: at the end)",
	},
	[OPTION_FORCE] = {
		"force", 'f', .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(force),
		.help = "let files that exist be overwritten",
	},
	[OPTION_QUIET] = {
		"quiet", 'q', .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_FLAG, FIELD(quiet),
		.help = "no progress and no notes on standard error, only errors",
	},
	[OPTION_VERBOSE] = {
		"verbose", 'v', .group = GROUP_OUTPUT, .offline = OFFLINE_ALL,
		.kind = KIND_REPEATED, FIELD(verbose),
		.help = "say more on standard error; may be given more than once",
	},

	[OPTION_DRY_RUN] = {
		"dry-run", .group = GROUP_ADVANCED, .kind = KIND_FLAG, FIELD(dry_run),
		.help = "print the allocator found and where probes would go, then stop",
	},
	[OPTION_KERNEL_HEADERS] = {
		"kernel-headers", .argument = "WHERE", .group = GROUP_ADVANCED,
		.kind = KIND_HEADERS, FIELD(headers_mode), .choices = choice_headers, .offer = OFFER_DIRECTORIES,
		.expected = "'auto', 'embedded' or a directory",
		.help = "compile the probes against the embedded headers, those in a "
			"directory, or auto (the default): embedded where they agree "
			"with the running kernel, else installed ones",
	},
	[OPTION_NO_CACHE] = {
		"no-cache", .group = GROUP_ADVANCED, .kind = KIND_FLAG, FIELD(no_cache),
		.help = "compile the probes anew, and keep nothing for later runs (default: "
			"keep it in " CACHE_PATH ", or in the directory that the "
			"environment variable " CACHE_ENV " names)",
	},
	[OPTION_PRIME_CACHE] = {
		"prime-cache", .group = GROUP_ADVANCED, .offline = OFFLINE_ALL,
		.kind = KIND_ACTION, FIELD(action), .min = ACTION_PRIME_CACHE,
		.help = "compile the probes of the usual kinds of runs for later ones, and "
			"stop",
	},
	[OPTION_ATTACH] = {
		"attach", .argument = "HOW", .group = GROUP_ADVANCED,
		.kind = KIND_CHOICE, FIELD(attach), .choices = choice_attaches,
		.expected = "'auto', 'multi' or 'perf'",
		.help = "attach by one uprobe_multi link (Linux 6.6), by perf events, or "
			"auto (the default): the former where the kernel has it",
	},
	[OPTION_TABLES] = {
		"tables", .argument = "KIND", .group = GROUP_ADVANCED,
		.kind = KIND_CHOICE, FIELD(tables), .choices = choice_tables,
		.expected = "'auto', 'arrays' or 'hashes'",
		.help = "keep blocks in arrays, which need compare-and-exchange in BPF "
			"(Linux 5.12), in hashes, which take longer, or auto (the "
			"default): the former where the kernel has it",
	},
	[OPTION_UNWIND] = {
		"unwind", .argument = "HOW", .group = GROUP_ADVANCED,
		.kind = KIND_CHOICE, FIELD(unwind), .choices = choice_unwinds,
		.expected = "'auto', 'rules' or 'fp'",
		.help = "walk stacks by rules, which are made of unwind information "
			"(.eh_frame) as call sites come up; by frame pointers (fp), which end "
			"in code that was built without them; or auto (the default): by "
			"rules, and by frame pointers through code that has none",
	},
	[OPTION_NO_RETURN_PROBES] = {
		"no-return-probes", .group = GROUP_ADVANCED, .kind = KIND_FLAG,
		FIELD(no_return_probes),
		.help = "use no return probes, which change the target's stack, for the few "
			"functions that still have one (see --dry-run): their return "
			"instruction is probed instead, at ten times the cost; needs Linux "
			"6.10",
	},
	[OPTION_VERSION] = {
		"version", .group = GROUP_ADVANCED, .offline = OFFLINE_ALL,
		.kind = KIND_ACTION, FIELD(action), .min = ACTION_VERSION,
		.help = "print the version and stop",
	},
	[OPTION_HELP] = {
		"help", 'h', .argument = "[TOPIC]", .group = GROUP_ADVANCED, .offline = OFFLINE_ALL,
		.kind = KIND_HELP, FIELD(help_topic), .choices = choice_topics,
		.expected = "'all', 'examples', 'target', 'reports', 'filter', 'limits', "
			    "'names', 'output' or 'advanced'",
		.help = "print the most used options and stop; --help all prints every "
			"option, --help TOPIC those about target, reports, filter, limits, "
			"names, output or advanced, and --help examples command lines",
	},
};
/* clang-format on */
