// SPDX-License-Identifier: Apache-2.0
#include "cli/option_texts.h"

#include <stddef.h>

const char *const option_usages[] = {
	"memtrace --pid PID [OPTION]...",
	"memtrace [OPTION]... -- COMMAND [ARGUMENT]...",
	"memtrace [OPTION]... --program FILE [-- NAME [ARGUMENT]...]",
	"memtrace --replay FILE [OPTION]...",
	"memtrace --diff OLD NEW [OPTION]...",
	NULL,
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
