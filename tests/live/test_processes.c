// SPDX-License-Identifier: Apache-2.0
/* Several processes in one run: the blocks of each are counted to the byte,
 * separately. */
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "live/family.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

static size_t open_descriptors(pid_t pid)
{
	return count_descriptors(pid) - 2;
}

/* --- processes that were asked for ------------------------------------------------- */

/* Without address space randomization both processes have the same addresses of code,
 * stacks and blocks. */
static void distinguish_two(const char *options)
{
	const char *const fixed[] = {"fixed", NULL};
	struct live_process *a = family_start(fixed), *b = family_start(fixed);
	pid_t a_pid = live_pid(a), b_pid = live_pid(b);
	struct live_process *memtrace =
		memtrace_with("--pid %d,%d %s", (int)a_pid, (int)b_pid, options);
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(a, "keep 300 48");
	oracle_do(b, "keep 500 48");
	/* This frees a block at the address of a block of the other process. */
	oracle_do(a, "drop 100");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, a_pid, "site_keep", 200, 200 * 48);
	CHECK_SITE(report, b_pid, "site_keep", 500, 500 * 48);
	CHECK_INT(live_int(report, "heap.live_blocks"), 700);
	CHECK_INT(live_int(report, "heap.totals.frees"), 100);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK_INT(live_int(report, "heap.totals.gone"), 0);
	CHECK(json_is_null(live_get(report, "target")));
	check_books(report);
	json_decref(report);

	family_finish(a);
	oracle_do(b, "drop 50");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, a_pid, "site_keep", 200, 200 * 48);
	CHECK_SITE(report, b_pid, "site_keep", 450, 450 * 48);
	REQUIRE(target_of(report, a_pid) && target_of(report, b_pid));
	CHECK(json_is_true(live_get(target_of(report, a_pid), "exited")));
	CHECK(json_is_false(live_get(target_of(report, b_pid), "exited")));
	CHECK_INT(live_int(report, "heap.totals.gone"), 0);
	check_books(report);
	json_decref(report);

	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 450);
	CHECK(!target_of(report, a_pid));
	CHECK(!by_pid(live_get(report, "heap.processes"), a_pid));
	CHECK_INT(live_int(report, "heap.totals.gone"), 200);
	CHECK_INT(live_int(report, "heap.totals.gone_bytes"), 200 * 48);
	check_books(report);
	json_decref(report);

	oracle_do(b, "keep 7 100");
	family_finish(b);
	report = memtrace_end(memtrace, 0);
	CHECK_INT(json_array_size(live_get(report, "targets")), 1);
	CHECK_SITE(report, b_pid, "site_keep", 457, 450 * 48 + 700);
	check_books(report);
	json_decref(report);
	live_destroy(a);
	live_destroy(b);
	CHECK(probes_gone(probes_before));
}

static void two_processes_are_distinguished(void)
{
	distinguish_two("");
	distinguish_two("--attach perf");
}

/* --- children ---------------------------------------------------------------------- */

static void children_from_their_first_allocation(void)
{
	struct live_process *target = family_start(NULL);
	pid_t pid = live_pid(target);
	struct live_process *memtrace =
		memtrace_with("--follow-forks --pid %d", (int)pid);
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "keep 20 64");
	oracle_do(target, "children 40");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, pid, "site_keep", 20, 20 * 64);
	CHECK_INT(json_array_size(live_get(report, "targets")), 41);
	CHECK_INT(live_int(report, "heap.live_blocks"), 20 + 40 * 3);
	CHECK_INT(live_int(report, "heap.live_bytes"), 20 * 64 + 40 * 3 * 40);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 20 + 40 * 5);
	CHECK_INT(live_int(report, "heap.totals.frees"), 40 * 2);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	check_books(report);
	json_decref(report);

	/* The parent's blocks stay, whatever the child frees. */
	oracle_do(target, "inherit 15");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, pid, "site_keep", 20, 20 * 64);
	CHECK_INT(json_array_size(live_get(report, "targets")), 2);
	CHECK_INT(live_int(report, "heap.live_blocks"), 20 + 3);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 15);
	CHECK_INT(live_int(report, "heap.totals.gone"), 40 * 3);
	check_books(report);
	json_decref(report);

	oracle_do(target, "nest");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_nested", 2, 48);
	CHECK_SITE(report, 0, "site_nested_deeper", 3, 72);
	CHECK_SITE(report, pid, "site_keep", 20, 20 * 64);
	CHECK_SITE(report, pid, "site_nested", 0, 0);
	CHECK_INT(json_array_size(live_get(report, "targets")), 3);
	CHECK_INT(live_int(report, "heap.live_blocks"), 25);
	check_books(report);
	json_decref(report);
	oracle_do(target, "reap");

	oracle_do(target, "threads 8");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, pid, "site_thread", 0, 0);
	CHECK_INT(json_array_size(live_get(report, "targets")), 3 + 8);
	check_books(report);
	json_decref(report);

	/* The orphan's parent is init, and it is the last process that remains. */
	oracle_do(target, "orphan");
	report = memtrace_report(memtrace);
	CHECK_SITE(report, 0, "site_orphan", 4, 4 * 56);
	check_books(report);
	json_decref(report);
	family_finish(target);
	report = memtrace_end(memtrace, 0);
	CHECK_INT(json_array_size(live_get(report, "targets")), 2);
	check_books(report);
	json_decref(report);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* --- other programs ----------------------------------------------------------------- */

