// SPDX-License-Identifier: Apache-2.0
#include "screen/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "screen/compose.h"
#include "screen/pipe.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/fd_message.h"

#define KEYS_AT_ONCE 64 /* keys handled before the screen is redrawn */

static void say(struct ui *ui, const char *before, const char *text)
{
	strbuf_clear(&ui->message);
	strbuf_append(&ui->message, before);
	escape_text(&ui->message, text);
}

static void send_parent(struct loop *loop, enum pipe_kind kind, uint64_t value)
{
	const struct pipe_message message = {.kind = kind, .value = value};

	if (loop->socket >= 0)
		(void)fd_message_send(loop->socket, &message, sizeof(message), NULL, 0);
}

/* --- snapshots ---------------------------------------------------------------------- */

static void load(struct loop *loop, int fd, uint64_t size_bytes)
{
	struct snapshot_file file = {
		.option = "--live", .path = "snapshot", .is_quick = true};

	file.in = fdopen(fd, "r");
	file.size_bytes = size_bytes;
	if (!file.in) {
		close(fd);
		return;
	}
	/* A call tree was shown, and will be again. */
	loader_load(loop->loader, &file, loop->moment && loop->moment->has_groups);
}

static void show(struct loop *loop, struct moment *moment)
{
	struct moment *old = loop->moment;

	loop->moment = moment;
	if (!ui_set_moment(&loop->ui, moment))
		say(&loop->ui, "", "out of memory");
	if (old != loop->marked)
		moment_destroy(old);
	loop->is_dirty = true;
}

static void ask_next(struct loop *loop)
{
	if (loop->wants_next && !loop->ui.is_frozen && !loader_is_busy(loop->loader)) {
		loop->wants_next = false;
		send_parent(loop, PIPE_NEXT, 0);
	}
}

static void take_result(struct loop *loop)
{
	struct loader_result result;

	if (!loader_take(loop->loader, &result))
		return;
	if (result.moment)
		show(loop, result.moment);
	else if (result.err)
		say(&loop->ui, "", result.err->message);
	else
		say(&loop->ui, "wrote ", result.written ? result.written : "?");
	/* Without a first snapshot there is nothing to show. */
	loop->failed |= !loop->moment;
	loop->is_dirty = true;
	free(result.written);
	error_destroy(result.err);
	ask_next(loop);
}

static void read_socket(struct loop *loop)
{
	struct pipe_message message = {.kind = 0};
	size_t fd_count = 0;
	int fd = -1;
	ssize_t n = fd_message_receive(loop->socket, &message, sizeof(message), &fd, 1,
				       &fd_count);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < (ssize_t)sizeof(message)) {
		loop->ends = true;
	} else if (message.kind == PIPE_SNAPSHOT && fd_count) {
		loop->wants_next = true;
		/* Frozen since the parent was asked. */
		if (loop->ui.is_frozen || loader_is_busy(loop->loader))
			close(fd);
		else
			load(loop, fd, message.value);
		fd_count = 0;
	} else if (message.kind == PIPE_ENDED) {
		loop->ui.has_ended = true;
		say(&loop->ui, "",
		    "the run is over: q ends with the final report on the screen");
	} else if (message.kind == PIPE_RESUMED && loop->is_suspended) {
		loop->is_suspended = false;
		terminal_return(loop->terminal);
		loop->draws_anew = true;
	}
	if (fd_count)
		close(fd);
	loop->is_dirty = true;
}

/* --- what the user does ------------------------------------------------------------- */

static void mark(struct loop *loop)
{
	struct moment *old = loop->marked;

	loop->marked = old ? NULL : loop->moment;
	if (!ui_mark(&loop->ui, loop->marked))
		say(&loop->ui, "", "out of memory");
	if (old && old != loop->moment)
		moment_destroy(old);
}

static void write_file(struct loop *loop, enum output_kind kind)
{
	if (!loop->moment || loader_is_busy(loop->loader)) {
		say(&loop->ui, "", "a snapshot is being read: try again");
		return;
	}
	loader_write(loop->loader, loop->moment, kind);
	say(&loop->ui, "", "writing ...");
}

static void suspend(struct loop *loop)
{
	if (loop->is_suspended)
		return;
	loop->is_suspended = true;
	terminal_leave(loop->terminal);
	send_parent(loop, PIPE_SUSPEND, 0);
}

static void obey(struct loop *loop, enum ui_result result)
{
	switch (result) {
	case UI_NOTHING:
		break;
	case UI_REFRESH:
		loop->draws_anew = true;
		break;
	case UI_MARK:
		mark(loop);
		break;
	case UI_WRITE_SNAPSHOT:
		write_file(loop, OUTPUT_SAVE);
		break;
	case UI_WRITE_HTML:
		write_file(loop, OUTPUT_HTML);
		break;
	case UI_WRITE_FLAME:
		write_file(loop, OUTPUT_FLAME);
		break;
	case UI_NEW_INTERVAL:
		send_parent(loop, PIPE_INTERVAL, loop->ui.interval_ns);
		break;
	case UI_FREEZE:
		ask_next(loop);
		break;
	case UI_SUSPEND:
		suspend(loop);
		break;
	case UI_QUIT:
		loop->ends = true;
		break;
	}
}

