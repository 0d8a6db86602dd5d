// SPDX-License-Identifier: Apache-2.0
#include "session/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/shed.h"
#include "output/report_setup.h"
#include "process/named.h"
#include "process/proc.h"
#include "progress/reading.h"
#include "serve/serve.h"
#include "session/retries.h"
#include "session/session.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/notify.h"
#include "util/say_note.h"

/* How often to look for the process, ms. Listing some hundred processes takes 2 ms. */
#define LOOK_MS 250
/* How often to look for the server while a process is traced, ms. */
#define SERVER_MS 1000

struct service {
	struct options *options;
	void (*print)(struct error *err, unsigned verbose);
	struct report_setup setup;
	struct serve *serve; /* NULL: no --listen */
	int signal_fd;
	sigset_t before;  /* the signal mask at the start */
	bool is_stopping; /* a signal came */
	/* A run that fails is tried again: the process may not be ready yet. */
	struct retries retries;
};

static void service_deinit(struct service *s)
{
	serve_stop(s->serve);
	report_setup_deinit(&s->setup);
	closep(&s->signal_fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* --- signals ------------------------------------------------------------------------ */

static struct error *watch_signals(struct service *s)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	sigprocmask(SIG_BLOCK, &stops, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signal_fd = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? error_errno(ERROR_IO, errno,
					      "cannot wait for signals (signalfd)")
				: NULL;
}

/* Pass a signal on to the run `pid`, unless the terminal has sent it to both. */
static void take_signal(struct service *s, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		s->is_stopping = true;
		if (pid && info.ssi_code != SI_KERNEL)
			kill(pid, (int)info.ssi_signo);
	}
}

/* --- runs --------------------------------------------------------------------------- */

/* In the child. */
_Noreturn static void run(struct service *s, pid_t parent)
{
	int status = SESSION_FAILED;
	struct error *err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(SESSION_FAILED);
	close(s->signal_fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	err = session_run(s->options, s->serve, &status);
	if (err)
		s->print(err, s->options->verbose);
	fflush(stdout);
	/* Without running destructors: what outlives the run is the parent's. */
	_exit(status);
}

/* Wait for the end of the run. If the server ends, the run ends too, because only this
 * process can start another server, and the run has its end of the old one's socket. */
static int await(struct service *s, pid_t pid)
{
	_cleanup_(closep) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool is_told = false;
	int status = 0;

	for (;;) {
		struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN},
				       {.fd = s->signal_fd, .events = POLLIN}};

		if (poll(fds, 2, s->serve || pidfd < 0 ? SERVER_MS : -1) > 0 &&
		    fds[1].revents)
			take_signal(s, pid);
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (s->serve && !is_told && !serve_is_alive(s->serve)) {
			is_told = true;
			kill(pid, SIGTERM);
		}
	}
}

static struct error *trace(struct service *s, int target)
{
	pid_t parent = getpid(), pid;
	int status;

	s->options->pids[0] = target;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return error_errno(ERROR_IO, errno, "cannot fork");
	if (!pid)
		run(s, parent);
	status = await(s, pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		retries_failed(&s->retries, target, clock_now_ns());
	else
		retries_remove(&s->retries, target);
	return NULL;
}

/* --- waiting ------------------------------------------------------------------------ */

/* The process to trace; 0: none now. */
static int find(struct service *s)
{
	_cleanup_(named_pids_deinit) struct named_pids pids;

	named_find_programs(s->options->wait_for, &pids);
	return retries_choose(&s->retries, pids.list.data, pids.list.len, clock_now_ns());
}

static void say_waiting(const struct service *s)
{
	_cleanup_(freep) char *name = escape_dup(s->options->wait_for);
	char state[256];

	if (!s->options->quiet)
		say_note("waiting for %s", name ? name : "?");
	snprintf(state, sizeof(state), "STATUS=waiting for %.200s", name ? name : "?");
	(void)notify_manager(state);
}

static void say_tracing(int pid)
{
	char state[64];

	snprintf(state, sizeof(state), "STATUS=tracing process %d", pid);
	(void)notify_manager(state);
}

/* Wait a moment. Clients get the answer that no process is traced. */
static void pause_for(struct service *s)
{
	struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN},
			       {.fd = serve_fd(s->serve), .events = POLLIN}};
	bool wants_blocks;

	if (poll(fds, 2, LOOK_MS) <= 0)
		return;
	take_signal(s, 0);
	if (serve_is_asked(s->serve, &wants_blocks))
		serve_refuse(s->serve, "no process is traced: waiting for one");
}

/* Start the server again if it has ended during a run. */
static struct error *keep_serving(struct service *s)
{
	bool wants_blocks;

	if (!s->serve || serve_is_alive(s->serve))
		return NULL;
	(void)serve_is_asked(s->serve, &wants_blocks);
	return serve_is_alive(s->serve)
		       ? NULL
		       : error_create(ERROR_IO, "--listen: the server has ended");
}

static struct error *work(struct service *s)
{
	bool is_waiting = false;
	struct error *err;

	while (!s->is_stopping) {
		int pid = find(s);

		err = keep_serving(s);
		if (err)
			return err;
		if (pid) {
			say_tracing(pid);
			err = trace(s, pid);
			if (err)
				return err;
			is_waiting = false;
			continue;
		}
		if (!is_waiting)
			say_waiting(s);
		is_waiting = true;
		pause_for(s);
	}
	return NULL;
}

struct error *service_run(struct options *options,
			  void (*print)(struct error *err, unsigned verbose), int *status)
{
	_cleanup_(service_deinit) struct service s = {
		.options = options, .print = print, .signal_fd = -1};
	struct error *err;

	*status = SESSION_FAILED;
	sigprocmask(SIG_SETMASK, NULL, &s.before);
	/* Each run would fail. */
	err = proc_check_privileges();
	if (!err)
		err = reading_check_dirs(&options->debug_dirs);
	if (!err)
		err = report_setup_init(options, false, &s.setup);
	if (!err)
		err = serve_start(options, &s.setup, &s.serve);
	if (!err)
		err = watch_signals(&s);
	/* Runs need more for the cache of --debuginfod. */
	if (!err && !options->debuginfod)
		error_destroy(shed_for_thread());
	if (err)
		return err;
	if (!options->quiet)
		serve_say(s.serve);
	(void)notify_manager("READY=1");
	err = work(&s);
	(void)notify_manager("STOPPING=1");
	*status = err ? SESSION_FAILED : 0;
	return err;
}
