/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the option table: what to trace. See option_rows.h. */
/* clang-format off */
#define GROUP GROUP_TARGET

OPTION(PID,
	"pid", 'p', .argument = "PID",
	.kind = KIND_PIDS, FIELD(pids),
	/* PID_MAX_LIMIT, include/linux/threads.h */
	.min = 1, .max = 4194304,
	.expected = "a process id from 1 to 4194304, or several such as 12,34",
	.help = "the process to trace; it runs on while it is traced. Several: "
		"1,2,3, or the option again")

OPTION(WAIT_FOR,
	"wait-for", .argument = "NAME", .kind = KIND_PATH, FIELD(wait_for),
	.expected = "the name of a process, the path of its program, or a unit such as "
		"redis.service",
	.denies = {{.abilities = RUN_ENDS | RUN_ALL, .does =
		"traces one process after the other until it is stopped"}},
	.help = "trace the process of this name (as pidof finds it), with this "
		"program if NAME has a '/', or of this unit if NAME ends in "
		".service; wait until it starts, and for the next one when it has "
		"ended, until memtrace is stopped")

OPTION(FOLLOW_EXEC_OF,
	"follow-exec-of", .argument = "SUPERVISOR", .kind = KIND_PATH,
	FIELD(follow_exec_of),
	.expected = "a process id up to 4194304, or a name, path or unit as for --wait-for",
	.needs = MODE_FORKS,
	.denies = {{.abilities = RUN_ALL, .does = "traces what one process starts"},
		{.abilities = RUN_ENDS, .does = "with a name waits for this process until it is stopped; "
			"give its process id instead", .applies = waits}},
	.help = "trace the programs that children of SUPERVISOR execute, also their "
		"children's, and those that run already, but not SUPERVISOR; it is a "
		"process id, or a name, path or unit as for --wait-for, which it then "
		"waits for in the same way")

OPTION(FOLLOW_FORKS,
	"follow-forks", .kind = KIND_FLAG,
	FIELD(follow_forks),
	.needs = MODE_FORKS,
	.help = "trace the children of the process too, from their fork on, but "
		"not those that run already; with --follow-exec-of: of what it "
		"traces")

OPTION(PROGRAM,
	"program", .argument = "FILE",
	.kind = KIND_PATH, FIELD(program), .offer = OFFER_FILES,
	.expected = "the program to start",
	.help = "start FILE and trace it from its first instruction; what follows "
		"'--' is then its argument 0 and further arguments (default: FILE "
		"alone)")

OPTION(LIB,
	"lib", 'L', "obj", 'O', .argument = "FILE",
	.kind = KIND_PATH, FIELD(library), .offer = OFFER_FILES,
	.expected = "the file that holds the allocator",
	.needs = MODE_CALLS,
	.denies = {{.abilities = RUN_ALL_BLOCKS, .does = NOT_ALL_BLOCKS}},
	.help = "look for the allocator in this file only (default: in every file that "
		"the process has mapped); without a process: trace every process "
		"that maps it")

OPTION(ALL,
	"all", .kind = KIND_FLAG, FIELD(all),
	.needs = MODE_PROCESSES | RUN_ALL,
	.help = "trace every process of the machine, with --growth, --event or "
		"--lib of the C library; --lib of another file alone traces "
		"every process that maps it")

OPTION(SYMBOLS_PREFIX,
	"symbols-prefix", .argument = "PREFIX",
	.kind = KIND_PATH, FIELD(symbols_prefix),
	.expected = "what the names of the allocator's functions begin with, such "
		    "as my_ for my_malloc",
	.needs = MODE_FUNCTIONS,
	.denies = {{.abilities = RUN_ALL_BLOCKS, .does = NOT_ALL_BLOCKS}},
	.help = "trace PREFIXmalloc, PREFIXfree and so on (default: the names of "
		"libc, jemalloc, tcmalloc and mimalloc)")

OPTION(FUNCTION,
	"function", .argument = "NAME",
	.kind = KIND_PATH, FIELD(function),
	.expected = "the name of a function that allocates, such as calloc or _Znwm",
	.needs = MODE_FUNCTIONS,
	.denies = {{.abilities = RUN_ALL_BLOCKS, .does = NOT_ALL_BLOCKS}},
	.help = "trace only blocks that this function allocates (default: all)")

OPTION(MAPPINGS,
	"mappings", .kind = KIND_FLAG, FIELD(trace.mappings),
	.needs = MODE_FUNCTIONS,
	.help = "trace mmap, munmap and mremap too, with totals of their own")