static void read_keys(struct loop *loop)
{
	for (int i = 0; i < KEYS_AT_ONCE && !loop->ends && !loop->is_suspended; i++) {
		unsigned x = 0, y = 0;
		int key;
		enum terminal_event event = terminal_read(loop->terminal, &key, &x, &y);

		if (event == TERMINAL_NONE)
			return;
		loop->is_dirty = true;
		if (event == TERMINAL_KEY)
			obey(loop, ui_key(&loop->ui, key));
		else
			obey(loop,
			     ui_click(&loop->ui, x, y, event == TERMINAL_DOUBLE_CLICK));
	}
}

static void measure(struct loop *loop)
{
	unsigned columns, lines;

	terminal_measure(loop->terminal, &columns, &lines);
	if (columns == loop->ui.columns && lines == loop->ui.lines)
		return;
	ui_resize(&loop->ui, columns, lines);
	loop->draws_anew = loop->is_dirty = true;
}

static void read_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH:
		break;
	case SIGTSTP:
		if (loop->terminal)
			suspend(loop);
		break;
	case SIGCONT:
		loop->draws_anew = loop->is_dirty = true;
		break;
	default:
		loop->ends = true;
		break;
	}
}

static void read_log(struct loop *loop)
{
	char bytes[4096];
	ssize_t n = read(loop->log_fd, bytes, sizeof(bytes));
	const char *last;

	if (n <= 0) {
		if (!n || errno != EAGAIN)
			loop->log_fd = -1;
		return;
	}
	strbuf_append_bytes(&loop->log_part, bytes, (size_t)n);
	if (loop->log_part.failed)
		return;
	last = memrchr(loop->log_part.data, '\n', loop->log_part.len);
	if (last || loop->log_part.len > sizeof(bytes)) {
		size_t len = last ? (size_t)(last + 1 - loop->log_part.data)
				  : loop->log_part.len;

		ui_log(&loop->ui, loop->log_part.data, len);
		memmove(loop->log_part.data, loop->log_part.data + len,
			loop->log_part.len - len);
		loop->log_part.len -= len;
	}
	loop->is_dirty = true;
}

/* --- the loop ----------------------------------------------------------------------- */

/* Begin to draw when there is something to show: until then errors are plain lines. */
static void open_terminal(struct loop *loop)
{
	loop->terminal = terminal_open(loop->color, loop->ui.utf8);
	if (!loop->terminal)
		loop->ends = loop->failed = true;
	else
		measure(loop);
}

static void draw(struct loop *loop)
{
	measure(loop);
	compose(&loop->ui, &loop->canvas);
	terminal_draw(loop->terminal, &loop->canvas, loop->draws_anew);
	strbuf_deinit(&loop->canvas.texts);
	loop->is_dirty = loop->draws_anew = false;
}

void loop_run(struct loop *loop)
{
	enum {
		KEYS,
		SOCKET,
		LOG,
		LOADER,
		SIGNALS,
		COUNT
	};

	while (!loop->ends && !loop->failed) {
		bool is_shown = loop->terminal && !loop->is_suspended;
		struct pollfd fds[COUNT] = {
			[KEYS] = {is_shown ? STDIN_FILENO : -1, POLLIN, 0},
			[SOCKET] = {loop->socket, POLLIN, 0},
			[LOG] = {loop->log_fd, POLLIN, 0},
			[LOADER] = {loader_fd(loop->loader), POLLIN, 0},
			[SIGNALS] = {loop->signal_fd, POLLIN, 0},
		};

		if (poll(fds, COUNT, -1) < 0 && errno != EINTR) {
			loop->failed = true;
			return;
		}
		if (fds[SIGNALS].revents)
			read_signal(loop);
		/* The terminal is gone. */
		if (fds[KEYS].revents & (POLLHUP | POLLERR | POLLNVAL))
			loop->ends = true;
		else if (fds[KEYS].revents)
			read_keys(loop);
		if (fds[LOG].revents)
			read_log(loop);
		if (fds[LOADER].revents)
			take_result(loop);
		if (fds[SOCKET].revents)
			read_socket(loop);
		if (!loop->terminal && loop->moment && !loop->ends)
			open_terminal(loop);
		if (loop->terminal && !loop->is_suspended && !loop->ends)
			measure(loop);
		if (loop->is_dirty && loop->terminal && !loop->is_suspended &&
		    !loop->ends)
			draw(loop);
	}
}
