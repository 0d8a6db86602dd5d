// SPDX-License-Identifier: Apache-2.0
/* What a signal is the cause of. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

#include "cli/wait.h"

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
		/* To be passed on to a command. */
		CHECK_INT(waiter.stop_signal, is_end ? cases[i].signal : 0);
		waiter_deinit(&waiter);
	}
}

/* A write that cannot be is to be an error with a name. */
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

int main(void)
{
	RUN(signals_have_their_causes);
	RUN(writes_do_not_kill);
	return check_done();
}
