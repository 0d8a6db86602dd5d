// SPDX-License-Identifier: Apache-2.0
/* The side of the tracing process. */
#include "screen/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "output/terminal.h"
#include "screen/child.h"
#include "screen/layout.h"
#include "screen/pipe.h"
#include "screen/ui.h"
#include "snapshot/file.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_message.h"
#include "util/say_note.h"

#define START_MS         10000 /* until the process has looked at the terminal */
#define END_MS           3000  /* until it has restored the terminal */
#define POLL_MS          10
#define STOPS_MAX        100 /* `bg` lets a stopped process go on in the background */

#define MESSAGES_AT_ONCE 16

struct screen {
	pid_t pid; /* 0: it has been waited for */
	int status;
	int socket;
	int log_fd;    /* where messages go; -1: none */
	int file_fd;   /* the last snapshot, and memory for the next; -1: none yet */
	int stderr_fd; /* the real standard error, while messages go to the screen */
	bool is_ready;
	bool is_shown; /* it has got a snapshot */
	bool has_hung; /* it had to be killed */
	struct termios found;
	bool has_found;
	char restore[PIPE_RESTORE_MAX];
	size_t restore_len;
};

/* --- is there a terminal? ----------------------------------------------------------- */

/* A job in the background stops until `fg`, as programs do that read the terminal. False:
 * it cannot be stopped, because no shell waits for it. */
static bool await_foreground(void)
{
	for (int i = 0; i < STOPS_MAX; i++) {
		pid_t owner = tcgetpgrp(STDIN_FILENO);

		/* A terminal that is not ours to control has no jobs. */
		if (owner <= 0 || owner == getpgrp())
			return true;
		kill(0, SIGTTIN);
	}
	return false;
}

/* Why there can be no screen; NULL: there can. */
static const char *reason_against(void)
{
	const char *name = getenv("TERM");
	unsigned columns, lines;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "standard input and output must be a terminal";
	if (!name || !*name || !strcmp(name, "dumb"))
		return "the terminal cannot place the cursor (TERM)";
	terminal_size(STDOUT_FILENO, &columns, &lines);
	if (columns && lines &&
	    (columns < SCREEN_COLUMNS_MIN || lines < SCREEN_LINES_MIN))
		return "the terminal is too small (60x16 is needed)";
	return NULL;
}

bool screen_is_possible(void)
{
	return !reason_against();
}

static void say_plain(const char *why)
{
	say_note("--live: %s; plain reports follow", why);
}

/* --- the process -------------------------------------------------------------------- */

static void wait_for(struct screen *screen, int flags)
{
	while (screen->pid) {
		pid_t pid = waitpid(screen->pid, &screen->status, flags);

		if (pid == screen->pid || (pid < 0 && errno != EINTR))
			screen->pid = 0;
		else if (!pid)
			return;
	}
}

/* If the process has died, or ended with an error, do what it would have done at its
 * end. */
static void restore_terminal(struct screen *screen)
{
	ssize_t written;

	if (!screen->is_shown || !screen->status)
		return;
	if (screen->has_found)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen->found);
	written = write(STDOUT_FILENO, screen->restore, screen->restore_len);
	(void)written;
}

static void end_process(struct screen *screen)
{
	uint64_t deadline_ns = clock_now_ns() + END_MS * UINT64_C(1000000);

	if (screen->socket >= 0)
		close(screen->socket);
	screen->socket = -1;
	wait_for(screen, WNOHANG);
	while (screen->pid && clock_now_ns() < deadline_ns) {
		poll(NULL, 0, POLL_MS);
		wait_for(screen, WNOHANG);
	}
	screen->has_hung = screen->pid;
	if (screen->has_hung)
		kill(screen->pid, SIGKILL);
	wait_for(screen, 0);
	restore_terminal(screen);
}

static bool receive(struct screen *screen, struct pipe_message *ret, bool *is_end)
{
	size_t fd_count;
	ssize_t n =
		fd_message_receive(screen->socket, ret, sizeof(*ret), NULL, 0, &fd_count);

	*is_end = n >= 0 ? n < (ssize_t)sizeof(*ret) : errno != EAGAIN && errno != EINTR;
	return n == sizeof(*ret);
}

