// SPDX-License-Identifier: Apache-2.0
#include "progress/stop_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/detach_all.h"
#include "files/new_file.h"
#include "confined/shed.h"
#include "progress/park.h"
#include "progress/stuck.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/lanes.h"
#include "util/open_helper.h"

#define THREAD_NAME "memtrace-stop"

/* If a second signal follows at once, as when a key is pressed twice, the final report
 * still has this much time from the first signal, ns. */
#define REPORT_NS UINT64_C(300000000)

/* How often the threads are looked at before the first signal: while all of them wait for
 * something to do, and otherwise. How often the main thread is looked at after the first
 * signal, and for how long it may be stuck. */
#define CALM_LOOK_MS 4000
#define IDLE_LOOK_MS 2000
#define LOOK_MS      500
#define STUCK_NS     UINT64_C(5000000000)

/* Cleaning up may hang like the main thread. After this time the process is killed,
 * ns. */
#define CLEAN_UP_NS 600000000

struct stop_watch {
	int signal_fd;
	int signal_pipe[2]; /* pipe that passes the first signal to the main thread */
	int end_fd;         /* eventfd(2): stop the thread */
	int child;          /* pidfd of the child, or -1; accessed atomically */
	int pass_on;        /* last signal that was sent to memtrace alone; 0: none */
	int first;          /* first signal; 0: none */
	int second;         /* second signal; 0: none */
	struct stuck stuck; /* the main thread */
	struct stuck other; /* another thread, before the first signal */
	bool is_idle;       /* the main thread is; accessed atomically */
	bool has_said;      /* a line was printed about a call that has not ended yet */
	struct last_report last;
	uint64_t first_ns; /* CLOCK_MONOTONIC; 0: no signal yet; written atomically */
	pthread_t thread;
	bool is_running;
};

DEFINE_CLEANUP(struct stop_watch *, stop_watch_destroy);

/* --- end of the process ----------------------------------------------------------- */

static void kill_later(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	const struct itimerspec once = {.it_value = {.tv_nsec = CLEAN_UP_NS}};
	timer_t timer;

	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &once, NULL);
}

/* Die of the signal itself, so that a shell sees it. */
_Noreturn static void die_of(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), number);
	/* The init process of a pid namespace does not die of its own signals. */
	_exit(128 + number);
}

/*
 * End the process. The kernel removes the probes when the process has exited. But a
 * thread that waits for a file system cannot exit and keeps all descriptors open, so
 * remove the probes here.
 */
_Noreturn static void end_process(struct stop_watch *w, int number)
{
	int child = __atomic_load_n(&w->child, __ATOMIC_SEQ_CST);

	kill_later();
	last_report_kill(&w->last);
	if (child >= 0 && w->pass_on)
		syscall(SYS_pidfd_send_signal, child, w->pass_on, NULL, 0);
	detach_all();
	new_file_remove_temporaries();
	die_of(number);
}

/* Print what the thread waits for. */
static void say(const struct stuck *stuck, const char *after)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_append(&text, "memtrace: reading ");
	stuck_describe(stuck, &text);
	strbuf_append(&text, after);
	if (!text.failed)
		(void)!write(STDERR_FILENO, text.data, text.len);
}

/* At the main thread, unless it waits for the next thing to do. */
static uint64_t look_at_idle(struct stop_watch *w)
{
	if (!__atomic_load_n(&w->is_idle, __ATOMIC_SEQ_CST))
		return stuck_look(&w->stuck);
	w->stuck.looked_ns = w->stuck.stuck_ns = 0;
	return 0;
}

/* Called every CALM_LOOK_MS or IDLE_LOOK_MS before the first signal. */
static void look_at_run(struct stop_watch *w)
{
	const struct stuck *stuck = &w->stuck;
	uint64_t stuck_ns = look_at_idle(w);

	if (!stuck_ns) {
		stuck = &w->other;
		stuck_ns = stuck_look_at_others(&w->other);
	}
	if (!stuck_ns)
		w->has_said = false;
	if (stuck_ns < STUCK_NS || w->has_said)
		return;
	w->has_said = true;
	say(stuck, " takes long, perhaps because a file system does not answer; Ctrl-C "
		   "ends memtrace\n");
}

/* The first signal could not end the run, and there is nothing to report, or it was
 * reported before. Writing to stderr may hang, too. */
_Noreturn static void give_up(struct stop_watch *w)
{
	kill_later();
	say(&w->stuck,
	    last_report_is_begun(&w->last)
		    ? " takes too long, because a file system does not answer: "
		      "memtrace ends\n"
		    : " takes too long, because a file system does not answer: "
		      "memtrace ends without a report\n");
	end_process(w, w->first);
}

