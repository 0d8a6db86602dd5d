// SPDX-License-Identifier: Apache-2.0
/*
 * Counts the stacks of events. The target says how many times it did what. The counts are
 * exact, except the samples of a clock, which are within their statistical error.
 */
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/capability.h>

#include "check.h"
#include "live/files.h"
#include "live/refused.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30
#define CALLS     5000

static struct live_process *target;
static struct probes *probes_before;

/* Starts to count `event` in the target. `options`: more options, separated by blanks, or
 * "". */
static struct live_process *count_start(const char *event, const char *options)
{
	char text[1024];

	snprintf(text, sizeof(text), "--format json --top 0 -i 3600 --event %s %s", event,
		 options);

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), text);

	if (!live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S))
		live_fail("%s: %s", event, live_stderr(memtrace));
	return memtrace;
}

/* Ends the run. Returns the final report, owned. */
static json_t *count_stop(struct live_process *memtrace)
{
	json_t *report;

	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	CHECK(json_is_true(live_get(report, "complete")));
	CHECK(json_is_null(live_get(report, "heap")));
	CHECK(probes_gone(probes_before));
	return report;
}

static const char *leaf(const json_t *row)
{
	const char *name = json_string_value(
		json_object_get(json_array_get(live_get(row, "frames"), 0), "symbol"));

	return name ? name : "";
}

/* The hits of the stacks that contain this function; NULL: of all stacks. */
static int64_t count_of(const json_t *report, const char *symbol)
{
	int64_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "events.stacks"), i, row)
		if (!symbol || row_has_symbol(row, symbol))
			sum += live_int(row, "count");
	return sum;
}

static void check_calls(const json_t *report, const char *want_leaf)
{
	json_t *row;
	size_t i;

	CHECK_INT(live_int(report, "events.count"), 5 * CALLS);
	CHECK_INT(count_of(report, NULL), 5 * CALLS);
	CHECK_INT(count_of(report, "site_few"), 2 * CALLS);
	CHECK_INT(count_of(report, "site_many"), 3 * CALLS);
	json_array_foreach (live_get(report, "events.stacks"), i, row)
		if (want_leaf)
			CHECK_STR(leaf(row), want_leaf);
		else
			CHECK(!strncmp(leaf(row), "site_", 5));
}

/* Counts each call once, also in a thread, and below its caller. */
static void calls(const char *event, const char *unwind, const char *want_leaf)
{
	struct live_process *memtrace = count_start(event, unwind);
	json_t *report;

	oracle_do(target, "calls %d", CALLS);
	oracle_do(target, "thread %d", CALLS);
	report = count_stop(memtrace);
	check_calls(report, want_leaf);
	json_decref(report);
}

static void function_calls(void)
{
	calls("uprobe:events:work", "", "work");
	calls("uretprobe:events:work", "", NULL);
	/* Programs for events without the lookup of unwind rules. */
	calls("uprobe:events:work", "--unwind fp", "work");
	calls("uretprobe:events:work", "--unwind fp", NULL);
	/* Probe named by path, perf events. */
	calls("uprobe:" EVENTS_BINARY ":work", "--attach perf", "work");
	calls("uretprobe:events:work", "--tables hashes", NULL);
}

/* How many frames of a row are the kernel's. */
static size_t kernel_frames(const json_t *row)
{
	size_t count = 0, i;
	json_t *frame;

	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *module = json_string_value(json_object_get(frame, "module"));

		/* The kernel's frames come first. */
		if (module && !strcmp(module, "[kernel]") && count == i)
			count++;
	}
	return count;
}

