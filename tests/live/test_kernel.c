// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's own allocations (--kernel). A process makes the kernel hold known numbers
 * of objects. memtrace must count all of them, except the events that the kernel did not
 * deliver (which the report counts). After the process has closed them, the counts must
 * be gone.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/refused.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 60

static struct live_process *target;
static struct probes *probes_before;

/* --- reports ---------------------------------------------------------------------- */

/* `pid` 0: all of the kernel. */
static struct live_process *trace(pid_t pid, const char *options)
{
	char text[256], pid_text[16], *save = NULL;
	const char *argv[32] = {memtrace_path, "--pid", pid_text};
	size_t n = pid ? 3 : 1;

	snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	snprintf(text, sizeof(text),
		 "--kernel --format json --top 0 --older 0 -i 3600 %s", options);
	for (char *word = strtok_r(text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n] = NULL;

	struct live_process *memtrace = live_start(argv);

	if (!live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S))
		live_fail("--kernel %s: %s", options, live_stderr(memtrace));
	return memtrace;
}

static bool begins(const json_t *frame, const char *symbol)
{
	const char *name = json_string_value(json_object_get(frame, "symbol"));

	return name && !strncmp(name, symbol, strlen(symbol));
}

static bool is_under(const json_t *row, const char *symbol)
{
	json_t *frame;
	size_t i;

	json_array_foreach (live_get(row, "frames"), i, frame)
		if (begins(frame, symbol))
			return true;
	return false;
}

/* Is the function the direct caller of the allocator? */
static bool is_by(const json_t *row, const char *symbol)
{
	return begins(json_array_get(live_get(row, "frames"), 1), symbol);
}

struct sum {
	int64_t blocks, bytes;
};

/* What the target's thread holds of a class at stacks with a function whose name begins
 * with `symbol`. In the class "slab" this function must call the allocator itself: slabs
 * need memory of their own. */
static struct sum held(const json_t *report, const char *class, const char *symbol)
{
	struct sum sum = {0};
	json_t *row, *thread;
	size_t i, k;

	json_array_foreach (live_get(report, "kernel.stacks"), i, row) {
		const char *its = json_string_value(json_object_get(row, "allocator"));

		if (!its || strcmp(its, class) ||
		    !(strcmp(class, "slab") ? is_under(row, symbol) : is_by(row, symbol)))
			continue;
		json_array_foreach (live_get(row, "threads"), k, thread) {
			if (live_int(thread, "tid") != live_pid(target))
				continue;
			sum.blocks += live_int(thread, "blocks");
			sum.bytes += live_int(thread, "size_bytes");
		}
	}
	return sum;
}

/* How many of `want` blocks may be missing or left: at most the undelivered events of all
 * programs, and at most a tenth of `want`. */
static int64_t may_lack(const json_t *report, int64_t want)
{
	int64_t missed = live_int(report, "losses.probes_missed");

	return missed < want / 10 + 2 ? missed : want / 10 + 2;
}

/* --- the target's objects --------------------------------------------------------- */

/* Freed pages wait in lists of the processors (mm/swap.c, lru_add_drain()): at most 31 in
 * each. The target runs on a few processors. */
#define PAGES_WAITING (31 * 8)

