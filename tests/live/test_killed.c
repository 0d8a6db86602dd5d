// SPDX-License-Identifier: Apache-2.0
/*
 * If the process that set breakpoints is killed, the kernel removes them, even if it is
 * killed while the kernel sets or removes them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "attach/attach_events.h"
#include "bpf/features.h"
#include "bpf/link.h"
#include "bpf/syscall.h"
#include "check.h"
#include "live/breakpoints.h"
#include "live/live.h"
#include "util/locked_memory.h"

/* A task that outlives the killed process must end within this time, s. */
#define GONE_S 10.0

/* Functions of libc that this test does not call. */
static const char *const names[] = {
	"a64l",    "adjtime",  "asctime",   "bsearch", "ctime",   "drand48", "ecvt",
	"erand48", "fcvt",     "ffsll",     "fgetpos", "fsetpos", "ftw",     "gcvt",
	"getdate", "getlogin", "getpass",   "getw",    "glob",    "hcreate", "hsearch",
	"insque",  "jrand48",  "l64a",      "lcong48", "lfind",   "lrand48", "lsearch",
	"mblen",   "mktemp",   "mrand48",   "nftw",    "nice",    "nrand48", "psignal",
	"putw",    "qsort",    "readdir_r", "remque",  "seed48",  "srand48", "swab",
	"tdelete", "tfind",    "tsearch",   "twalk",   "ulimit",  "wordexp", "xdrrec_eof",
};

#define NAMES (sizeof(names) / sizeof(*names))

static uint64_t offsets[NAMES];
static size_t offset_count;
static char libc_path[256];

/* In libc's text segment the addresses are equal to the file offsets. */
static void find_functions(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		const void *function = dlsym(RTLD_DEFAULT, names[i]);
		Dl_info info;

		if (!function || !dladdr(function, &info) ||
		    !strstr(info.dli_fname, "libc.so"))
			continue;
		snprintf(libc_path, sizeof(libc_path), "%s", info.dli_fname);
		offsets[offset_count++] =
			(uint64_t)((const char *)function - (const char *)info.dli_fbase);
	}
	REQUIRE(offset_count > 20);
}

static void attach_links(pid_t target)
{
	int program = kernel_load_empty(BPF_PROG_TYPE_KPROBE, ATTACH_TYPE_UPROBE_MULTI);

	for (;;) {
		int link = link_uprobe_multi(program, ATTACH_TYPE_UPROBE_MULTI, libc_path,
					     offsets, NULL, NULL, offset_count, false,
					     (int)target);

		if (link < 0)
			_exit(1);
		link_close_all(&link, 1);
	}
}

#define EVENTS 4

static void attach_events(pid_t target)
{
	struct uprobe_pmu pmu;

	if (uprobe_pmu_find(&pmu))
		_exit(1);
	for (;;) {
		struct attached events[EVENTS];

		for (size_t i = 0; i < EVENTS; i++) {
			const struct attach_probe probe = {.path = libc_path,
							   .offset = offsets[i]};

			events[i].fd =
				uprobe_event_open(&pmu, (int)target, false, &probe);
			if (events[i].fd < 0)
				_exit(1);
		}
		uprobe_events_close(events, EVENTS);
	}
}

/* Starts a process that attaches and detaches, and kills it after `after_s`. True if it
 * had not ended yet. */
static bool kill_after(void (*attach)(pid_t), double after_s)
{
	pid_t self = getpid(), child = fork();
	int status;

	if (child == 0)
		attach(self);
	live_sleep(after_s);
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status);
}

static void check_gone(void)
{
	double until_s = live_now_s() + GONE_S;
	size_t count;

	while ((count = breakpoints_count(getpid())) && live_now_s() < until_s)
		live_sleep(0.005);
	CHECK_INT(count, 0);
}

static void kill_often(void (*attach)(pid_t), int times, double step_s)
{
	for (int i = 1; i <= times; i++) {
		CHECK(kill_after(attach, i * step_s));
		check_gone();
	}
}

static void with_links(void)
{
	int program = kernel_load_empty(BPF_PROG_TYPE_KPROBE, ATTACH_TYPE_UPROBE_MULTI);

	if (program < 0) {
		CHECK_NOT_FOR_KERNEL("no uprobe_multi links");
		return;
	}
	close(program);
	kill_often(attach_links, 100, 0.0013);
}

static void with_perf_events(void)
{
	kill_often(attach_events, 8, 0.037);
}

int main(void)
{
	live_require_root();
	locked_memory_lift(NULL);
	find_functions();
	RUN(with_links);
	RUN(with_perf_events);
	return check_done();
}