static void tracepoint(void)
{
	struct live_process *memtrace =
		count_start("tracepoint:syscalls:sys_enter_getppid", "");
	json_t *report, *row;

	oracle_do(target, "syscalls 777");
	report = count_stop(memtrace);
	CHECK_INT(live_int(report, "events.count"), 777);
	CHECK_INT(count_of(report, "site_syscalls"), 777);
	row = json_array_get(live_get(report, "events.stacks"), 0);
	CHECK_STR(leaf(row), "site_syscalls");
	CHECK_INT(kernel_frames(row), 0);
	json_decref(report);

	/* Another category. The event covers all system calls, so a few more are
	 * counted. */
	memtrace = count_start("tracepoint:raw_syscalls:sys_enter", "");
	oracle_do(target, "syscalls 555");
	report = count_stop(memtrace);
	CHECK_INT(count_of(report, "site_syscalls"), 555);
	CHECK(live_int(report, "events.count") > 555);
	json_decref(report);

	/* With the kernel's frames. The kernel enters a system call by one of two
	 * functions, which have names. */
	for (int rules = 0; rules < 2; rules++) {
		memtrace = count_start("tracepoint:syscalls:sys_enter_getppid",
				       rules ? "--kernel-stacks"
					     : "--kernel-stacks --unwind fp");
		oracle_do(target, "syscalls 333");
		report = count_stop(memtrace);
		CHECK_INT(live_int(report, "events.count"), 333);
		CHECK_INT(count_of(report, "site_syscalls"), 333);
		CHECK_INT(count_of(report, "entry_SYSCALL_64_after_hwframe"), 333);
		row = json_array_get(live_get(report, "events.stacks"), 0);
		CHECK(kernel_frames(row) > 0);
		json_decref(report);
	}
}

/* A sample falls into a function with probability p, its share of the time. Of n samples
 * the number in the function is within 4 sqrt(n p (1 - p)) of n p, except in one run in
 * 16,000. A hypervisor takes processor time in pieces, which is not by chance: a tenth of
 * the samples is allowed for it. */
static void profile(void)
{
	struct live_process *memtrace = count_start("profile:hz:997", "");
	json_t *truth, *report;

	truth = oracle_ask(target, "cpu 2000");
	report = count_stop(memtrace);

	double most = (double)live_int(truth, "most_ns");
	double p = most / (most + (double)live_int(truth, "rest_ns"));
	double n =
		(double)(count_of(report, "burn_most") + count_of(report, "burn_rest"));
	double error = 4 * sqrt(n * p * (1 - p)) + 0.1 * n;

	printf("     %.0f samples, %.4f of them expected in burn_most, %.4f are\n", n, p,
	       (double)count_of(report, "burn_most") / n);
	CHECK(p > 0.7 && p < 0.9);
	/* Some samples are lost while other processes use the processor. */
	CHECK(n > 0.5 * 997 * 2 && n < 1.1 * 997 * 2);
	CHECK(fabs((double)count_of(report, "burn_most") - n * p) <= error);
	/* Nearly all samples are in these two functions. */
	CHECK(n >= 0.95 * (double)live_int(report, "events.count"));
	json_decref(truth);
	json_decref(report);
}

static void page_faults(void)
{
	struct live_process *memtrace = count_start("software:page-faults:1", "");
	json_t *truth = oracle_ask(target, "touch 3000");
	json_t *report = count_stop(memtrace);

	CHECK(live_int(truth, "faults") >= 3000);
	CHECK_INT(count_of(report, "site_touch"), live_int(truth, "faults"));
	json_decref(truth);
	json_decref(report);

	/* A sample for every tenth page fault counts as ten. */
	memtrace = count_start("software:page-faults:10", "");
	truth = oracle_ask(target, "touch 3000");
	report = count_stop(memtrace);
	CHECK_INT(live_int(report, "events.period"), 10);
	CHECK(llabs(count_of(report, "site_touch") - live_int(truth, "faults")) <= 20);
	json_decref(truth);
	json_decref(report);
}

static void static_probes(void)
{
	static const char *const names[] = {"plain", "gated"};

	for (size_t i = 0; i < 2; i++) {
		char event[64];
		json_t *truth, *report;

		snprintf(event, sizeof(event), "usdt:events:events:%s", names[i]);

		struct live_process *memtrace = count_start(event, "");

		truth = oracle_ask(target, "probes 1234");
		report = count_stop(memtrace);
		CHECK_INT(live_int(report, "events.count"), 1234);
		/* The target sees by its semaphore that it is traced. */
		CHECK_INT(live_int(truth, "gated"), i ? 1234 : 0);
		json_decref(truth);
		json_decref(report);
	}

	json_t *truth = oracle_ask(target, "probes 10");

	CHECK_INT(live_int(truth, "gated"), 0);
	json_decref(truth);
}