static const struct kind {
	const char *command;
	int n;
	const char *class, *symbol;
	int64_t blocks, bytes; /* 0: not known; class percpu: for each processor */
	int64_t more_bytes;    /* bytes that the allocator may add */
	int64_t waiting;       /* blocks that may be freed late */
} kinds[] = {
	/* fs/pipe.c, alloc_pipe_info(): a pipe and its buffers. */
	{"pipes", 300, "slab", "alloc_pipe_info", 600, 0, 0, 0},
	/* mm/shmem.c; pages of order 0 or higher. */
	{"pages", 2000, "pages", "shmem_", 0, INT64_C(2000) * 4096, 0, PAGES_WAITING},
	/* kernel/bpf/arraymap.c, bpf_array_alloc_percpu(): one block for each element. */
	{"percpu", 200, "percpu", "array_map_alloc", 200, INT64_C(200) * 24, 0, 0},
	/* Each map has a head and a guard page. The per-CPU allocator may have taken some
	 * memory for itself, which it keeps. */
	{"vmalloc", 40, "vmalloc", "array_map_alloc", 0, INT64_C(40) << 18,
	 (40 * 4 * 4096) + (1 << 20), 8},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Does the kernel have tracepoints for the class? vmalloc has them since Linux 6.2. */
static bool has_tracepoints(const char *class)
{
	return strcmp(class, "vmalloc") ||
	       !access("/sys/kernel/tracing/events/vmalloc", F_OK);
}

static int64_t expected_bytes(const struct kind *kind)
{
	return strcmp(kind->class, "percpu")
		       ? kind->bytes
		       : kind->bytes * sysconf(_SC_NPROCESSORS_CONF);
}

static void check_held(const json_t *report, const struct kind *kind, double slack)
{
	struct sum sum = held(report, kind->class, kind->symbol);
	int64_t lack = may_lack(report, kind->blocks ? kind->blocks : kind->n);
	int64_t bytes = expected_bytes(kind), each;

	lack += (int64_t)(slack * (double)kind->n);
	each = bytes / kind->n;
	if (kind->blocks &&
	    (sum.blocks < kind->blocks - lack || sum.blocks > kind->blocks))
		CHECK_FAIL("%s: %" PRId64 " blocks, made %" PRId64, kind->command,
			   sum.blocks, kind->blocks);
	if (bytes &&
	    (sum.bytes < bytes - lack * each || sum.bytes > bytes + kind->more_bytes))
		CHECK_FAIL("%s: %" PRId64 " bytes, made %" PRId64, kind->command,
			   sum.bytes, bytes);
	check_state.checks += 2;
}

static bool are_gone(const json_t *report)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct sum sum = held(report, kinds[i].class, kinds[i].symbol);
		int64_t left =
			kinds[i].waiting +
			may_lack(report, kinds[i].blocks ? kinds[i].blocks : kinds[i].n);

		if (sum.blocks > left)
			return false;
	}
	return true;
}

/* The kernel frees some objects later: by RCU, or in its own threads. */
static bool wait_gone(struct live_process *memtrace)
{
	double end_s = live_now_s() + TIMEOUT_S;
	bool gone = false;

	while (!gone && live_now_s() < end_s) {
		json_t *report = memtrace_report(memtrace);

		gone = are_gone(report);
		json_decref(report);
		if (!gone)
			live_sleep(0.05);
	}
	return gone;
}

/* Pages must be counted once: not where they become a slab, per-CPU memory or vmalloc
 * memory. */
static void check_once(const json_t *report)
{
	static const char *const owners[] = {"___slab_alloc", "allocate_slab",
					     "___kmalloc_large", "pcpu_populate_chunk",
					     "__vmalloc_node_range"};
	json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "kernel.stacks"), i, row) {
		const char *class = json_string_value(json_object_get(row, "allocator"));

		for (size_t k = 0;
		     k < sizeof(owners) / sizeof(*owners) - !has_tracepoints("vmalloc");
		     k++)
			if (class && !strcmp(class, "pages"))
				CHECK(!is_under(row, owners[k]));
		/* The frames between the tracepoint and our BPF programs must not be
		 * shown. */
		CHECK(!is_under(row, "bpf_trace_run"));
		CHECK(!is_under(row, "__traceiter_"));
	}
}

static void check_sums(const json_t *report)
{
	int64_t bytes = 0, blocks = 0;
	json_t *class;
	size_t i;

	json_array_foreach (live_get(report, "kernel.classes"), i, class) {
		bytes += live_int(class, "totals.allocated_bytes");
		blocks += live_int(class, "totals.allocations");
	}
	CHECK_INT(i, 4);
	CHECK_INT(live_int(report, "kernel.totals.allocated_bytes"), bytes);
	CHECK_INT(live_int(report, "kernel.totals.allocations"), blocks);
	CHECK(json_is_null(live_get(report, "heap")));
}

static json_t *stop(struct live_process *memtrace)
{
	json_t *report;

	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
	return report;
}

