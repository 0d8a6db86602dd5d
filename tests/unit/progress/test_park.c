// SPDX-License-Identifier: Apache-2.0
/* A thread parks the main thread, which waits for a page, and makes the last report in a
 * child. Then the page comes. */
#include "check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/last_report.h"
#include "progress/park.h"
#include "util/clock.h"

#define LOOK_US   10000
#define LOOKS     300
#define SETTLE_US 200000

/* Shared with the children. */
struct shared {
	unsigned named, bare; /* children that ran */
	bool named_fails, has_returned;
};

struct run {
	struct shared *shared;
	struct last_report last;
	int faults; /* userfaultfd(2) */
	char *page;
	bool is_parked, is_started;
};

static enum last_report_result make(void *arg, const struct last_report_options *options)
{
	struct shared *shared = arg;

	if (!options->is_named) {
		shared->bare++;
		return LAST_REPORT_DONE;
	}
	shared->named++;
	return shared->named_fails ? LAST_REPORT_FAILED : LAST_REPORT_DONE;
}

static void let_page_come(const struct run *run)
{
	struct uffdio_zeropage zero = {
		.range = {(uintptr_t)run->page, (uint64_t)sysconf(_SC_PAGESIZE)}};

	CHECK(!ioctl(run->faults, UFFDIO_ZEROPAGE, &zero));
}

static void *report(void *arg)
{
	struct run *run = arg;
	struct stuck stuck = {.looked_ns = 0};
	uint64_t first_ns = clock_now_ns();

	for (int i = 0; i < LOOKS && stuck_look(&stuck) < LOOK_US * UINT64_C(2000); i++)
		usleep(LOOK_US);
	run->is_parked = park_main(&stuck);
	/* It must not return, and the report is made meanwhile. */
	let_page_come(run);
	run->is_started = last_report_start(&run->last, &stuck, SIGINT, &first_ns);
	while (run->is_started && last_report_goes_on(&run->last, &first_ns))
		usleep(LOOK_US);
	usleep(SETTLE_US);
	_exit(run->is_parked && run->is_started ? 0 : 1);
}

static bool make_missing_page(struct run *run)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	run->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	run->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	range.range = (struct uffdio_range){(uintptr_t)run->page, size};
	return run->faults >= 0 && !ioctl(run->faults, UFFDIO_API, &api) &&
	       !ioctl(run->faults, UFFDIO_REGISTER, &range);
}

/* In a process of its own, which ends with a parked main thread. */
_Noreturn static void run(struct shared *shared, bool has_report)
{
	struct run run = {.shared = shared};
	pthread_t thread;

	if (!make_missing_page(&run))
		_exit(77);
	error_destroy(last_report_init(&run.last));
	if (has_report)
		last_report_permit(&run.last, make, shared);
	park_init();
	if (pthread_create(&thread, NULL, report, &run))
		_exit(2);
	(void)*(volatile char *)run.page;
	shared->has_returned = true;
	usleep(2 * SETTLE_US);
	pthread_join(thread, NULL);
	_exit(3);
}

static int run_apart(struct shared *shared, bool has_report)
{
	pid_t child = fork();
	int status = 0;

	REQUIRE(child >= 0);
	if (!child)
		run(shared, has_report);
	CHECK_INT(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct shared *shared;

static void begin(void)
{
	*shared = (struct shared){.named = 0};
}

static void a_child_makes_the_report(void)
{
	int status;

	begin();
	status = run_apart(shared, true);
	if (status == 77) {
		CHECK_NOT_FOR_KERNEL("no userfaultfd(2)");
		return;
	}
	CHECK_INT(status, 0);
	CHECK_INT(shared->named, 1);
	CHECK_INT(shared->bare, 0);
	CHECK(!shared->has_returned);
}

static void a_second_child_looks_for_no_names(void)
{
	begin();
	shared->named_fails = true;
	if (run_apart(shared, true) == 77)
		return;
	CHECK_INT(shared->named, 1);
	CHECK_INT(shared->bare, 1);
}

static void without_a_report_there_is_no_child(void)
{
	begin();
	if (run_apart(shared, false) == 77)
		return;
	CHECK_INT(shared->named + shared->bare, 0);
}

/* A main thread that is not in the call that was seen continues. */
static void a_thread_that_runs_is_not_parked(void)
{
	struct stuck stuck = {.call = "0 0x3 0x0 0x0 0x0 0x0 0x0 0x10 0x20\n"};

	park_init();
	CHECK(!park_main(&stuck));
}

int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(shared != MAP_FAILED);
	RUN(a_child_makes_the_report);
	RUN(a_second_child_looks_for_no_names);
	RUN(without_a_report_there_is_no_child);
	RUN(a_thread_that_runs_is_not_parked);
	return check_done();
}
