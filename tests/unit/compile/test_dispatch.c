// SPDX-License-Identifier: Apache-2.0
/* Processes that use syscall user dispatch are found, whichever thread uses it. Others
 * are not. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/dispatch.h"

/* prctl(2). Some libcs lack these names. */
#define SET_SYSCALL_USER_DISPATCH 59
#define DISPATCH_OFF              0
#define DISPATCH_ON               1

static char selector;

static bool dispatch(int mode)
{
	return !prctl(SET_SYSCALL_USER_DISPATCH, mode, 0, 0, mode ? &selector : NULL);
}

/* A thread that reads orders from `orders`: '1' and '0' turn syscall user dispatch on and
 * off. */
struct follower {
	int orders, answers;
};

static void *follow(void *arg)
{
	const struct follower *f = arg;
	char order;

	while (read(f->orders, &order, 1) == 1) {
		char answer = dispatch(order == '1' ? DISPATCH_ON : DISPATCH_OFF);

		if (write(f->answers, &answer, 1) != 1)
			break;
	}
	return NULL;
}

struct child {
	pid_t pid;
	int orders[2], answers[2];
};

/* `in_thread`: the second thread follows the orders, otherwise the main thread. */
static struct child child_start(bool in_thread)
{
	struct child child;

	REQUIRE(!pipe(child.orders) && !pipe(child.answers));
	child.pid = fork();
	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		struct follower follower = {child.orders[0], child.answers[1]};
		pthread_t thread;

		close(child.orders[1]);
		if (in_thread && !pthread_create(&thread, NULL, follow, &follower))
			pthread_join(thread, NULL);
		else
			follow(&follower);
		_exit(0);
	}
	return child;
}

static void child_tell(const struct child *child, char order)
{
	char answer = 0;

	REQUIRE(write(child->orders[1], &order, 1) == 1);
	REQUIRE(read(child->answers[0], &answer, 1) == 1);
	if (!answer)
		check_skip("this kernel has no syscall user dispatch");
}

static void child_end(struct child *child)
{
	for (int i = 0; i < 2; i++) {
		close(child->orders[i]);
		close(child->answers[i]);
	}
	kill(child->pid, SIGKILL);
	REQUIRE(waitpid(child->pid, NULL, 0) == child->pid);
}

static void found(bool in_thread, int program)
{
	struct child child = child_start(in_thread), other = child_start(false);

	CHECK_INT(dispatch_ask(program, child.pid), DISPATCH_UNUSED);
	child_tell(&child, '1');
	CHECK_INT(dispatch_ask(program, child.pid), DISPATCH_USED);
	CHECK_INT(dispatch_ask(program, other.pid), DISPATCH_UNUSED);
	CHECK_INT(dispatch_ask(program, getpid()), DISPATCH_UNUSED);
	child_tell(&child, '0');
	CHECK_INT(dispatch_ask(program, child.pid), DISPATCH_UNUSED);
	child_tell(&child, '1');
	child_end(&child);
	CHECK_INT(dispatch_ask(program, child.pid), DISPATCH_UNUSED);
	child_end(&other);
}

static void in_any_thread(void)
{
	int program = dispatch_open();

	if (program < 0)
		check_skip("no BPF iterators, or no privileges");
	found(false, program);
	found(true, program);
	close(program);
}

static void nobody_can_be_asked(void)
{
	CHECK_INT(dispatch_ask(-1, getpid()), DISPATCH_UNKNOWN);
}

int main(void)
{
	RUN(in_any_thread);
	RUN(nobody_can_be_asked);
	return check_done();
}
