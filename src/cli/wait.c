// SPDX-License-Identifier: Apache-2.0
#include "cli/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BURST_US 1000

static const int signals[] = {SIGUSR1, SIGINT, SIGTERM, SIGHUP};

/* Those that are to be noticed. One that we were started to ignore, as by nohup, stays
 * ignored: blocked, it would be delivered to the descriptor all the same. */
static sigset_t waited_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction action;

		if (sigaction(signals[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	}
	return set;
}

/* The next signal's cause; false when there is none. */
static bool take_signal(struct waiter *waiter, enum report_cause *ret)
{
	struct signalfd_siginfo info;

	if (read(waiter->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	*ret = info.ssi_signo == SIGUSR1  ? REPORT_DEMAND
	       : info.ssi_signo == SIGHUP ? REPORT_HANGUP
					  : REPORT_STOPPED;
	waiter->is_stopped |= *ret != REPORT_DEMAND;
	if (*ret != REPORT_DEMAND && info.ssi_code != SI_KERNEL)
		waiter->stop_signal = (int)info.ssi_signo;
	return true;
}

static void pass(int signal)
{
	(void)signal;
}

/* Forget what has arrived; what arrives from now on is dealt with by `action`. One more
 * request for a report is no reason to die. */
static void unblock(struct waiter *waiter, const struct sigaction *action)
{
	sigset_t set = waited_signals();
	enum report_cause cause;

	sigdelset(&set, SIGUSR1);
	while (take_signal(waiter, &cause))
		;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigismember(&set, signals[i]) == 1)
			sigaction(signals[i], action, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void waiter_unblock(struct waiter *waiter)
{
	unblock(waiter, &(const struct sigaction){.sa_handler = SIG_DFL});
}

void waiter_last_report(struct waiter *waiter)
{
	unblock(waiter, &(const struct sigaction){
				.sa_handler = pass,
				.sa_flags = (int)SA_RESETHAND | SA_RESTART,
			});
	if (waiter->is_stopped)
		waiter_unblock(waiter);
}

struct error *waiter_init(struct waiter *waiter)
{
	sigset_t set = waited_signals();

	*waiter = WAITER_NONE;
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A closed pipe is an error of the write, with our clean-up after it. */
	signal(SIGPIPE, SIG_IGN);
	/* So is a file beyond RLIMIT_FSIZE. */
	signal(SIGXFSZ, SIG_IGN);
	waiter->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (waiter->signal_fd < 0)
		return error_errno(ERROR_IO, errno, "cannot make a signal descriptor");
	return NULL;
}

static struct error *timer(uint64_t first_ns, uint64_t every_ns, int *ret)
{
	struct itimerspec spec = {
		.it_value = {(time_t)(first_ns / 1000000000),
			     (long)(first_ns % 1000000000)},
		.it_interval = {(time_t)(every_ns / 1000000000),
				(long)(every_ns % 1000000000)},
	};

	*ret = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*ret < 0 || timerfd_settime(*ret, 0, &spec, NULL))
		return error_errno(ERROR_IO, errno, "cannot make a timer");
	return NULL;
}

struct error *waiter_start(struct waiter *waiter, int wake_fd, uint64_t interval_ns,
			   uint64_t duration_ns)
{
	struct error *err = timer(interval_ns, interval_ns, &waiter->interval_fd);

	waiter->wake_fd = wake_fd;
	if (!err && duration_ns)
		err = timer(duration_ns, 0, &waiter->duration_fd);
	return err;
}

void waiter_deinit(struct waiter *waiter)
{
	int *const fds[] = {&waiter->signal_fd, &waiter->interval_fd,
			    &waiter->duration_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

bool waiter_next(struct waiter *waiter, int timeout_ms, enum report_cause *ret)
{
	/* A negative descriptor is skipped by poll(2). In order of precedence. */
	struct pollfd fds[] = {
		{.fd = waiter->signal_fd, .events = POLLIN},
		{.fd = waiter->duration_fd, .events = POLLIN},
		{.fd = waiter->interval_fd, .events = POLLIN},
		{.fd = waiter->wake_fd, .events = POLLIN},
	};
	uint64_t expirations;

	if (poll(fds, sizeof(fds) / sizeof(*fds), timeout_ms) <= 0)
		return false;
	if (fds[0].revents)
		return take_signal(waiter, ret);
	if (fds[1].revents) {
		*ret = REPORT_DURATION;
		return true;
	}
	if (!fds[2].revents) {
		/* Events come in bursts. */
		usleep(BURST_US);
		return false;
	}
	*ret = REPORT_INTERVAL;
	return read(waiter->interval_fd, &expirations, sizeof(expirations)) ==
	       sizeof(expirations);
}