static void hold_and_close(pid_t pid, const char *options, double slack)
{
	struct live_process *memtrace = trace(pid, options);
	json_t *report;

	for (size_t i = 0; i < KINDS; i++)
		oracle_do(target, "%s %d", kinds[i].command, kinds[i].n);
	report = memtrace_report(memtrace);
	for (size_t i = 0; i < KINDS; i++)
		if (has_tracepoints(kinds[i].class))
			check_held(report, &kinds[i], slack);
	check_once(report);
	check_sums(report);
	json_decref(report);

	oracle_do(target, "close");
	CHECK(wait_gone(memtrace));
	json_decref(stop(memtrace));
}

/* --- scenarios -------------------------------------------------------------------- */

/* Only the objects that the kernel makes for the target. */
static void one_process(void)
{
	hold_and_close(live_pid(target), "", 0);
}

static void all_processes(void)
{
	hold_and_close(0, "", 0);
	hold_and_close(0, "--tables hashes", 0);
}

/* By perf events: the kernel does not run our program while another BPF program runs, and
 * older kernels do not count such events. */
static void by_records(void)
{
	hold_and_close(live_pid(target), "--attach perf", 0.1);
}

/* The number behind a name: second column of slabinfo or of vmstat. */
static int64_t kernel_says(const char *path, const char *name)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0, len = strlen(name);

	REQUIRE(file);
	while (getline(&line, &cap, file) > 0)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtoll(line + len, NULL, 10);
	return -1;
}

#define FILES 4000
#define PAGES 6000

/*
 * Compared with the kernel's counters for the whole machine: the slab cache of open
 * files, which it shares with no other, and pages of shared memory. The tolerance is a
 * tenth. Added for each processor: 400 free objects that count as used (mm/slub.c,
 * get_slabinfo()) and 125 pages that are not added up yet (mm/vmstat.c,
 * calculate_normal_threshold()).
 */
static void the_kernels_numbers(void)
{
	struct live_process *memtrace = trace(0, "");
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t objects = kernel_says("/proc/slabinfo", "filp");
	int64_t pages = kernel_says("/proc/vmstat", "nr_shmem");
	int64_t seen_objects, seen_pages;
	json_t *report;

	REQUIRE(objects >= 0 && pages >= 0);
	oracle_do(target, "files %d", FILES);
	oracle_do(target, "pages %d", PAGES);
	objects = kernel_says("/proc/slabinfo", "filp") - objects;
	pages = kernel_says("/proc/vmstat", "nr_shmem") - pages;
	report = memtrace_report(memtrace);
	oracle_do(target, "close");
	/* fs/file_table.c; before 6.5 another function is the caller. A security module's
	 * objects have other callers. */
	seen_objects = held(report, "slab", "alloc_empty_file").blocks +
		       held(report, "slab", "__alloc_file").blocks;
	seen_pages = held(report, "pages", "shmem_").bytes / 4096;
	CHECK(llabs(seen_objects - FILES) <= FILES / 10);
	CHECK(llabs(seen_objects - objects) <= FILES / 10 + cpus * 400);
	CHECK(llabs(seen_pages - pages) <= PAGES / 10 + cpus * 125);
	json_decref(report);
	CHECK(wait_gone(memtrace));
	json_decref(stop(memtrace));
}

/* Text, snapshot and the other formats. */
static void formats(void)
{
	_cleanup_(freep) char *dir = live_path("kernel");
	char options[1024];

	snprintf(options, sizeof(options),
		 "--kernel --older 0 --top 3 -i 3600 --save %s.a --csv %s.b --flame %s.c "
		 "--pprof %s.d --html %s.e --flamegraph %s.f",
		 dir, dir, dir, dir, dir, dir);

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);
	bool titled = false, listed = false, counted = false;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), "tracing the kernel for pid ");
	CHECK_CONTAINS(live_stderr(memtrace), "slab, pages, percpu");
	oracle_do(target, "pages 500");
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		titled = titled || strstr(line, " of the kernel for process ");
		counted = counted || !strncmp(line, "  pages       ", 14);
		listed = listed || strstr(line, "by pages)");
		free(line);
	}
	CHECK(titled);
	CHECK(counted);
	CHECK(listed);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	oracle_do(target, "close");

	_cleanup_(freep) char *csv = files_read("%s.b", dir);
	_cleanup_(freep) char *svg = files_read("%s.c", dir);
	_cleanup_(freep) char *html = files_read("%s.e", dir);
	_cleanup_(freep) char *collapsed = files_read("%s.f", dir);

	CHECK_CONTAINS(csv, ",kernel\r\n");
	CHECK_CONTAINS(svg, "memory held by the kernel for process ");
	CHECK_CONTAINS(html, "Live in the kernel");
	CHECK_CONTAINS(collapsed, "shmem_");
	snprintf(options, sizeof(options), "%s.a", dir);

	const char *const argv[] = {memtrace_path, "--replay", options,
				    "--format",    "json",     NULL};
	struct live_process *replay = live_start(argv);
	json_t *report = live_read_json(replay, TIMEOUT_S);

	REQUIRE(report);
	check_sums(report);
	CHECK(live_int(report, "kernel.live_bytes") > 0);
	json_decref(report);
	CHECK_INT(live_wait(replay, TIMEOUT_S), 0);
	live_destroy(replay);
}

