// SPDX-License-Identifier: Apache-2.0
/*
 * Stored snapshots, and the exact output of --replay and --diff for them in every format.
 * With a directory as argument, writes new snapshots there, made by this program, and all
 * outputs, to be reviewed and copied here.
 */
#include "cut.h"
#include "offline_apart.h"
#include "unit/render/fixture.h"

#include <time.h>

#include <zlib.h>

#include "report/recorded.h"
#include "snapshot/file.h"

#define CAP ((size_t)1 << 20)

static const char *write_dir;
static char temporary[] = "/tmp/memtrace-golden-XXXXXX";

/* The path of a stored file. Valid until the next call but one. */
static const char *stored(const char *name)
{
	static char paths[2][512];
	static unsigned next;

	next ^= 1;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden", name);
	return paths[next];
}

/* --- snapshots --------------------------------------------------------------------- */

/* Give the first name with that symbol source lines and an inlined function. */
static void add_lines(struct snapshot *snap, const char *symbol)
{
	const char *const functions[] = {"grow<int>(\"\x1b\")", symbol};
	struct snapshot_source source;

	vec_foreach (name, &snap->names) {
		const char *text = string_table_get(&snap->strings, name->symbol);

		if (!text || strcmp(text, symbol))
			continue;
		name->first_source = (uint32_t)snap->sources.len;
		name->source_count = 2;
		for (unsigned i = 0; i < 2; i++) {
			source = (struct snapshot_source){
				.line = 12 + i, .column = i, .inlined = !i};
			REQUIRE(string_table_add(&snap->strings, functions[i],
						 &source.function));
			REQUIRE(string_table_add(&snap->strings, "/srv/app/src/cache.cpp",
						 &source.file));
			REQUIRE(vec_push(&snap->sources, source));
		}
		return;
	}
}

static void store(struct fixture *f, const char *name)
{
	FILE *out = fopen(stored(name), "we");

	REQUIRE(out);
	REQUIRE(!report_record_names(f->snap, f->frames, NULL, NULL));
	add_lines(f->snap, "Cache::insert(std::string const&)");
	REQUIRE(!snapshot_write(f->snap, out));
	REQUIRE(!fclose(out));
}

/* What --traffic measures, with numbers that differ between stacks. */
static void add_traffic(struct snapshot *snap)
{
	const uint64_t now_ns = snap->time_ns;

	snap->has_traffic = snap->has_lifetimes = snap->has_trends = true;
	snap->has_at_peak = true;
	for (uint64_t i = 0; i < snap->stacks.len; i++) {
		const struct snapshot_traffic traffic = {
			.allocations = 100 + i,
			.allocated_bytes = 100000 + i,
			.frees = 90 + i,
			.freed_bytes = 9000 + i,
			.temporary = 5 + i,
			.peak_bytes = 70000 + i,
			.peak_time_ns = now_ns - (i + 1) * FIXTURE_NS,
			.peak_count = 50 + i,
		};
		const struct snapshot_lifetimes lifetimes = {.count = {i, 3, [31] = 1}};
		const struct snapshot_trend trend = {
			.intervals = 9,
			.grew = 4,
			.shrank = (uint32_t)i,
			.slope_bytes_per_s = 12.5 - (double)i,
			.determination = 0.25,
			.rise_bytes = 40 + i,
			.fall_bytes = 7 * i,
		};

		REQUIRE(vec_push(&snap->traffic, traffic));
		REQUIRE(vec_push(&snap->at_peak,
				 (struct snapshot_at_peak){9000 + 500 * i, 20 + i}));
		REQUIRE(vec_push(&snap->lifetimes, lifetimes));
		REQUIRE(vec_push(&snap->path_sizes,
				 (struct snapshot_path_sizes){.count = {i, [7] = 99}}));
		for (size_t k = 0; k < BLOCK_CLASS_COUNT; k++)
			REQUIRE(vec_push(&snap->trends[k], trend));
	}
	for (uint32_t i = 0; i < 2; i++) {
		const struct snapshot_thread thread = {
			.process = 0,
			.tid = 4321 + i,
			.name = i ? strdup("work\ner") : NULL,
			.exited = i,
			.allocations = 600 + i,
			.allocated_bytes = 60000 + i,
			.frees = 500 + i,
			.freed_bytes = 5000 + i,
			.freed_by_others = 7 + i,
			.freed_by_others_bytes = 77 + i,
			.freed_own = 400 + i,
			.freed_own_bytes = 4000 + i,
		};
		const struct snapshot_moment moment = {
			.time_ns = now_ns - (1 - i) * 5 * FIXTURE_NS,
			.live_bytes = {1000 + i, 2000 + i},
			.live_blocks = {10 + i, 20 + i},
			.allocations = 300 + i,
			.allocated_bytes = 30000 + i,
			.frees = 200 + i,
			.vm_rss_bytes = 819200 + i,
		};

		REQUIRE(vec_push(&snap->threads, thread));
		REQUIRE(vec_push(&snap->moments, moment));
	}
	for (uint64_t i = 0; i < SNAPSHOT_BUCKETS; i += 4)
		snap->sizes[i] = i + 1;
	snap->peak_bytes = 123456;
	snap->peak_time_ns = now_ns - FIXTURE_NS;
}

