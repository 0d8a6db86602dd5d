// SPDX-License-Identifier: Apache-2.0
#include "progress/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "progress/stop_watch.h"
#include "util/clock.h"

#define BURST_US 1000

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

/* Keep a signal ignored if it was ignored at the start, as by nohup. If blocked, it would
 * be delivered to the signalfd all the same. */
static void add_unless_ignored(sigset_t *set, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		add_unless_ignored(&set, stops[i]);
	return set;
}

static bool take_demand(struct waiter *waiter, enum report_cause *ret)
{
	struct signalfd_siginfo info;

	*ret = REPORT_DEMAND;
	return read(waiter->signal_fd, &info, sizeof(info)) == sizeof(info);
}

static bool take_stop(struct waiter *waiter, enum report_cause *ret)
{
	struct signalfd_siginfo info;

	if (read(stop_watch_fd(waiter->stops), &info, sizeof(info)) != sizeof(info))
		return false;
	*ret = info.ssi_signo == SIGHUP ? REPORT_HANGUP : REPORT_STOPPED;
	if (info.ssi_code != SI_KERNEL)
		waiter->stop_signal = (int)info.ssi_signo;
	return true;
}

void waiter_pass_to(struct waiter *waiter, pid_t child)
{
	stop_watch_pass_to(waiter->stops, child);
}

uint64_t waiter_stopping_ns(const struct waiter *waiter)
{
	uint64_t first_ns = waiter->stops ? stop_watch_first_ns(waiter->stops) : 0;

	return first_ns ? clock_now_ns() - first_ns + 1 : 0;
}

void waiter_permit_last(struct waiter *waiter, last_report_fn make, void *arg)
{
	last_report_permit(stop_watch_last(waiter->stops), make, arg);
}

void waiter_begin_last(struct waiter *waiter)
{
	last_report_begin(stop_watch_last(waiter->stops));
}

/* Let the signals end the process again. Returns a second one that was about to end it,
 * or 0. */
static int unblock(struct waiter *waiter)
{
	sigset_t set = stop_signals();
	int second = stop_watch_destroy(waiter->stops);

	waiter->stops = NULL;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return second;
}

void waiter_unblock(struct waiter *waiter)
{
	int second = unblock(waiter);

	if (second)
		raise(second);
}

struct error *waiter_init(struct waiter *waiter)
{
	sigset_t set = stop_signals(), demand;

	*waiter = WAITER_NONE;
	sigemptyset(&demand);
	add_unless_ignored(&demand, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &demand, NULL);
	/* A write to a closed pipe fails with an error, so that memtrace can clean up. */
	signal(SIGPIPE, SIG_IGN);
	/* The same for a write beyond RLIMIT_FSIZE. */
	signal(SIGXFSZ, SIG_IGN);
	waiter->signal_fd = signalfd(-1, &demand, SFD_CLOEXEC | SFD_NONBLOCK);
	if (waiter->signal_fd < 0)
		return error_errno(ERROR_IO, errno, "cannot wait for signals (signalfd)");
	return stop_watch_create(&set, &waiter->stops);
}

static struct itimerspec times(uint64_t first_ns, uint64_t every_ns)
{
	return (struct itimerspec){
		.it_value = {(time_t)(first_ns / 1000000000),
			     (long)(first_ns % 1000000000)},
		.it_interval = {(time_t)(every_ns / 1000000000),
				(long)(every_ns % 1000000000)},
	};
}

static struct error *timer(uint64_t first_ns, uint64_t every_ns, int *ret)
{
	const struct itimerspec spec = times(first_ns, every_ns);

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

void waiter_set_interval(struct waiter *waiter, uint64_t interval_ns)
{
	const struct itimerspec spec = times(interval_ns, interval_ns);

	(void)timerfd_settime(waiter->interval_fd, 0, &spec, NULL);
}

void waiter_deinit(struct waiter *waiter)
{
	int *const fds[] = {&waiter->signal_fd, &waiter->interval_fd,
			    &waiter->duration_fd};

	if (waiter->stops)
		(void)unblock(waiter);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

bool waiter_next(struct waiter *waiter, int timeout_ms, enum report_cause *ret)
{
	/* In order of precedence. poll(2) skips negative descriptors. */
	struct pollfd fds[] = {
		{.fd = waiter->signal_fd, .events = POLLIN},
		{.fd = stop_watch_fd(waiter->stops), .events = POLLIN},
		{.fd = waiter->duration_fd, .events = POLLIN},
		{.fd = waiter->interval_fd, .events = POLLIN},
		{.fd = waiter->wake_fd, .events = POLLIN},
		{.fd = waiter->ask_fd, .events = POLLIN},
		{.fd = waiter->screen_fd, .events = POLLIN},
	};
	uint64_t expirations;
	int count;

	stop_watch_set_idle(waiter->stops, true);
	count = poll(fds, sizeof(fds) / sizeof(*fds), timeout_ms);
	stop_watch_set_idle(waiter->stops, false);
	if (count <= 0)
		return false;
	if (fds[0].revents)
		return take_demand(waiter, ret);
	if (fds[1].revents)
		return take_stop(waiter, ret);
	if (fds[2].revents) {
		*ret = REPORT_DURATION;
		return true;
	}
	if (!fds[3].revents) {
		/* Events come in bursts: collect them. */
		if (fds[4].revents)
			usleep(BURST_US);
		return false;
	}
	*ret = REPORT_INTERVAL;
	return read(waiter->interval_fd, &expirations, sizeof(expirations)) ==
	       sizeof(expirations);
}
