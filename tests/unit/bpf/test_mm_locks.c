// SPDX-License-Identifier: Apache-2.0
/* Who holds the lock of its address space (a process that does: live.held_locks). */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "bpf/mm_locks.h"
#include "util/clock.h"

#define PATIENCE_NS UINT64_C(5000000000)

/* Neither stopped processes nor zombies hold it. */
static void others_do_not_hold_it(void)
{
	pid_t stopped = fork(), zombie = stopped ? fork() : 0;
	uint64_t begin_ns = clock_now_ns();

	if (!stopped || !zombie) {
		if (!stopped)
			pause();
		_exit(0);
	}
	REQUIRE(!kill(stopped, SIGSTOP));
	REQUIRE(waitpid(stopped, NULL, WUNTRACED) == stopped);
	CHECK_INT(mm_locks_find_held(PATIENCE_NS), 0);
	printf("%.3f ms\n", (double)(clock_now_ns() - begin_ns) / 1e6);
	CHECK(!mm_locks_check(PATIENCE_NS));
	mm_locks_wait();
	kill(stopped, SIGKILL);
	CHECK_INT(waitpid(stopped, NULL, 0), stopped);
	CHECK_INT(waitpid(zombie, NULL, 0), zombie);
}

static void nothing_is_left(void)
{
	unsigned before = count_descriptors(getpid());

	/* After FRESH_NS it looks again. */
	usleep(100000);
	CHECK_INT(mm_locks_find_held(PATIENCE_NS), 0);
	CHECK_INT(count_descriptors(getpid()), before);
	/* Its task has been reaped. */
	errno = 0;
	CHECK_INT(waitpid(-1, NULL, __WALL), -1);
	CHECK_INT(errno, ECHILD);
}

static void a_holder_is_named_safely(void)
{
	char *text = mm_locks_holder(getpid());
	char expected[80];

	snprintf(expected, sizeof(expected), "process %d (test_unit_bpf_m)", getpid());
	CHECK_STR(text, expected);
	free(text);
	text = mm_locks_holder(0);
	CHECK_STR(text, "process 0 ()");
	free(text);
}

int main(void)
{
	RUN(others_do_not_hold_it);
	RUN(nothing_is_left);
	RUN(a_holder_is_named_safely);
	return check_done();
}