/* Two processes with mappings; the second report, with growth since the first. */
static void store_new(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	fixture_report(&f);
	f.snap->processes.data->memory.vm_rss_bytes = 800 * 1024;
	f.snap->time_ns += 5 * FIXTURE_NS;
	f.snap->wall_ns += 5 * FIXTURE_NS;
	f.snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 5000, .allocated_bytes = 4000000, .frees = 4000};
	f.snap->losses[LOSS_BLOCKS_FULL] = 3;
	fixture_block(&f, BLOCK_HEAP, 4000, 4321, 0);
	f.snap->blocks[BLOCK_HEAP].data[4].size_bytes = 100;
	add_traffic(f.snap);
	REQUIRE(!report_record_before(f.snap, f.history, REPORT_DURATION));
	store(&f, "stored.mts");
}

/* The same program at other addresses. One stack has less, another more, and one is gone
 * in the later snapshot. */
static void store_old(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	f.snap->processes.data->pid = 1234;
	f.snap->wall_ns -= 60 * FIXTURE_NS;
	fixture_symbol(&f, "unused", "/usr/lib/libc.so.6");
	fixture_fill(&f);
	f.snap->blocks[BLOCK_HEAP].data[0].size_bytes = 500;
	f.snap->blocks[BLOCK_HEAP].data[3].size_bytes *= 3;

	uint64_t gone = fixture_symbol(&f, "gone \"<&>", "/usr/lib/gone.so");

	fixture_block(&f, BLOCK_HEAP, 12345, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, FIXTURE_BASE + 0x110, gone));
	fixture_report(&f);
	REQUIRE(!report_record_before(f.snap, f.history, REPORT_INTERVAL));
	store(&f, "stored-old.mts");
	/* The same after a search for unreachable blocks. */
	f.snap->search = (struct snapshot_search){.count = 1, .processes = 1};
	for (size_t i = 0; i < f.snap->stacks.len; i++) {
		const struct snapshot_unreachable found = {.lost = {64 * (i + 1), i + 1}};

		REQUIRE(vec_push(&f.snap->unreachable, found));
		snapshot_unreachable_add(&f.snap->search.total, &found);
	}
	store(&f, "stored-searched.mts");
}

/* --- outputs ----------------------------------------------------------------------- */

/* The contents of a file, decompressed if need be; owned by the caller. */
static char *read_all(const char *path, size_t *len)
{
	gzFile file = gzopen(path, "r");
	char *data = malloc(CAP);
	int got;

	REQUIRE(file && data);
	got = gzread(file, data, CAP - 1);
	REQUIRE(got >= 0);
	gzclose(file);
	data[got] = '\0';
	*len = (size_t)got;
	return data;
}

/* Cut a flame graph's script, which has its own test. */
static void cut_script(char *data, size_t *len)
{
	char *script = strstr(data, "<script>");

	if (strncmp(data, "<?xml", 5))
		return;
	REQUIRE(script);
	strcpy(script, "</svg>\n");
	*len = strlen(data);
}

static void compare(const char *got_path, const char *name)
{
	size_t got_len, want_len;
	_cleanup_(freep) char *got = read_all(got_path, &got_len), *want = NULL;

	if (!strncmp(got, "<!DOCTYPE html", 14)) {
		cut_page(got);
		got_len = strlen(got);
	}
	cut_script(got, &got_len);
	if (write_dir) {
		FILE *out = fopen(stored(name), "we");

		REQUIRE(out && fwrite(got, 1, got_len, out) == got_len && !fclose(out));
		return;
	}
	want = read_all(stored(name), &want_len);
	CHECK(want_len > 0);
	if (got_len != want_len || memcmp(got, want, got_len) != 0)
		CHECK_FAIL("%s differs:\n%s\nexpected:\n%s", name, got, want);
	check_state.checks++;
}

/* Run memtrace with `words` (separated by blanks) and an output file. The file must equal
 * the stored file `name`. */
