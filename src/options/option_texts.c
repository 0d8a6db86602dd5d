// SPDX-License-Identifier: Apache-2.0
#include "options/option_texts.h"

#include <stddef.h>

const char *const option_usages[] = {
	"memtrace --pid PID [OPTION]...",
	"memtrace [OPTION]... -- COMMAND [ARGUMENT]...",
	"memtrace [OPTION]... --program FILE [-- NAME [ARGUMENT]...]",
	"memtrace --replay FILE [OPTION]...",
	"memtrace --diff OLD NEW [OPTION]...",
	NULL,
};

/* Each line of the help text must fit 80 columns. */
const struct option_brief option_briefs[] = {
	{OPTION_PID, "trace this process; several: 12,34"},
	{OPTION_FOLLOW_FORKS, "and the children that it forks from now on"},
	{OPTION_LIB, "the file with the allocator, if it is not found"},
	{OPTION_GROWTH, "what grows, without probes in the allocator"},
	{OPTION_KERNEL, "trace the memory of the kernel instead"},
	{OPTION_REPLAY, "report on a snapshot of --save, without root"},
	{OPTION_DIFF, "compare two snapshots"},
	{OPTION_LIVE, "show a screen with keys, as top does"},
	{OPTION_INTERVAL, "time between reports (5s)"},
	{OPTION_COUNT, "end after N reports"},
	{OPTION_DURATION, "end after this time, such as 10m"},
	{OPTION_TOP, "show N causes or stacks (10; 0: all)"},
	{OPTION_VIEW, "leaks, growth, traffic, peak, threads, ..."},
	{OPTION_UNREACHABLE, "which blocks nothing points to any more"},
	{OPTION_OLDER, "show blocks of at least this age (500ms)"},
	{OPTION_FILTER, "show stacks with a function or module like this"},
	{OPTION_SAMPLE_EVERY, "trace one allocation in N, at less cost"},
	{OPTION_FORMAT, "brief (on a terminal), text (every stack) or json"},
	{OPTION_OUTPUT, "write the reports to FILE"},
	{OPTION_HTML, "write a page for a browser"},
	{OPTION_FLAME, "write a flame graph (SVG)"},
	{OPTION_PPROF, "write a profile for pprof"},
	{OPTION_SAVE, "write a snapshot for --replay and --diff"},
	{OPTION_DRY_RUN, "only show where the probes would go"},
	{OPTION_ID_COUNT, NULL},
};

const struct option_example option_examples[] = {
	{"memtrace --pid 1234", "a report every 5 seconds until Ctrl-C"},
	{"memtrace -p 1234 -i 1 -n 3 -T 20",
	 "three reports, a second apart, with the 20 largest causes"},
	{"memtrace -p 1234 --older 1m --min-size 4K",
	 "only blocks of 4 KiB and more that are older than a minute"},
	{"memtrace -p 1234 -d 10m --format json -o leaks.json",
	 "ten minutes, a JSON object per report, into a file"},
	{"memtrace -p 1234 -d 10m --html heap.html --pprof heap-%p.pb.gz",
	 "and at the end a summary for a browser and a profile for pprof"},
	{"memtrace -p 1234 --view traffic --exclude 'mod:libxml2*' -T 20",
	 "the 20 stacks that allocated most, but not those through libxml2"},
	{"memtrace -p 1234 -d 10m --save heap.mts",
	 "keep everything after ten minutes in a snapshot"},
	{"memtrace --replay heap.mts --top 50",
	 "any report of it, later or elsewhere, without root"},
	{"memtrace --diff before.mts after.mts --flame change.svg",
	 "which stacks hold more, or less, than in another snapshot"},
	{"memtrace -p 1234,1240 --follow-forks",
	 "two processes, and the children that they fork"},
	{"memtrace --lib /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -s 100",
	 "every process that maps this allocator, one allocation in 100"},
	{"memtrace -p 1234 --sample-every 100",
	 "one allocation in a hundred, for a busy process"},
	{"memtrace -o leaks.txt -- ./program --its-option",
	 "start a program and trace it from its first instruction"},
	{NULL, NULL},
};