/* Called every LOOK_MS after the first signal. */
static void look_at_main(struct stop_watch *w)
{
	if (w->last.pid) {
		if (!last_report_goes_on(&w->last, &w->first_ns))
			end_process(w, w->first);
		return;
	}
	if (stuck_look(&w->stuck) < STUCK_NS)
		return;
	if (!park_main(&w->stuck)) {
		w->stuck = (struct stuck){.looked_ns = 0};
		return;
	}
	if (!last_report_start(&w->last, &w->stuck, w->first, &w->first_ns))
		give_up(w);
}

/* --- the thread ------------------------------------------------------------------- */

static void take_signal(struct stop_watch *w)
{
	struct signalfd_siginfo info;

	if (read(w->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_code != SI_KERNEL)
		w->pass_on = (int)info.ssi_signo;
	if (w->first_ns) {
		if (info.ssi_signo != SIGHUP)
			w->second = (int)info.ssi_signo;
		return;
	}
	w->first = (int)info.ssi_signo;
	__atomic_store_n(&w->first_ns, clock_now_ns(), __ATOMIC_SEQ_CST);
	open_helper_hurry();
	lanes_hurry();
	/* Cannot block: nothing else is written to the pipe. */
	if (write(w->signal_pipe[1], &info, sizeof(info)) < 0)
		return;
}

/* Was no thread in a read when looked at last, and is the main thread idle now? */
static bool is_calm(const struct stop_watch *w)
{
	return __atomic_load_n(&w->is_idle, __ATOMIC_SEQ_CST) && !w->stuck.looked_ns &&
	       !w->other.looked_ns;
}

/* Milliseconds until the second signal ends the process, or until the next look at the
 * main thread. */
static int wait_ms(const struct stop_watch *w)
{
	uint64_t end_ns = w->first_ns + REPORT_NS, now_ns = clock_now_ns();

	if (!w->second && w->first)
		return LOOK_MS;
	if (!w->second)
		return is_calm(w) ? CALM_LOOK_MS : IDLE_LOOK_MS;
	return now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;
}

static void *run(void *arg)
{
	struct stop_watch *w = arg;

	pthread_setname_np(pthread_self(), THREAD_NAME);
	/* Capabilities are per thread: drop them in this one too. */
	error_destroy(shed_for_thread());
	for (;;) {
		struct pollfd fds[] = {
			{.fd = w->end_fd, .events = POLLIN},
			{.fd = w->second ? -1 : w->signal_fd, .events = POLLIN},
			{.fd = w->last.pid ? w->last.pidfd : -1, .events = POLLIN},
		};
		int wait = wait_ms(w), n = wait ? poll(fds, 3, wait) : 0;

		if (!wait)
			end_process(w, w->second);
		if (n > 0 && fds[0].revents)
			return NULL;
		if (n > 0 && fds[1].revents)
			take_signal(w);
		if (!w->first)
			look_at_run(w);
		else if (!w->second)
			look_at_main(w);
	}
}

struct error *stop_watch_create(const sigset_t *signals, struct stop_watch **ret)
{
	_cleanup_(stop_watch_destroyp) struct stop_watch *w = calloc(1, sizeof(*w));
	struct error *err;
	int failure;

	if (!w)
		return error_no_memory();
	w->signal_pipe[0] = w->signal_pipe[1] = w->child = -1;
	err = last_report_init(&w->last);
	if (err)
		return err;
	park_init();
	w->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->end_fd < 0 || w->signal_fd < 0 ||
	    pipe2(w->signal_pipe, O_CLOEXEC | O_NONBLOCK))
		return error_errno(ERROR_IO, errno, "cannot wait for signals (signalfd)");
	failure = pthread_create(&w->thread, NULL, run, w);
	if (failure)
		return error_errno(ERROR_IO, failure,
				   "cannot start a thread to watch for signals");
	w->is_running = true;
	*ret = take(w);
	return NULL;
}

int stop_watch_fd(const struct stop_watch *w)
{
	return w->signal_pipe[0];
}

uint64_t stop_watch_first_ns(const struct stop_watch *w)
{
	return __atomic_load_n(&w->first_ns, __ATOMIC_SEQ_CST);
}

void stop_watch_set_idle(struct stop_watch *w, bool is_idle)
{
	__atomic_store_n(&w->is_idle, is_idle, __ATOMIC_SEQ_CST);
}

void stop_watch_pass_to(struct stop_watch *w, pid_t child)
{
	int fd = (int)syscall(SYS_pidfd_open, child, 0);

	fd = __atomic_exchange_n(&w->child, fd, __ATOMIC_SEQ_CST);
	if (fd >= 0)
		close(fd);
}

struct last_report *stop_watch_last(struct stop_watch *w)
{
	return &w->last;
}

int stop_watch_destroy(struct stop_watch *w)
{
	const uint64_t one = 1;
	int second;

	if (!w)
		return 0;
	if (w->is_running && write(w->end_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(w->thread, NULL);
	second = w->second;
	last_report_deinit(&w->last);
	closep(&w->signal_fd);
	closep(&w->signal_pipe[0]);
	closep(&w->signal_pipe[1]);
	closep(&w->end_fd);
	closep(&w->child);
	free(w);
	return second;
}
