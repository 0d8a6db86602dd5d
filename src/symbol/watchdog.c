// SPDX-License-Identifier: Apache-2.0
#include "symbol/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first look at a library of half a gigabyte takes two seconds. Then often, as there
 * may be one such file after the other. */
#define PATIENCE_S    3
#define IMPATIENCE_NS 200000000
#define INTERVAL_NS   20000000

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* That it runs is all: the system call ends. */
static void interrupt(int signal)
{
	(void)signal;
}

void watchdog_init(struct watchdog *watchdog)
{
	struct sigaction action = {.sa_handler = interrupt}; /* without SA_RESTART */
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN + 3,
		.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid),
	};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	watchdog->exists = !sigaction(SIGRTMIN + 3, &action, NULL) &&
			   !pthread_sigmask(SIG_UNBLOCK, &set, NULL) &&
			   !timer_create(CLOCK_MONOTONIC, &event, &watchdog->timer);
}

void watchdog_deinit(struct watchdog *watchdog)
{
	if (watchdog->exists)
		timer_delete(watchdog->timer);
	watchdog->exists = false;
}

void watchdog_begin(struct watchdog *watchdog)
{
	struct itimerspec times = {
		.it_value = {.tv_sec = PATIENCE_S},
		.it_interval = {.tv_nsec = INTERVAL_NS},
	};

	/* The same file may be met again and again. */
	if (watchdog->has_barked)
		times.it_value = (struct timespec){.tv_nsec = IMPATIENCE_NS};

	if (watchdog->exists)
		timer_settime(watchdog->timer, 0, &times, NULL);
}

void watchdog_end(struct watchdog *watchdog)
{
	const struct itimerspec never = {.it_value = {.tv_sec = 0}};
	struct itimerspec left;

	if (!watchdog->exists || timer_settime(watchdog->timer, 0, &never, &left))
		return;
	/* In its intervals: the first time has passed. */
	if (!left.it_value.tv_sec && left.it_value.tv_nsec <= INTERVAL_NS)
		watchdog->has_barked = true;
}