/* The sum in the section "mappings" of the stacks that contain this function. */
static int64_t mapped_at(const json_t *report, const char *symbol)
{
	int64_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "mappings.stacks"), i, row)
		if (row_has_symbol(row, symbol))
			sum += live_int(row, "size_bytes");
	return sum;
}

/* Pages at the stack that first touched them, and mappings at the stack that made
 * them. */
static void growth(void)
{
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(target), "--format json --top 0 -i 3600 --growth --unwind auto");
	json_t *truth, *report;

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	oracle_do(target, "grow 200");
	truth = oracle_ask(target, "touch 1000");
	report = count_stop(memtrace);
	CHECK_INT(count_of(report, "site_keep"), 600);
	CHECK_INT(count_of(report, "site_touch"), live_int(truth, "faults"));
	CHECK_INT(live_int(report, "events.size_bytes"),
		  live_int(report, "events.count") * 4096);
	/* site_keep() made the first mapping twice as large. grow() unmapped one half and
	 * moved the other with mremap(). */
	CHECK_INT(mapped_at(report, "site_keep"), 200 * 4096);
	CHECK_INT(mapped_at(report, "grow"), (200 + 600 + 2 * 200) * 4096);
	CHECK_INT(mapped_at(report, "site_sbrk"), 2 * 200 * 4096);
	CHECK_INT(mapped_at(report, "touch"), 0);
	json_decref(truth);
	json_decref(report);
}

/* --- output ----------------------------------------------------------------------- */

/* All output files have the same sum. The text report uses the words for events. */
static void files(void)
{
	_cleanup_(freep) char *dir = live_path("files");
	char options[2048];

	REQUIRE(!mkdir(dir, 0700));
	snprintf(options, sizeof(options),
		 "-i 3600 --event uprobe:events:work --flamegraph %s/a --flame %s/b "
		 "--csv %s/c --json %s/d --pprof %s/e",
		 dir, dir, dir, dir, dir);

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	oracle_do(target, "calls 100");
	live_signal(memtrace, SIGINT);

	char *line;
	bool counted = false, listed = false;

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		counted = counted || strstr(line, "  counted     400 events in 2 stacks");
		listed = listed || strstr(line, "\t300 events from stack  (75.0 %");
		CHECK(!strstr(line, "bytes"));
		CHECK(!strstr(line, "allocation"));
		free(line);
	}
	CHECK(counted);
	CHECK(listed);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);

	_cleanup_(freep) char *collapsed = files_read("%s/a", dir);
	_cleanup_(freep) char *svg = files_read("%s/b", dir);
	_cleanup_(freep) char *csv = files_read("%s/c", dir);
	_cleanup_(freep) char *json = files_read("%s/d", dir);
	_cleanup_(freep) char *pprof = files_read("%s/e", dir);
	json_t *report = json_loads(json, 0, NULL);

	CHECK_INT(files_sum_collapsed(collapsed), 400);
	CHECK_CONTAINS(collapsed, "main;run;site_many;work 300\n");
	CHECK_CONTAINS(svg, " data-bytes=\"400\" data-unit=\"events\"");
	CHECK_INT(files_sum_csv(csv, live_pid(target)), 400);
	CHECK_CONTAINS(csv, ",event\r\n");
	CHECK(!memcmp(pprof, "\x1f\x8b", 2));
	REQUIRE(report);
	CHECK_INT(count_of(report, NULL), 400);
	json_decref(report);
}

/* When the command ends, the run ends with its status. Its last system call is
 * counted. */
