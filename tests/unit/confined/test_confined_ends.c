// SPDX-License-Identifier: Apache-2.0
/* How confined children end: with their parent, by a crash, by a bad message, late, or at
 * the end of the run. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/confined.h"
#include "unit/confined/confined_child.h"
#include "unit/confined/confined_parent.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* --- the clock ---------------------------------------------------------------------- */

/* What a wait without a message adds to passed_ns. */
static uint64_t per_wait_ns;

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ret);

	ret->tv_sec += (time_t)(passed_ns / 1000000000);
	return result;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	int n = (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &timeout,
			     NULL, 8);

	if (!n)
		passed_ns += per_wait_ns;
	return n;
}

/* --- the tests --------------------------------------------------------------------- */

/* A child that has given up root's id still ends with its parent. */
static void a_child_ends_with_its_parent(void)
{
	struct pollfd end = {.events = POLLIN};
	int fds[2], child;
	pid_t pid;

	REQUIRE(!pipe2(fds, O_CLOEXEC));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		child = confined_pid(start(CONFINED_READER));
		REQUIRE(write(fds[1], &child, sizeof(child)) == sizeof(child));
		/* It would end at the end of its socket, if it read. */
		kill(child, SIGSTOP);
		_exit(0);
	}
	REQUIRE(read(fds[0], &child, sizeof(child)) == sizeof(child));
	end.fd = (int)syscall(SYS_pidfd_open, child, 0);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	if (end.fd < 0)
		CHECK_INT(errno, ESRCH);
	else
		CHECK_INT(poll(&end, 1, 10000), 1);
	closep(&end.fd);
	close(fds[0]);
	close(fds[1]);
}

/* If the child ends during one request, later requests fail with the same reason. */
static void check_gone(enum request number, const char *how)
{
	struct confined *confined = start(CONFINED_READER);

	for (int i = 0; i < 2; i++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};
		struct error *err =
			confined_call(confined, i ? FAIL : number, NULL, -1, &out, NULL);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_GONE);
		CHECK_CONTAINS(err->message, how);
		error_destroy(err);
	}
	CHECK_INT(confined_pid(confined), 0);
	/* It was reaped. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	confined_destroy(confined);
}

static void errors_say_how_the_child_ended(void)
{
	check_gone(LEAVE, "test-confined ended with status 7");
	check_gone(CRASH, "test-confined was ended by signal 4");
	check_gone(NO_MEMORY, "test-confined was ended: it has no memory left");
	check_gone(DRIPPING, "test-confined was ended: it did not finish a message");
	/* It is not waited for. */
	check_gone(BOASTING, "test-confined was ended by signal 9");
	check_gone(FLOODING, "test-confined was ended: it did not take a reply");
	stop_before(CONFINED_LATE_NS);
	check_gone(WAITING, "test-confined was ended: the wait was given up");
	stopped_ns = 0;
}

/* The child is ended after so many seconds, by the clock that was moved. */
static void check_no_answer(enum request number, double min_s, double max_s)
{
	double s;

	check_gone(number, "test-confined was ended: it gave no answer");
	s = (double)passed_ns * 1e-9;
	CHECK(s >= min_s && s <= max_s);
	passed_ns = per_wait_ns = per_message_ns = per_question_ns = 0;
}

/* A child in a loop is ended after a minute, and one that sends messages after five. Time
 * that this process takes to answer is counted apart, up to five minutes as well. */
static void work_without_end(void)
{
	const uint64_t s_ns = 1000000000;

	per_wait_ns = 30 * s_ns;
	check_no_answer(LOOPING, 30, 90);
	per_message_ns = 20 * s_ns;
	check_no_answer(CHATTING, 280, 340);
	per_question_ns = 20 * s_ns;
	check_no_answer(ASKING, 280, 340);
}

/* Seconds until the child is ended, if the signal came `before_ns` ago. */
static double check_given_up(enum request number, uint64_t before_ns)
{
	uint64_t begin_ns = clock_now_ns();

	stop_before(before_ns);
	check_gone(number, "test-confined was ended: the wait was given up");
	stopped_ns = 0;
	return (double)(clock_now_ns() - begin_ns) * 1e-9;
}

/* At the end of a run a looping child is killed soon, and one that sends messages not
 * much later. Children that work may go on until then. */
static void work_at_the_end_of_the_run(void)
{
	const double left_s = (double)(CONFINED_END_NS - CONFINED_LATE_NS) * 1e-9;
	struct confined *confined;
	double took_s;

	CHECK(check_given_up(LOOPING, CONFINED_LATE_NS) < left_s + 2);
	took_s = check_given_up(CHATTING, CONFINED_LATE_NS);
	CHECK(took_s >= left_s && took_s < left_s + 2);
	/* In the middle of a message, and of replies. */
	CHECK(check_given_up(DRIPPING, CONFINED_END_NS - 1000000000) < 3);
	CHECK(check_given_up(FLOODING, CONFINED_END_NS - 1000000000) < 3);
	confined = start(CONFINED_READER);
	for (enum request request = WORKING; request <= TALKING; request++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};

		stop_before(CONFINED_LATE_NS);
		CHECK(!confined_call(confined, request, NULL, -1, &out, NULL));
	}
	confined_destroy(confined);
	stopped_ns = 0;
}

/* The time is one for all requests. */
static void slow_answers_at_the_end_of_the_run(void)
{
	struct confined *confined = start(CONFINED_READER);
	uint64_t begin_ns = clock_now_ns();
	struct error *err = NULL;

	stop_before(CONFINED_LATE_NS);
	for (int i = 0; i < 12 && !err; i++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};

		err = confined_call(confined, WORKING, NULL, -1, &out, NULL);
	}
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK(clock_now_ns() - begin_ns <
	      CONFINED_END_NS - CONFINED_LATE_NS + UINT64_C(2) * 1000000000);
	error_destroy(err);
	confined_destroy(confined);
	stopped_ns = 0;
}

/* A client is not waited for. */
static void client_at_the_end_of_the_run(void)
{
	struct confined *confined = start(CONFINED_CLIENT);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	uint64_t begin_ns = clock_now_ns();
	struct error *err;

	stop_before(CONFINED_LATE_NS - 1);
	err = confined_call(confined, CHATTING, NULL, -1, &out, NULL);
	REQUIRE(err);
	CHECK_CONTAINS(err->message, "the wait was given up");
	CHECK(clock_now_ns() - begin_ns < UINT64_C(2) * 1000000000);
	error_destroy(err);
	confined_destroy(confined);
	stopped_ns = 0;
}

static void killed_while_idle(void)
{
	struct confined *confined = start(CONFINED_READER);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err;

	REQUIRE(!kill(confined_pid(confined), SIGKILL));
	err = confined_call(confined, FAIL, NULL, -1, &out, NULL);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK_CONTAINS(err->message, "signal 9");
	error_destroy(err);
	confined_destroy(confined);
}

int main(void)
{
	RUN(a_child_ends_with_its_parent);
	RUN(errors_say_how_the_child_ended);
	RUN(work_without_end);
	RUN(work_at_the_end_of_the_run);
	RUN(slow_answers_at_the_end_of_the_run);
	RUN(client_at_the_end_of_the_run);
	RUN(killed_while_idle);
	return check_done();
}