/* Wait until the process has looked at the terminal. */
static bool is_usable(struct screen *screen)
{
	struct pollfd fd = {.fd = screen->socket, .events = POLLIN};
	struct pipe_message message;
	bool is_end;

	if (poll(&fd, 1, START_MS) <= 0 || !receive(screen, &message, &is_end) ||
	    message.kind != PIPE_USABLE || message.restore_len > PIPE_RESTORE_MAX)
		return false;
	memcpy(screen->restore, message.restore, message.restore_len);
	screen->restore_len = message.restore_len;
	screen->is_ready = true;
	return true;
}

static struct error *fork_process(const struct options *options,
				  const struct report_setup *setup, struct screen *screen)
{
	int sockets[2], log[2] = {-1, -1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return error_errno(ERROR_IO, errno, "cannot make a socket");
	screen->socket = sockets[0];
	if (!options->replay && isatty(STDERR_FILENO) &&
	    pipe2(log, O_CLOEXEC | O_NONBLOCK)) {
		close(sockets[1]);
		return error_errno(ERROR_IO, errno, "cannot make a pipe");
	}
	fflush(NULL);
	screen->pid = fork();
	if (!screen->pid) {
		close(sockets[0]);
		closep(&log[1]);
		_exit(child_run(
			&(const struct child_setup){options, setup, sockets[1], log[0]}));
	}
	close(sockets[1]);
	closep(&log[0]);
	screen->log_fd = log[1];
	if (screen->pid > 0)
		return NULL;
	screen->pid = 0;
	return error_errno(ERROR_IO, errno, "cannot start the process of the screen");
}

struct error *screen_start(const struct options *options,
			   const struct report_setup *setup, struct screen **ret)
{
	const char *why = reason_against();
	struct screen *screen;
	struct error *err;

	*ret = NULL;
	if (!why && !await_foreground())
		why = "memtrace runs in the background";
	if (why) {
		say_plain(why);
		return NULL;
	}
	screen = calloc(1, sizeof(*screen));
	if (!screen)
		return error_no_memory();
	screen->socket = screen->log_fd = screen->stderr_fd = screen->file_fd = -1;
	screen->has_found = !tcgetattr(STDIN_FILENO, &screen->found);
	err = fork_process(options, setup, screen);
	if (!err && is_usable(screen)) {
		/* From now on, nothing waits for the screen. */
		fcntl(screen->socket, F_SETFL, O_NONBLOCK);
		*ret = screen;
		return NULL;
	}
	if (!err)
		say_plain("terminfo does not know the terminal (TERM)");
	screen_stop(screen);
	return err;
}

/* --- messages ----------------------------------------------------------------------- */

static void take_stderr(struct screen *screen)
{
	if (screen->log_fd < 0 || screen->stderr_fd >= 0)
		return;
	screen->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (screen->stderr_fd >= 0)
		dup2(screen->log_fd, STDERR_FILENO);
}

static void give_stderr_back(struct screen *screen)
{
	if (screen->stderr_fd < 0)
		return;
	fflush(stderr);
	dup2(screen->stderr_fd, STDERR_FILENO);
	close(screen->stderr_fd);
	screen->stderr_fd = -1;
}

/* --- a running session -------------------------------------------------------------- */

int screen_fd(const struct screen *screen)
{
	return screen->socket;
}

bool screen_is_ready(const struct screen *screen)
{
	return screen->is_ready && screen->socket >= 0;
}

static void send_screen(struct screen *screen, enum pipe_kind kind)
{
	const struct pipe_message message = {.kind = kind};

	(void)fd_message_send_some(screen->socket, &message, sizeof(message), NULL, 0);
}

static void suspend(struct screen *screen)
{
	bool had_stderr = screen->stderr_fd >= 0;

	/* While we are stopped, and a little longer. */
	give_stderr_back(screen);
	kill(0, SIGTSTP);
	(void)await_foreground();
	if (had_stderr)
		take_stderr(screen);
	send_screen(screen, PIPE_RESUMED);
}

static enum screen_answer answer_end(struct screen *screen)
{
	wait_for(screen, 0);
	return WIFEXITED(screen->status) && !WEXITSTATUS(screen->status) ? SCREEN_QUIT
									 : SCREEN_FAILED;
}

enum screen_answer screen_answer(struct screen *screen, uint64_t *ret)
{
	struct pipe_message message;
	bool is_end = false;

	/* A process that sends without end does not keep us. */
	for (int i = 0; i < MESSAGES_AT_ONCE && receive(screen, &message, &is_end); i++) {
		switch (message.kind) {
		case PIPE_NEXT:
			screen->is_ready = true;
			break;
		case PIPE_INTERVAL:
			if (message.value < UI_INTERVAL_MIN_NS ||
			    message.value > UI_INTERVAL_MAX_NS)
				break;
			*ret = message.value;
			return SCREEN_INTERVAL;
		case PIPE_SUSPEND:
			suspend(screen);
			break;
		default:
			break;
		}
	}
	return is_end ? answer_end(screen) : SCREEN_NOTHING;
}

/* Where the next snapshot is written: over the last one, which was read. Getting memory
 * for it anew would take as long as writing it. */
static FILE *open_file(struct screen *screen)
{
	FILE *out;
	int fd;

	if (screen->file_fd < 0)
		screen->file_fd = memfd_create("memtrace-snapshot", MFD_CLOEXEC);
	fd = screen->file_fd < 0 || lseek(screen->file_fd, 0, SEEK_SET)
		     ? -1
		     : fcntl(screen->file_fd, F_DUPFD_CLOEXEC, 3);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		closep(&fd);
	return out;
}

/* Returns a descriptor for the screen, which can only read and has its own position, so
 * that it cannot disturb the next snapshot. -1: failed. */
static int end_file(FILE *out, uint64_t *ret_bytes)
{
	char path[64];
	off_t size;

	if (fflush(out) || ferror(out))
		return -1;
	size = ftello(out);
	if (size < 0 || ftruncate(fileno(out), size))
		return -1;
	*ret_bytes = (uint64_t)size;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(out));
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct error *screen_give(struct screen *screen, const struct snapshot *snap)
{
	_cleanup_(fclosep) FILE *out = open_file(screen);
	struct pipe_message message = {.kind = PIPE_SNAPSHOT};
	_cleanup_(closep) int reader = -1;
	struct error *err = out ? snapshot_write_quickly(snap, out) : NULL;

	if (err)
		return err;
	reader = out ? end_file(out, &message.value) : -1;
	if (reader < 0)
		return error_errno(ERROR_IO, errno,
				   "cannot send a snapshot to the screen");
	take_stderr(screen);
	if (fd_message_send_some(screen->socket, &message, sizeof(message), &reader, 1) ==
	    sizeof(message)) {
		screen->is_ready = false;
		screen->is_shown = true;
	}
	return NULL;
}

void screen_ended(struct screen *screen)
{
	send_screen(screen, PIPE_ENDED);
}

void screen_stop(struct screen *screen)
{
	if (!screen)
		return;
	end_process(screen);
	give_stderr_back(screen);
	if (screen->has_hung)
		say_note("the process of the screen did not end when it was asked to, "
			 "and was killed");
	else if (screen->is_shown && WIFSIGNALED(screen->status))
		say_note("the process of the screen died of signal %d; plain reports "
			 "follow",
			 WTERMSIG(screen->status));
	closep(&screen->log_fd);
	closep(&screen->file_fd);
	free(screen);
}

/* --- a snapshot file ---------------------------------------------------------------- */

static int watch_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigprocmask(SIG_BLOCK, set, NULL);
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Wait until the user quits. Returns a signal that ends memtrace, or 0. */
static int wait_for_user(struct screen *screen, int signal_fd, enum screen_answer *ret)
{
	struct pollfd fds[] = {{.fd = screen->socket, .events = POLLIN},
			       {.fd = signal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;
	uint64_t interval_ns;

	*ret = SCREEN_NOTHING;
	while (*ret != SCREEN_QUIT && *ret != SCREEN_FAILED) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 0;
		if (fds[1].revents &&
		    read(signal_fd, &info, sizeof(info)) == sizeof(info))
			return (int)info.ssi_signo;
		if (fds[0].revents)
			*ret = screen_answer(screen, &interval_ns);
	}
	return 0;
}

struct error *screen_replay(const struct options *options,
			    const struct report_setup *setup, bool *ret)
{
	struct screen *screen;
	sigset_t set;
	int signal_fd, number;
	enum screen_answer answer;
	struct error *err = screen_start(options, setup, &screen);

	*ret = true;
	if (err || !screen)
		return err;
	screen->is_shown = true;
	signal_fd = watch_signals(&set);
	number = wait_for_user(screen, signal_fd, &answer);
	screen_stop(screen);
	closep(&signal_fd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (number)
		raise(number);
	return NULL;
}