static void command(void)
{
	const char *const argv[] = {
		memtrace_path, "--format",   "json",
		"-q",          "--event",    "tracepoint:syscalls:sys_enter_exit_group",
		"--",          "/bin/false", NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	CHECK_INT(live_int(report, "events.count"), 1);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	live_destroy(memtrace);
	json_decref(report);
}

/* Many of the children end before the last report. No event is lost or counted twice. */
static void children(void)
{
	const char *const argv[] = {memtrace_path,
				    "--format",
				    "json",
				    "-q",
				    "--top",
				    "0",
				    "-i",
				    "100ms",
				    "--follow-forks",
				    "--event",
				    "tracepoint:syscalls:sys_enter_exit_group",
				    "--",
				    "/bin/sh",
				    "-c",
				    "i=0; while [ $i -lt 20 ]; do /bin/true; sleep 0.02; "
				    "i=$((i+1)); done",
				    NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report = NULL, *next;
	unsigned reports = 0;

	while ((next = live_read_json(memtrace, TIMEOUT_S))) {
		json_decref(report);
		report = next;
		reports++;
	}
	REQUIRE(report);
	CHECK(reports > 1);
	CHECK(json_is_true(live_get(report, "final")));
	/* The shell, and 20 of each kind. */
	CHECK_INT(live_int(report, "events.count") + live_int(report, "events.gone"), 41);
	CHECK(live_int(report, "events.gone") > 0);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	json_decref(report);
}

/* Without a target memtrace counts the events of all processes except itself. */
static void all_processes(void)
{
	const char *const argv[] = {memtrace_path,
				    "--format",
				    "json",
				    "--top",
				    "0",
				    "--event",
				    "tracepoint:syscalls:sys_enter_getppid",
				    "--all",
				    NULL};
	struct live_process *memtrace = live_start(argv);
	struct live_process *other = target_start(EVENTS_BINARY);
	int64_t ours = 0;
	json_t *report, *process;
	size_t i;

	REQUIRE(live_wait_stderr(memtrace, " at present: counting", TIMEOUT_S));
	oracle_do(target, "syscalls 100");
	oracle_do(other, "syscalls 50");
	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	json_array_foreach (live_get(report, "events.processes"), i, process) {
		int64_t pid = live_int(process, "pid");

		CHECK(pid != live_pid(memtrace));
		if (pid == live_pid(target))
			ours += live_int(process, "count");
		if (pid == live_pid(other))
			CHECK_INT(live_int(process, "count"), 50);
	}
	CHECK_INT(ours, 100);
	CHECK(live_int(report, "events.count") >= 150);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(other);
	json_decref(report);
}

/* How many exits of processes of memtrace one run counts. */
static int exits_of_memtrace(void)
{
	const char *const argv[] = {memtrace_path, "--no-cache",
				    "--format",    "json",
				    "--event",     "tracepoint:sched:sched_process_exit",
				    "--all",       NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report, *process;
	int count = 0;
	size_t i;

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	json_array_foreach (live_get(report, "targets"), i, process)
		if (strstr(json_string_value(live_get(process, "command")), "memtrace")) {
			printf("     %s is counted\n",
			       json_string_value(live_get(process, "command")));
			count++;
		}
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	json_decref(report);
	return count;
}

/* The compiler, a child of memtrace, has ended before counting begins. Other tests that
 * run at the same time may end a memtrace, but not in each of three runs. */
static void our_child(void)
{
	CHECK(!exits_of_memtrace() || !exits_of_memtrace() || !exits_of_memtrace());
}

/* --- bad input -------------------------------------------------------------------- */

static void check_no_event(const char *event, uid_t uid, int status, const char *one,
			   const char *other)
{
	char pid[16];
	const char *const argv[] = {memtrace_path, "--pid", pid, "--event", event, NULL};

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	check_refused(argv, uid, status, one, other);
}

static void bad_input(void)
{
	check_no_event("uprob:events:work", 0, 2, "not a kind of event",
		       "the nearest is uprobe");
	check_no_event("software:page-fault", 0, 2, "not a counter", "is page-faults");
	check_no_event("profile:99", 0, 2, "profile:hz:N", "'profile:99'");
	check_no_event("uprobe:events:site_fex", 0, 1, "has no function site_fex",
		       "site_few");
	check_no_event("uprobe:libc.so.7:malloc", 0, 1, "has not mapped a file libc.so.7",
		       "libc.so.6");
	check_no_event("uprobe:/no/such/file:malloc", 0, 1, "/no/such/file",
		       "No such file");
	check_no_event("uprobe:events:work+1000", 0, 1, "work", "behind its end");
	check_no_event("usdt:events:events:plane", 0, 1, "no USDT probe events:plane",
		       "events:plain");
	check_no_event("tracepoint:syscalls:sys_enter_getppit", 0, 1, "no tracepoint",
		       "sys_enter_getppid");
	check_no_event("tracepoint:syscall:x", 0, 1, "category syscall", "syscalls");
	check_no_event("tracepoint:syscalls:..", 0, 1, "no tracepoint", "");
	check_no_event("tracepoint:raw_syscalls:sys_entre", 0, 1, "no tracepoint",
		       "the nearest is sys_enter");
	check_no_event("profile:hz:99", 65534, 1, "CAP_", "");
	check_no_event("uprobe:libc.so.6:malloc", 65534, 1, "CAP_", "");
	check_no_event("profile:hz:1000000000", 0, 1, "profile:hz:1000000000",
		       "perf_event_max_sample_rate");
	if (access("/sys/bus/event_source/devices/kprobe", F_OK)) {
		check_no_event("kprobe:do_mmap", 0, 1, "no kprobes", "");
		check_no_event("kretprobe:do_mmap", 0, 1, "no kprobes", "");
	} else {
		check_no_event("kprobe:no_such_function_", 0, 1, "has no function", "");
		check_no_event("kretprobe:no_such_function_", 0, 1, "has no function",
			       "");
	}
	if (access("/sys/bus/event_source/devices/cpu", F_OK)) {
		check_no_event("hardware:cpu-cycles:1000000", 0, 1,
			       "no hardware counter cpu-cycles", "profile:hz:99");
		check_no_event("hardware:cache-misses", 0, 1,
			       "no hardware counter cache-misses", "profile:hz:99");
	}
	CHECK(probes_gone(probes_before));
}

static int read_sysctl(const char *path)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	int value = 0;

	REQUIRE(file && fscanf(file, "%d", &value) == 1);
	return value;
}

/*
 * Without CAP_SYSLOG the kernel hides its addresses, unless all users may read them
 * (kallsyms_show_value() in kernel/kallsyms.c). The children of this program never get
 * the capability back.
 */
static void hidden_addresses(void)
{
	bool shown = !read_sysctl("/proc/sys/kernel/kptr_restrict") &&
		     read_sysctl("/proc/sys/kernel/perf_event_paranoid") <= 1;
	struct live_process *memtrace;
	json_t *report, *frame;
	bool said;

	REQUIRE(!prctl(PR_CAPBSET_DROP, CAP_SYSLOG, 0, 0, 0));
	memtrace =
		count_start("tracepoint:syscalls:sys_enter_getppid", "--kernel-stacks");
	oracle_do(target, "syscalls 44");
	said = strstr(live_stderr(memtrace), "kernel.kptr_restrict");
	CHECK_INT(said, !shown);
	report = count_stop(memtrace);
	CHECK_INT(count_of(report, "site_syscalls"), 44);
	/* The frames exist even without names. */
	frame = json_array_get(
		live_get(json_array_get(live_get(report, "events.stacks"), 0), "frames"),
		0);
	CHECK(json_is_string(json_object_get(frame, "symbol")) == shown);
	json_decref(report);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	target = target_start(EVENTS_BINARY);
	RUN(function_calls);
	RUN(tracepoint);
	RUN(profile);
	RUN(page_faults);
	RUN(static_probes);
	RUN(growth);
	RUN(files);
	RUN(command);
	RUN(children);
	RUN(all_processes);
	RUN(our_child);
	RUN(bad_input);
	RUN(hidden_addresses);
	live_destroy(target);
	probes_destroy(probes_before);
	return check_done();
}
