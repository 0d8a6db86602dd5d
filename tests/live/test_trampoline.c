// SPDX-License-Identifier: Apache-2.0
/* No return probes: a target's stacks never contain the address of the kernel's
 * trampoline, and no function returns through it. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "live/preload.h"
#include "live/trace.h"
#include "live/trampoline.h"

#define TIMEOUT_S 60
#define STOPS     100
#define THREADS   2 /* threads of the target besides the main thread */

/* Starts targets/allocating.c. *function: the address of the function that its threads
 * run. */
static struct live_process *start(const char *program, const char *library,
				  uint64_t *function)
{
	const char *const argv[] = {program, NULL};
	struct live_process *target = preload_start(library, argv);
	json_t *ready = live_read_json(target, TIMEOUT_S), *serving;

	REQUIRE(ready);
	*function = (uint64_t)live_int(ready, "function");
	serving = live_read_json(target, TIMEOUT_S);
	REQUIRE(serving);
	json_decref(ready);
	json_decref(serving);
	return target;
}

/* Stops the target again and again. Returns how many times a stack had the trampoline. */
static unsigned count_stops(struct live_process *target)
{
	unsigned stops = 0;

	for (int i = 0; i < STOPS && live_is_running(target); i++) {
		stops += trampoline_found(live_pid(target)) != 0;
		live_sleep(0.002);
	}
	return stops;
}

static void check_program(const char *program, const char *library, const char *options)
{
	uint64_t function;
	struct live_process *target = start(program, library, &function);
	int returns = trampoline_open(live_pid(target));
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	json_t *report;

	oracle_do(target, "start");
	CHECK_INT(trampoline_links(live_pid(memtrace)), 0);
	CHECK_INT(count_stops(target), 0);
	oracle_do(target, "stop");
	if (returns >= 0) {
		CHECK_INT(trampoline_returns(returns), 0);
		close(returns);
	}
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.totals.allocations") > STOPS);
	CHECK_INT(live_wait(target, TIMEOUT_S), 0);
	json_decref(report);
	live_destroy(target);
}

static void check_library(const char *name)
{
	char *library = preload_find(name);

	if (library)
		check_program(ALLOCATING_BINARY, library, "--unwind auto");
	free(library);
}

static void glibc(void)
{
	check_program(ALLOCATING_BINARY, NULL, "--unwind auto");
}

static void glibc_with_other_options(void)
{
	check_program(ALLOCATING_BINARY, NULL, "--unwind fp");
	/* With --mappings free() would have a return probe. */
	check_program(ALLOCATING_BINARY, NULL,
		      "--unwind rules --mappings --no-return-probes");
	check_program(ALLOCATING_BINARY, NULL, "--unwind rules --sample-every 10");
}

static void jemalloc(void)
{
	check_library("libjemalloc.so.2");
}

static void tcmalloc(void)
{
	check_library("libtcmalloc_minimal.so.4");
}

static void mimalloc(void)
{
	check_library("libmimalloc.so.2");
}

static void musl(void)
{
#ifdef ALLOCATING_MUSL_BINARY
	check_program(ALLOCATING_MUSL_BINARY, NULL, "--unwind auto");
#else
	CHECK_SKIP_PART("musl-gcc is not installed");
#endif
}

/* --- the search itself ------------------------------------------------------------- */

/* The file offset of the code at `address`. */
static uint64_t file_offset(pid_t pid, uint64_t address)
{
	uint64_t start, end, offset;
	char path[64], line[4352];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);

	FILE *file = fopen(path, "re");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end,
			   &offset) != 3)
			continue;
		if (start <= address && address < end) {
			fclose(file);
			return address - start + offset;
		}
	}
	live_fail("no code at 0x%" PRIx64, address);
}

/* Attaches a return probe to the function of the target's program at `address`. */
static int probe_return(pid_t pid, const char *program, uint64_t address)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = 1, /* bit of format/retprobe */
		.uprobe_path = (uintptr_t)program,
		.probe_offset = file_offset(pid, address),
	};

	REQUIRE(file && fscanf(file, "%u", &attr.type) == 1);
	fclose(file);
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* --event uretprobe: asks for a return probe. */
static void a_link_of_a_return_probe_is_found(void)
{
	uint64_t function;
	struct live_process *target = start(ALLOCATING_BINARY, NULL, &function);
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(target), "--event uretprobe:libc.so.6:malloc");

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S));
	CHECK_INT(trampoline_links(live_pid(memtrace)), 1);
	live_destroy(memtrace);
	live_destroy(target);
}

/* The search must find the trampoline at each stop, in each thread, and each return is
 * counted. */
static void a_return_probe_is_found(void)
{
	uint64_t function;
	struct live_process *target = start(ALLOCATING_BINARY, NULL, &function);
	pid_t pid = live_pid(target);
	int returns = trampoline_open(pid);
	int probe = probe_return(pid, ALLOCATING_BINARY, function);

	REQUIRE(probe >= 0);
	CHECK_INT(trampoline_found(pid), 0);
	oracle_do(target, "start");
	/* Wait until both threads are inside the function. */
	for (double until_s = live_now_s() + TIMEOUT_S;
	     trampoline_found(pid) != THREADS && live_now_s() < until_s;)
		live_sleep(0.01);
	CHECK_INT(trampoline_found(pid), THREADS);
	CHECK_INT(count_stops(target), STOPS);
	oracle_do(target, "stop");
	if (returns >= 0) {
		CHECK_INT(trampoline_returns(returns), THREADS);
		close(returns);
	}
	close(probe);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN_WITH_RETURN_PROBES(a_return_probe_is_found);
	RUN(a_link_of_a_return_probe_is_found);
	RUN(glibc);
	RUN(glibc_with_other_options);
	RUN(jemalloc);
	RUN(tcmalloc);
	RUN(mimalloc);
	RUN(musl);
	return check_done();
}