/* A process's heap and the kernel in one run: two sections with separate stacks, whose
 * numbers stay the same from report to report. */
static void two_sections(void)
{
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--with-kernel --traffic");
	json_t *report;
	struct sum sum;
	size_t i;

	for (int round = 1; round <= 2; round++) {
		int64_t blocks = 0, lack;
		json_t *row;

		oracle_do(target, "heap 70");
		oracle_do(target, "pipes 100");
		report = memtrace_report(memtrace);
		json_array_foreach (live_get(report, "heap.stacks"), i, row) {
			if (is_under(row, "site_heap"))
				blocks += live_int(row, "blocks");
			CHECK(!is_under(row, "alloc_pipe_info"));
			CHECK_INT(live_int(row, "traffic.allocations"),
				  live_int(row, "blocks") +
					  live_int(row, "traffic.frees"));
		}
		CHECK_INT(blocks, round * INT64_C(70));
		sum = held(report, "slab", "alloc_pipe_info");
		lack = may_lack(report, INT64_C(200) * round);
		CHECK(sum.blocks >= INT64_C(200) * round - lack &&
		      sum.blocks <= INT64_C(200) * round);
		if (round == 2) {
			json_array_foreach (live_get(report, "kernel.stacks"), i, row)
				if (is_by(row, "alloc_pipe_info"))
					CHECK(llabs(live_int(row, "growth_blocks") -
						    100) <= lack);
		}
		json_decref(report);
	}
	oracle_do(target, "close");
	CHECK(wait_gone(memtrace));
	json_decref(stop(memtrace));
}

/* Starts memtrace where these categories (a shell pattern) have no tracepoints. */
static struct live_process *without(const char *categories, const char *options)
{
	char script[512];
	const char *const argv[] = {"unshare", "-m", "sh", "-c", script, NULL};

	snprintf(script, sizeof(script),
		 "cd /sys/kernel/tracing/events; for d in $(ls -d %s 2>/dev/null); do "
		 "mount -t tmpfs none $d || exit 99; done; exec %s --kernel --attach "
		 "perf %s",
		 categories, memtrace_path, options);
	return live_start(argv);
}

static void missing_tracepoints(void)
{
	struct live_process *memtrace = without("vmalloc", "--dry-run");
	bool is_said = false, has_pages = false;
	char *line;

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		is_said |=
			strstr(line, "vmalloc  not traced: this kernel lacks some of ") ==
			line;
		has_pages |= strstr(line, "kmem:mm_page_alloc") != NULL;
		free(line);
	}
	CHECK(is_said && has_pages);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);

	memtrace = without("kmem percpu vmalloc", "");
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_STR(live_stderr(memtrace),
		  "memtrace: this kernel has no tracepoints of its allocations "
		  "(categories kmem and percpu): it was built without them\n");
	live_destroy(memtrace);
}

static void bad_input(void)
{
	/* User 65534 may not trace. */
	const char *const argv[] = {memtrace_path, "--kernel", NULL};

	check_refused(argv, 65534, 1, "memtrace: ", "");
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	target = target_start(KERNEL_HOLDER);
	RUN(one_process);
	RUN(all_processes);
	RUN(by_records);
	RUN(the_kernels_numbers);
	RUN(formats);
	RUN(two_sections);
	RUN(missing_tracepoints);
	RUN(bad_input);
	live_destroy(target);
	probes_destroy(probes_before);
	return check_done();
}