OPTION(OTEL_MEMORY,
	"otel-memory", .kind = KIND_MODE,
	.selects = TRACE_MODE_USDT,
	.denies = {{.abilities = RUN_POINTERS, .does = "traces blocks that the program reports, which it may "
		"never hold by a pointer"}},
	.help = "trace the blocks that the program reports with OpenTelemetry's USDT "
		"probes otel_memory:alloc and otel_memory:free, and no "
		"allocation functions")

OPTION(REPLAY,
	"replay", .argument = "FILE", .kind = KIND_PATH,
	.offline = OFFLINE_REPLAY, FIELD(replay), .offer = OFFER_SNAPSHOTS,
	.expected = "a file that --save has written",
	.help = "trace nothing: make the report of a snapshot that --save has "
		"written, here or elsewhere; needs no root")

OPTION(DIFF,
	"diff", .argument = "OLD NEW", .kind = KIND_PAIR,
	.offline = OFFLINE_DIFF, FIELD(diff_old), .offer = OFFER_SNAPSHOTS,
	.expected = "two files that --save has written, the older one first",
	.reshapes = true,
	.help = "trace nothing: show which stacks of two snapshots differ, and by "
		"how much; stacks are matched by names")

OPTION(EVENT,
	"event", 'e', .argument = "SPEC",
	.kind = KIND_PATH, FIELD(event),
	.expected = "an event, such as uprobe:libc.so.6:malloc, profile:hz:99, "
		    "software:page-faults:1 or tracepoint:syscalls:sys_enter_mmap",
	.selects = TRACE_MODE_EVENT,
	.help = "count the stacks at an event instead of tracing "
		"allocations: uprobe:PATH:FUNCTION[+OFFSET], "
		"uretprobe:PATH:FUNCTION, usdt:PATH:PROVIDER:NAME, "
		"tracepoint:CATEGORY:NAME, profile:hz:N, software:NAME:N, "
		"hardware:NAME:N, kprobe:FUNCTION, kretprobe:FUNCTION; with --all: in "
		"all processes")

OPTION(GROWTH,
	"growth", .kind = KIND_MODE,
	.selects = TRACE_MODE_GROWTH,
	.help = "watch growth at little cost, without probes in the allocator: stacks "
		"of page faults, and of mappings by mmap, mremap and brk")

OPTION(KERNEL_STACKS,
	"kernel-stacks", .kind = KIND_FLAG,
	FIELD(trace.kernel_stacks),
	.needs = MODE_HITS,
	.help = "with --event or --growth: the kernel's part of the stack too")

OPTION(KERNEL,
	"kernel", 'k', .kind = KIND_MODE,
	.selects = TRACE_MODE_KERNEL,
	.denies = {{.abilities = RUN_POINTERS, .does =
		"traces the kernel, which has no process to search"}},
	.help = "trace what the kernel itself allocates, instead: slab objects, pages, "
		"per-CPU memory and vmalloc; with a process only what is made on its "
		"behalf")

OPTION(WITH_KERNEL,
	"with-kernel", .kind = KIND_FLAG, FIELD(with_kernel),
	.needs = MODE_CALLS,
	.denies = {{.abilities = MODE_FORKS | MODE_SAMPLE_BYTES, .does =
		"traces the heap of one process and the kernel"}},
	.reshapes = true,
	.help = "trace a process and, in a section of its own, what the kernel "
		"allocates on its behalf")

OPTION(TRAFFIC,
	"traffic", .kind = KIND_FLAG, FIELD(trace.traffic),
	.needs = MODE_TRAFFIC,
	.help = "count allocations, frees, peak, lifetimes and threads of each call "
		"path")

OPTION(PEAK,
	"peak", .kind = KIND_FLAG, FIELD(trace.peak),
	.needs = MODE_TRAFFIC,
	.help = "count also what each call path held when the heap of all processes "
		"together was largest; --view peak, --flame-of peak and --save turn it on")

OPTION(TEMPORARY_THRESHOLD,
	"temporary-threshold", .argument = "N",
	.kind = KIND_INTEGER, FIELD(trace.temporary_threshold), .min = 0, .max = 63,
	.expected = "a whole number from 0 to 63",
	.needs = MODE_TRAFFIC,
	.help = "with --traffic, call a block temporary if its own thread frees it "
			"with at most N other heap events between (default 0: as the next event)")

#undef GROUP
/* clang-format on */