static void borrowed(const char *options)
{
	struct live_process *target = family_start(NULL), *memtrace;
	json_t *report;

	memtrace = memtrace_with("%s --pid %d", options, (int)live_pid(target));
	memtrace_await(memtrace);
	oracle_do(target, "keep 100 200");
	oracle_do(target, "borrow 40 7");
	oracle_do(target, "drop 5");
	report = memtrace_report(memtrace);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 100 - 40 + 7 - 5);
	CHECK_INT(report_site(report, "heap", "site_keep").bytes, 60 * 200 + 2 * 48);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 107);
	CHECK_INT(live_int(report, "heap.totals.frees"), 45);
	check_books(report);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* From Linux 6.12 on a uprobe_multi link for one process passes only that process's calls
 * to the program (uprobe_prog_run() in kernel/trace/bpf_trace.c). */
static bool sees_children_of_vfork(void)
{
	struct utsname name;
	unsigned major, minor;

	REQUIRE(!uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2);
	return major < 6 || (major == 6 && minor < 12);
}

/* The child frees blocks, and memtrace does not see that. The blocks stay listed until
 * malloc returns their addresses again. Each block is listed once, or counted as
 * replaced. */
static void borrowed_unseen(void)
{
	struct live_process *target, *memtrace;
	json_t *report;

	if (sees_children_of_vfork()) {
		borrowed("");
		return;
	}
	target = family_start(NULL);
	memtrace = memtrace_with("--pid %d", (int)live_pid(target));
	memtrace_await(memtrace);
	oracle_do(target, "keep 100 200");
	oracle_do(target, "borrow 40 0");
	report = memtrace_report(memtrace);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 100);
	CHECK_INT(live_int(report, "heap.totals.frees"), 0);
	check_books(report);
	json_decref(report);

	oracle_do(target, "keep 40 200");
	report = memtrace_report(memtrace);

	int64_t replaced = live_int(report, "losses.blocks_replaced");

	CHECK(replaced > 0);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 140 - replaced);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 140);
	CHECK_INT(live_int(report, "heap.live_blocks"), 140 - replaced);
	CHECK_INT(compare_losses(report, "blocks_replaced"), 0);
	json_decref(report);

	/* The parent frees all of its blocks. */
	oracle_do(target, "drop 100");
	report = memtrace_report(memtrace);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 40 - replaced);
	CHECK_INT(live_int(report, "heap.totals.frees"), 100);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* A child of vfork(2) shares its parent's memory: what it allocates and frees counts as
 * the parent's. */
static void borrowed_memory(void)
{
	borrowed("--follow-forks");
	borrowed("--attach perf");
	borrowed_unseen();
}

/* memtrace sees some of them before they execute their program and some after that. The
 * event of the exec comes even later. */
static void children_that_live_on(void)
{
	struct live_process *memtrace =
		memtrace_with("--follow-forks -- %s 6 4 300", SPAWNER_BINARY);
	json_t *report = memtrace_end(memtrace, 0);

	CHECK_INT(json_array_size(live_get(report, "targets")), 1 + 6 * 4);
	CHECK_INT(live_int(report, "heap.live_blocks"), 6 * 4 * 100);
	CHECK_INT(live_int(report, "heap.live_bytes"), 6 * 4 * 100 * 100);
	CHECK_INT(live_int(report, "heap.totals.gone"), 0);
	check_books(report);
	json_decref(report);
}

/* --- mappings, and an end by force ------------------------------------------------- */

