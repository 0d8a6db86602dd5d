// SPDX-License-Identifier: Apache-2.0
#include "progress/last_report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/detach_all.h"
#include "confined/confined.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/strbuf.h"

/* Time of a child that looks for names, and of one that does not. */
#define NAMED_NS UINT64_C(6000000000)
#define BARE_NS  UINT64_C(10000000000)

/* A process that reads symbols may wait for this long in the child. */
#define SYMBOLS_NS UINT64_C(1000000000)

#define AGAIN_MAX  5

/* After a kill. A child that waits for a server cannot be killed, so do not wait
 * forever. */
#define END_TRIES   20
#define END_WAIT_US 5000

struct error *last_report_init(struct last_report *last)
{
	*last = (struct last_report){.pidfd = -1};
	last->is_begun = mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (last->is_begun != MAP_FAILED)
		return NULL;
	last->is_begun = NULL;
	return error_no_memory();
}

/* The child's exit status, or -1. */
static int end_child(struct last_report *last)
{
	int status = 0;
	pid_t ended = 0;

	kill(last->pid, SIGKILL);
	for (int i = 0; i < END_TRIES && !ended; i++) {
		ended = waitpid(last->pid, &status, WNOHANG);
		if (!ended)
			usleep(END_WAIT_US);
	}
	last->pid = 0;
	closep(&last->pidfd);
	return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void last_report_kill(struct last_report *last)
{
	if (last->pid)
		(void)end_child(last);
}

void last_report_deinit(struct last_report *last)
{
	last_report_kill(last);
	if (last->is_begun)
		munmap(last->is_begun, sizeof(bool));
	last->is_begun = NULL;
}

void last_report_permit(struct last_report *last, last_report_fn make, void *arg)
{
	last->arg = arg;
	__atomic_store_n(&last->make, make, __ATOMIC_SEQ_CST);
}

bool last_report_is_begun(const struct last_report *last)
{
	return __atomic_load_n(last->is_begun, __ATOMIC_SEQ_CST);
}

void last_report_begin(struct last_report *last)
{
	__atomic_store_n(last->is_begun, true, __ATOMIC_SEQ_CST);
}

_Noreturn static void run_child(struct last_report *last, pid_t parent,
				uint64_t *first_ns)
{
	uint64_t now_ns = clock_now_ns();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(LAST_REPORT_FAILED);
	/* Otherwise the probes would stay until this process ends, too. */
	detach_close_copies();
	last->pid = 0;
	/* Readers of symbols end when the signal is this old. */
	*first_ns = now_ns - (CONFINED_LATE_NS - SYMBOLS_NS);
	_exit(last->make(last->arg, &last->options));
}

static bool start(struct last_report *last, uint64_t *first_ns)
{
	pid_t parent = getpid();

	last->tries++;
	last->until_ns = clock_now_ns() + (last->options.is_named ? NAMED_NS : BARE_NS);
	last->pid = fork();
	if (!last->pid)
		run_child(last, parent, first_ns);
	if (last->pid < 0) {
		last->pid = 0;
		return false;
	}
	/* -1: the child is seen to end a little later. */
	last->pidfd = (int)syscall(SYS_pidfd_open, last->pid, 0);
	return true;
}

bool last_report_start(struct last_report *last, const struct stuck *stuck, int signal,
		       uint64_t *first_ns)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (!__atomic_load_n(&last->make, __ATOMIC_SEQ_CST) || last_report_is_begun(last))
		return false;
	stuck_describe(stuck, &text);
	snprintf(last->reading, sizeof(last->reading), "%s", strbuf_text(&text));
	last->options = (struct last_report_options){signal, last->reading, true};
	return start(last, first_ns);
}

bool last_report_goes_on(struct last_report *last, uint64_t *first_ns)
{
	siginfo_t info = {.si_pid = 0};
	int status;

	if (!waitid(P_PID, (id_t)last->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	    !info.si_pid && clock_now_ns() < last->until_ns)
		return true;
	status = end_child(last);
	if (status == LAST_REPORT_DONE || last_report_is_begun(last))
		return false;
	if (status == LAST_REPORT_AGAIN && last->tries < AGAIN_MAX)
		return start(last, first_ns);
	if (!last->options.is_named)
		return false;
	last->options.is_named = false;
	return start(last, first_ns);
}
