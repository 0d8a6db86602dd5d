// SPDX-License-Identifier: Apache-2.0
/* The end of a wait by signals. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/wait.h"

#define HOUR_NS    (UINT64_C(3600) * 1000000000)
#define TIMEOUT_MS 30000

static void signals_have_their_causes(void)
{
	static const struct {
		int signal;
		enum report_cause cause;
		const char *name;
	} cases[] = {
		{SIGUSR1, REPORT_DEMAND, "demand"},
		{SIGINT, REPORT_STOPPED, "stopped"},
		{SIGTERM, REPORT_STOPPED, "stopped"},
		{SIGHUP, REPORT_HANGUP, "hangup"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool is_end = cases[i].cause != REPORT_DEMAND;
		enum report_cause cause = REPORT_INTERVAL;
		struct waiter waiter;

		signal(cases[i].signal, SIG_DFL);
		REQUIRE(!waiter_init(&waiter));
		REQUIRE(!waiter_start(&waiter, -1, HOUR_NS, 0));
		CHECK(!waiter_next(&waiter, 0, &cause));
		REQUIRE(!kill(getpid(), cases[i].signal));
		CHECK(waiter_next(&waiter, TIMEOUT_MS, &cause));
		CHECK_INT(cause, cases[i].cause);
		CHECK_STR(report_cause_name(cause), cases[i].name);
		CHECK_INT(report_cause_is_final(cause), is_end);
		/* The signal is passed on to a command. */
		CHECK_INT(waiter.stop_signal, is_end ? cases[i].signal : 0);
		waiter_deinit(&waiter);
	}
}

/* A write that fails must be an error, not a signal. */
static void writes_do_not_kill(void)
{
	struct waiter waiter;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	REQUIRE(!waiter_init(&waiter));
	CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGXFSZ, SIG_DFL) == SIG_IGN);
	waiter_deinit(&waiter);
}

/* --- a process that hangs --------------------------------------------------------- */

struct hanging {
	pid_t pid;
	int out; /* a byte arrives when the process starts to hang */
};

/* Never answers a signal. `unblocks`: the process is at its end and waits for a
 * command. */
_Noreturn static void hang(int out, bool unblocks)
{
	struct waiter waiter;

	for (int i = 0; i < 3; i++)
		signal((const int[]){SIGINT, SIGTERM, SIGHUP}[i], SIG_DFL);
	if (waiter_init(&waiter))
		_exit(99);
	if (unblocks)
		waiter_unblock(&waiter);
	if (write(out, "", 1) != 1)
		_exit(99);
	for (;;)
		pause();
}

static struct hanging start_hanging(bool unblocks)
{
	struct hanging h;
	int fds[2];
	char c;

	REQUIRE(!pipe(fds));
	h.pid = fork();
	REQUIRE(h.pid >= 0);
	if (!h.pid)
		hang(fds[1], unblocks);
	close(fds[1]);
	h.out = fds[0];
	REQUIRE(read(h.out, &c, 1) == 1);
	return h;
}

/* Does it end within this time? Then its pipe is closed. */
static bool ends(const struct hanging *h, int timeout_ms)
{
	struct pollfd out = {.fd = h->out, .events = POLLIN};

	return poll(&out, 1, timeout_ms) > 0;
}

static void check_end(struct hanging *h, int number)
{
	int status;

	CHECK(ends(h, TIMEOUT_MS));
	kill(h->pid, SIGKILL);
	REQUIRE(waitpid(h->pid, &status, 0) == h->pid);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), number);
	close(h->out);
}

static void a_second_signal_ends_what_hangs(void)
{
	static const int pairs[][2] = {{SIGINT, SIGINT},
				       {SIGTERM, SIGTERM},
				       {SIGINT, SIGTERM},
				       {SIGHUP, SIGINT}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct hanging h = start_hanging(false);

		kill(h.pid, pairs[i][0]);
		CHECK(!ends(&h, 500));
		kill(h.pid, pairs[i][1]);
		check_end(&h, pairs[i][1]);
	}
}

/* Two signals in quick succession: the report is still made. */
static void two_signals_in_a_row(void)
{
	struct hanging h = start_hanging(false);

	kill(h.pid, SIGTERM);
	usleep(20000);
	kill(h.pid, SIGINT);
	CHECK(!ends(&h, 100));
	check_end(&h, SIGINT);
}

/* A third signal changes neither the signal that ends the process nor the time. */
static void a_third_signal_changes_nothing(void)
{
	struct hanging h = start_hanging(false);

	kill(h.pid, SIGTERM);
	usleep(20000);
	kill(h.pid, SIGINT);
	usleep(20000);
	kill(h.pid, SIGTERM);
	CHECK(!ends(&h, 100));
	check_end(&h, SIGINT);
}

/* Both the terminal and the shell send SIGHUP. */
static void a_second_hangup_does_nothing(void)
{
	struct hanging h = start_hanging(false);

	kill(h.pid, SIGHUP);
	usleep(20000);
	kill(h.pid, SIGHUP);
	CHECK(!ends(&h, 700));
	kill(h.pid, SIGTERM);
	check_end(&h, SIGTERM);
}

static void the_first_ends_what_has_nothing_left_to_do(void)
{
	static const int each[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct hanging h = start_hanging(true);

		kill(h.pid, each[i]);
		check_end(&h, each[i]);
	}
}

int main(void)
{
	RUN(signals_have_their_causes);
	RUN(writes_do_not_kill);
	RUN(a_second_signal_ends_what_hangs);
	RUN(two_signals_in_a_row);
	RUN(a_third_signal_changes_nothing);
	RUN(a_second_hangup_does_nothing);
	RUN(the_first_ends_what_has_nothing_left_to_do);
	return check_done();
}