/* memtrace keeps the mappings of each process separately. */
static void mappings_of_each(void)
{
	const char *const fixed[] = {"fixed", NULL};
	struct live_process *a = family_start(fixed), *b = family_start(fixed), *memtrace;
	json_t *report;

	memtrace = memtrace_with("--mappings --pid %d --pid %d", (int)live_pid(a),
				 (int)live_pid(b));
	memtrace_await(memtrace);
	oracle_do(a, "map 3");
	oracle_do(b, "map 5");
	oracle_do(a, "unmap 1");
	report = memtrace_report(memtrace);
	CHECK_INT(sum_of(report, "mappings", live_pid(a), "site_map", NULL).blocks, 2);
	CHECK_INT(sum_of(report, "mappings", live_pid(b), "site_map", NULL).blocks, 5);
	CHECK_INT(sum_of(report, "mappings", live_pid(b), "site_map", NULL).bytes,
		  5 * 65536);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	family_finish(a);
	report = memtrace_report(memtrace);
	CHECK_INT(sum_of(report, "mappings", live_pid(a), "site_map", NULL).blocks, 2);
	json_decref(report);
	report = memtrace_stop(memtrace);
	CHECK_INT(sum_of(report, "mappings", 0, "site_map", NULL).blocks, 5);
	CHECK_INT(live_int(report, "mappings.totals.gone"), 2);
	CHECK_INT(live_int(report, "mappings.totals.allocations") -
			  live_int(report, "mappings.totals.frees") -
			  live_int(report, "mappings.totals.gone"),
		  live_int(report, "mappings.live_blocks"));
	json_decref(report);
	live_destroy(a);
	live_destroy(b);
}

/* kill -9 with each way to attach: no probe stays, and the targets keep running. */
static void killed(void)
{
	struct live_process *a = family_start(NULL), *b = family_start(NULL), *memtrace;

	for (int mode = 0; mode < 4; mode++) {
		if (mode == 0)
			memtrace = memtrace_with("--pid %d,%d", (int)live_pid(a),
						 (int)live_pid(b));
		else if (mode == 1)
			memtrace = memtrace_with("--follow-forks --pid %d",
						 (int)live_pid(a));
		else
			memtrace =
				memtrace_with("--all --lib libc.so.6 --sample-every 1 %s",
					      mode == 3 ? "--attach perf" : "");
		memtrace_await(memtrace);
		CHECK(probes_new(probes_before) > 0);
		oracle_do(a, "children 3");
		oracle_do(b, "keep 5 16");
		live_signal(memtrace, SIGKILL);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGKILL);
		live_destroy(memtrace);
		CHECK(probes_gone(probes_before));
		oracle_do(a, "children 3");
		oracle_do(b, "keep 5 16");
	}
	live_destroy(a);
	live_destroy(b);
}

/* --- very many --------------------------------------------------------------------- */

/* Private memory: pages of the BPF tables count as resident while memtrace reads them. */
static int64_t anonymous_kib(pid_t pid)
{
	char path[64], line[256];
	int64_t kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	REQUIRE(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kib = atoll(line + 8);
	fclose(f);
	return kib;
}

/* memtrace returns the memory for a report afterwards. */
static bool has_settled_below(pid_t pid, int64_t kib)
{
	for (int i = 0; i < TIMEOUT_S * 10 && anonymous_kib(pid) >= kib; i++)
		usleep(100000);
	return anonymous_kib(pid) < kib;
}

/* Many children at once, each with its own call sites: the misses may overflow the
 * ring. */
static void very_many_children(void)
{
	const char *const command[] = {"/bin/true", NULL};
	struct live_process *target = family_start(command);
	struct live_process *memtrace =
		memtrace_with("--follow-forks --pid %d", (int)live_pid(target));
	size_t descriptors;
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "children 100");
	json_decref(memtrace_report(memtrace));
	descriptors = open_descriptors(live_pid(memtrace));
	for (int i = 0; i < (live_is_long() ? 2 : 1); i++) {
		oracle_do(target, "children 1000");
		report = memtrace_report(memtrace);
		CHECK_INT(json_array_size(live_get(report, "targets")), 1001);
		CHECK_INT(live_int(report, "heap.live_blocks"), 3 * 1000);
		check_books_but(report, "walks_lost");
		json_decref(report);
	}
	/* Each child takes two slots: one before its exec. */
	for (int i = 0; i < 300; i++)
		oracle_do(target, i % 2 ? "spawn" : "vfork");
	report = memtrace_report(memtrace);
	CHECK_INT(json_array_size(live_get(report, "targets")), 301);
	check_books_but(report, "walks_lost");
	json_decref(report);
	report = memtrace_report(memtrace);
	CHECK_INT(json_array_size(live_get(report, "targets")), 1);
	json_decref(report);
	CHECK(open_descriptors(live_pid(memtrace)) <= descriptors + 10);
	CHECK(has_settled_below(live_pid(memtrace), 24 * 1024));
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(two_processes_are_distinguished);
	RUN(children_from_their_first_allocation);
	RUN(borrowed_memory);
	RUN(children_that_live_on);
	RUN(mappings_of_each);
	RUN(killed);
	RUN(very_many_children);
	probes_destroy(probes_before);
	return check_done();
}
