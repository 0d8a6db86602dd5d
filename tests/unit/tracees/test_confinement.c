// SPDX-License-Identifier: Apache-2.0
/* Seccomp filters and shadow stacks are found in any thread. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tracees/confinement.h"
#include "unit/process/child.h"

/* --- the text of a status ----------------------------------------------------------- */

/* The format of arch/x86/kernel/cpu/proc.c and fs/proc/array.c. */
static void seccomp_lines(void)
{
	CHECK(!confinement_parse("Name:\tcat\nSeccomp:\t0\nSeccomp_filters:\t0\n")
		       .has_seccomp);
	CHECK(confinement_parse("Name:\tcat\nSeccomp:\t1\n").has_seccomp);
	CHECK(confinement_parse("Name:\tcat\nSeccomp:\t2\nSeccomp_filters:\t3\n")
		      .has_seccomp);
	CHECK(!confinement_parse("Name:\tcat\nSeccomp_filters:\t1\n").has_seccomp);
	CHECK(!confinement_parse("").has_seccomp);
}

static bool is_shadowed(const char *status)
{
	return confinement_parse(status).has_shadow_stack;
}

static void shadow_stack_lines(void)
{
	CHECK(is_shadowed("Name:\tcat\nx86_Thread_features:\tshstk \n"
			  "x86_Thread_features_locked:\t\n"));
	CHECK(is_shadowed("Name:\tcat\nx86_Thread_features:\tshstk wrss \n"));
	CHECK(is_shadowed("Name:\tcat\nx86_Thread_features:\twrss shstk"));
	CHECK(!is_shadowed("Name:\tcat\nx86_Thread_features:\t\n"
			   "x86_Thread_features_locked:\tshstk wrss \n"));
	CHECK(!is_shadowed("Name:\tcat\nx86_Thread_features:\tshstk2\n"));
	CHECK(!is_shadowed("Name:\tcat\nSeccomp:\t2\n"));
	CHECK(!is_shadowed("Name:\tx86_Thread_features: shstk\nSeccomp:\t0\n"));
	CHECK(!is_shadowed("x86_Thread_features:"));
}

/* --- processes --------------------------------------------------------------------- */

static int ready[2];

static void confine(void)
{
	struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static void *confined_thread(void *arg)
{
	(void)arg;
	confine();
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

static void *plain_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void start_plain_threads(unsigned count)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, plain_thread, NULL))
			_exit(1);
}

/* Neither the first thread nor the last one. */
static void start_confined_thread(void *unused)
{
	pthread_t thread;
	char c;

	if (pthread_create(&thread, NULL, confined_thread, NULL) ||
	    read(ready[0], &c, 1) != 1)
		_exit(1);
	start_plain_threads(1);
	(void)unused;
}

static void start_many_threads(void *unused)
{
	(void)unused;
	start_plain_threads(4096);
}

static void confine_first(void *unused)
{
	(void)unused;
	confine();
}

static void threads(void)
{
	struct child free = child_fork(NULL, NULL);
	struct child first = child_fork(confine_first, NULL);
	struct child second = child_fork(start_confined_thread, NULL);

	CHECK(!confinement_read(free.pid).has_seccomp);
	CHECK(!confinement_read(free.pid).has_shadow_stack);
	CHECK(confinement_read(first.pid).has_seccomp);
	CHECK(!confinement_read(first.pid).has_shadow_stack);
	CHECK(confinement_read(second.pid).has_seccomp);
	CHECK(!confinement_read(second.pid).has_shadow_stack);
	child_end(&free);
	child_end(&first);
	child_end(&second);
	CHECK(!confinement_read(second.pid).has_seccomp);
	CHECK(!confinement_read(second.pid).has_shadow_stack);
}

/* What cannot be read, or takes too long to read, may be confined. */
static void unknown_threads(void)
{
	struct child many = child_fork(start_many_threads, NULL);
	struct child free = child_fork(NULL, NULL);
	struct confinement found = confinement_read(many.pid);
	struct rlimit was, few;
	int lowest = dup(0);

	CHECK(found.has_seccomp && found.has_shadow_stack);
	/* The list of threads can be opened, but no status. */
	REQUIRE(lowest >= 0 && !close(lowest) && !getrlimit(RLIMIT_NOFILE, &was));
	few = was;
	few.rlim_cur = (rlim_t)lowest + 1;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
	found = confinement_read(free.pid);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &was));
	CHECK(found.has_seccomp && found.has_shadow_stack);
	child_end(&many);
	child_end(&free);
}

int main(void)
{
	REQUIRE(pipe(ready) == 0);
	RUN(seccomp_lines);
	RUN(shadow_stack_lines);
	RUN(threads);
	RUN(unknown_threads);
	return check_done();
}
