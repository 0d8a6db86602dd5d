// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "table.h"
#include "tool.h"

#define BLOCKS           1000000
#define STACKS           10000

#define REPORT_TIMEOUT_S 240
#define QUIET_MS         500
/* Blocks younger than half a second are not listed. */
#define AGE_MS     1000
#define FLOOR_RUNS 5

struct report_figures {
	double ms;      /* from when the report was due to its last byte */
	double mb;      /* length of the report */
	double peak_mb; /* resident memory of the tracer, including the report */
	double blocks;  /* blocks of the listed stacks */
};

static const struct report_figures none = {NAN, NAN, NAN, NAN};

/*
 * Request a report and return when that was. memtrace reports on SIGUSR1. memleak reports
 * when its interval ends: wait for that, and return 0 if it ended before the blocks were
 * allocated.
 */
static uint64_t ask_for_report(enum tool tool, struct tracing *tracing)
{
	uint64_t now = now_ns();

	if (tool == TOOL_MEMTRACE) {
		kill(tracing->child.pid, SIGUSR1);
		return now;
	}

	uint64_t due_ns = tracing->began_ns + TOOL_PEER_INTERVAL_S * UINT64_C(1000000000);

	if (now > due_ns)
		return 0;
	/* Drop the output before the report. */
	sleep_ms((unsigned)((due_ns - now) / 1000000));
	child_discard(&tracing->child);
	return due_ns;
}

static struct report_figures measure(enum tool tool, const char *const options[],
				     const char *const around_blocks[2])
{
	struct target target = target_start();
	struct tracing tracing = tool_start(tool, &target, options);

	target_fill(&target, BLOCKS, STACKS);
	sleep_ms(AGE_MS);

	uint64_t start_ns = ask_for_report(tool, &tracing);

	if (!start_ns) {
		child_kill(&tracing.child);
		target_stop(&target);
		return none;
	}

	/* memleak writes the first line long before the rest, and exits after its
	 * report. */
	struct text text = child_read_burst(
		&tracing.child, REPORT_TIMEOUT_S,
		tool == TOOL_MEMTRACE ? QUIET_MS : REPORT_TIMEOUT_S * 1000);
	struct report_figures figures = {
		.ms = (double)(text.last_ns - start_ns) / 1e6,
		.mb = (double)text.len / 1e6,
		.blocks = text_sum_between(text.data, around_blocks[0], around_blocks[1]),
	};

	text_deinit(&text);
	if (tool == TOOL_MEMTRACE) {
		figures.peak_mb = child_status_kib(&tracing.child, "VmHWM") * 1024 / 1e6;
		child_kill(&tracing.child);
	} else {
		struct rusage usage;

		child_wait(&tracing.child, REPORT_TIMEOUT_S, &usage);
		figures.peak_mb = (double)usage.ru_maxrss * 1024 / 1e6;
	}
	target_stop(&target);
	return figures;
}

/* Reading as many bytes as the table of BLOCKS blocks has: no report can do without. */
static double measure_reading(void)
{
	size_t words = (size_t)BLOCKS * 10 / 7 / ABI_LIVE_WAYS *
		       sizeof(struct abi_live_bucket) / sizeof(uint64_t);
	uint64_t *table = malloc(words * sizeof(*table));
	double ms[FLOOR_RUNS];

	if (!table)
		die("out of memory");
	memset(table, 1, words * sizeof(*table));
	for (unsigned run = 0; run < FLOOR_RUNS; run++) {
		uint64_t start_ns = now_ns(), sum = 0;

		for (size_t i = 0; i < words; i++)
			sum += table[i];
		__asm__ __volatile__("" : : "r"(sum));
		ms[run] = (double)(now_ns() - start_ns) / 1e6;
	}
	free(table);
	return median(ms, FLOOR_RUNS);
}

void section_report(const struct peers *peers)
{
	const bool has_peer = peers->has[TOOL_MEMLEAK];
	static const char *const text_options[] = {"--top", "10", NULL};
	static const char *const json_options[] = {"--top", "0", "--format", "json",
						   NULL};
	static const char *const peer_all_options[] = {"-T", "1000000", NULL};
	static const char reading[] = "reading a table of that size once";
	static const char *const in_json[] = {"\"blocks\":", ",\"growth_bytes\""},
				 *const in_text[] = {" bytes in ",
						     " allocations from stack"};
	struct report_figures top = measure(TOOL_MEMTRACE, text_options, in_text),
			      all = measure(TOOL_MEMTRACE, json_options, in_json),
			      peer_top = none, peer_all = none;
	double reading_ms = measure_reading();

	if (has_peer) {
		peer_top = measure(TOOL_MEMLEAK, text_options, in_text);
		peer_all = measure(TOOL_MEMLEAK, peer_all_options, in_text);
	}

	const struct row rows[] = {
		{"report of the top 10, ms", top.ms, reading_ms, peer_top.ms, reading},
		{"report of all stacks, ms", all.ms, reading_ms, peer_all.ms, reading},
		{"length of that report, MB", all.mb, NAN, peer_all.mb, NULL},
		{"blocks listed in it", all.blocks, BLOCKS, peer_all.blocks,
		 "the blocks that there are"},
		{"peak resident, top 10, MB", top.peak_mb, NAN, peer_top.peak_mb, NULL},
		{"peak resident, all stacks, MB", all.peak_mb, NAN, peer_all.peak_mb,
		 NULL},
	};

	table_head("Report of 1,000,000 live blocks in 10,000 stacks (all stacks: "
		   "memtrace in "
		   "JSON)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_row(&rows[i], has_peer);
}