static void check_run(const char *words, const char *output_option, const char *name)
{
	char *argv[32] = {"memtrace"}, buf[1024], path[64], *save = NULL;
	struct options options;
	struct error *err;
	int argc = 1;

	snprintf(path, sizeof(path), "%s/out", temporary);
	snprintf(buf, sizeof(buf), "%s %s %s", words, output_option, path);
	for (char *word = strtok_r(buf, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	/* Unless the output is a report, a report goes to standard output as well. */
	REQUIRE(!options_parse(argc, argv, &options));
	err = offline_apart(&options);
	if (err)
		CHECK_FAIL("%s: %s", name, err->message);
	REQUIRE(!err);
	compare(path, name);
	REQUIRE(!remove(path));
}

static void replay(void)
{
	static const char *const runs[][3] = {
		{"", "-o", "replay.txt"},
		{"--format json", "-o", "replay.json"},
		{"--show-allocs --sort count --top 2 --older 2s", "-o", "replay-few.txt"},
		{"--combined-only --no-lines --top 0", "-o", "replay-plain.txt"},
		{"--paths short", "-o", "replay-short.txt"},
		{"--top 1 --show-allocs", "--json", "replay-all.json"},
		{"", "--csv", "replay.csv"},
		{"", "--flamegraph", "replay.folded"},
		{"", "--flame", "replay.svg"},
		{"", "--pprof", "replay.pb"},
		/* No block is live with --older 1h, but what was allocated is still
		 * exported. */
		{"--older 1h --view traffic", "--pprof", "replay-past.pb"},
		{"--inverted", "--html", "replay.html"},
		{"--flame-of peak", "--flamegraph", "replay-of-peak.folded"},
		{"--flame-of traffic", "--flamegraph", "replay-of-traffic.folded"},
		{"--flame-of count", "--flamegraph", "replay-of-count.folded"},
		{"--flame-of peak", "--flame", "replay-of-peak.svg"},
		{"--flame-of traffic", "--flame", "replay-of-traffic.svg"},
		{"--flame-of count", "--flame", "replay-of-count.svg"},
		{"--flame-of peak", "--html", "replay-of-peak.html"},
		{"--view peak", "--csv", "replay-peak.csv"},
		{"--exclude gr*", "-o", "replay-filtered.txt"},
	};
	char words[1024];

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		snprintf(words, sizeof(words), "--replay %s %s", stored("stored.mts"),
			 runs[i][0]);
		check_run(words, runs[i][1], runs[i][2]);
	}
}

static void views(void)
{
	static const char *const names[] = {
		"growth",    "traffic",   "peak",      "allocations", "threads",
		"histogram", "lifetimes", "processes", "functions",   "tree"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char words[1024], name[64];

		snprintf(words, sizeof(words), "--replay %s --view %s --top 2",
			 stored("stored.mts"), names[i]);
		snprintf(name, sizeof(name), "replay-%s.txt", names[i]);
		check_run(words, "-o", name);
	}
}

static void check_diff(const char *old, const char *new, const char *words,
		       const char *output_option, const char *name)
{
	char all[1200];

	snprintf(all, sizeof(all), "--diff %s %s %s", stored(old), stored(new), words);
	check_run(all, output_option, name);
}

/* What is lost on a side that was not searched is not known. */
static void diff_of_lost(void)
{
	static const char *const old = "stored-old.mts",
				 *searched = "stored-searched.mts", *new = "stored.mts";

	check_diff(searched, new, "", "-o", "diff-searched-old.txt");
	check_diff(new, searched, "", "-o", "diff-searched-new.txt");
	check_diff(searched, searched, "", "-o", "diff-searched-both.txt");
	check_diff(old, searched, "", "-o", "diff-searched-same.txt");
}

static void diff(void)
{
	static const char *const runs[][3] = {
		{"", "-o", "diff.txt"},
		{"--filter mod:*blob*", "-o", "diff-filtered.txt"},
		{"--sort count --top 2 --older 0", "-o", "diff-few.txt"},
		{"--color always --top 3", "-o", "diff-color.txt"},
		/* One stack exceeds 2 MiB in the first snapshot only. */
		{"--skip-size 2M --hide-frames none", "-o", "diff-skip.txt"},
		{"--format json", "-o", "diff.json"},
		{"--top 1", "--csv", "diff.csv"},
		{"", "--flamegraph", "diff.folded"},
		{"", "--flame", "diff.svg"},
		{"--inverted --reverse", "--flame", "diff-reverse.svg"},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		check_diff("stored-old.mts", "stored.mts", runs[i][0], runs[i][1],
			   runs[i][2]);
}

int main(int argc, char *argv[])
{
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C", 1);
	tzset();
	REQUIRE(mkdtemp(temporary));
	if (argc > 1) {
		write_dir = argv[1];
		store_new();
		store_old();
	}
	RUN(replay);
	RUN(views);
	RUN(diff);
	RUN(diff_of_lost);
	REQUIRE(!rmdir(temporary));
	return check_done();
}
