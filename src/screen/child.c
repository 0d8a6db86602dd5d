// SPDX-License-Identifier: Apache-2.0
#include "screen/child.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "confined/shed.h"
#include "output/offline.h"
#include "screen/loop.h"
#include "screen/pipe.h"
#include "util/cleanup.h"
#include "util/heap.h"
#include "util/fd_message.h"
#include "util/say_note.h"

/* What the key "w" writes, in the working directory. */
#define NAME_SAVE  "memtrace-%p-%n.mts"
#define NAME_HTML  "memtrace-%p-%n.html"
#define NAME_FLAME "memtrace-%p-%n.svg"

DEFINE_CLEANUP(struct debug_store *, debug_store_destroy);
DEFINE_CLEANUP(struct writer *, writer_stop);

static int watch_signals(void)
{
	static const int watched[] = {SIGINT,   SIGTERM, SIGHUP,  SIGQUIT,
				      SIGWINCH, SIGTSTP, SIGCONT, SIGUSR1};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_SETMASK, &set, NULL);
	/* SIGUSR1 asks the tracing process for a report; here it does nothing. */
	sigdelset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* The terminal is restored even if the shell has it. */
	signal(SIGTTOU, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void send_usable(int socket)
{
	struct pipe_message message = {.kind = PIPE_UNUSABLE};
	size_t len;

	if (terminal_prepare(message.restore, sizeof(message.restore), &len)) {
		message.kind = PIPE_USABLE;
		message.restore_len = (uint32_t)len;
	}
	(void)fd_message_send(socket, &message, sizeof(message), NULL, 0);
}

/* The names of the files, for the writer and for the thread that fills them. Nothing is
 * overwritten. */
static void set_files(struct options *options)
{
	memset(options->files, 0, sizeof(options->files));
	options->files[OUTPUT_SAVE] = NAME_SAVE;
	options->files[OUTPUT_HTML] = NAME_HTML;
	options->files[OUTPUT_FLAME] = NAME_FLAME;
	options->output = NULL;
	options->force = false;
}

static void print_log(const struct ui *ui)
{
	const char *at = strbuf_text(&ui->log);

	while (*at) {
		size_t len = strcspn(at, "\n");

		say_note("%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

static void loop_deinit(struct loop *loop)
{
	terminal_close(loop->terminal);
	if (loop->log_part.len)
		ui_log(&loop->ui, loop->log_part.data, loop->log_part.len);
	print_log(&loop->ui);
	ui_deinit(&loop->ui);
	canvas_deinit(&loop->canvas);
	if (loop->marked != loop->moment)
		moment_destroy(loop->marked);
	moment_destroy(loop->moment);
	strbuf_deinit(&loop->log_part);
}

static void loop_init(struct loop *loop, const struct child_setup *setup, int signal_fd)
{
	const struct options *options = setup->options;
	const struct report_options *shown = &setup->setup->options;

	*loop = (struct loop){
		.socket = setup->socket,
		.log_fd = setup->log_fd,
		.signal_fd = signal_fd,
		.color = shown->color,
	};
	ui_init(&loop->ui);
	loop->ui.utf8 = shown->utf8;
	loop->ui.is_live = !options->replay;
	loop->ui.source = options->replay;
	loop->ui.interval_ns = options->live_interval_ns;
}

static int run(struct loop *loop, struct snapshot_file *file)
{
	if (file->in)
		loader_load(loop->loader, file, true);
	loop_run(loop);
	return loop->failed ? CHILD_FAILED : 0;
}

int child_run(const struct child_setup *setup)
{
	_cleanup_(debug_store_destroyp) struct debug_store *store = NULL;
	_cleanup_(writer_stopp) struct writer *writer = NULL;
	_cleanup_(snapshot_file_deinit) struct snapshot_file file = {.snap = NULL};
	struct options options = *setup->options;
	struct report_options shown = setup->setup->options;
	struct loop loop;
	struct error *err = NULL;
	int status = CHILD_FAILED, signal_fd = watch_signals();

	prctl(PR_SET_NAME, "memtrace-screen");
	heap_keep_all();
	set_files(&options);
	shown.color = false;
	shown.progress = (struct report_progress){.say = NULL};
	if (options.replay)
		err = snapshot_file_open("--replay", options.replay, &file);
	if (!err && options.replay)
		err = offline_debug_store(&options, &store);
	if (!err)
		err = writer_start(&options, &writer);
	if (!err)
		err = offline_shed_for(shed_for_screen);
	loop_init(&loop, setup, signal_fd);
	if (!err)
		err = loader_start(
			&(const struct moment_options){
				.report = &shown,
				.is_split = options.group_by == REPORT_GROUP_PROCESS,
				.with_lines = !options.no_lines,
				.store = store,
			},
			&options, writer, &loop.loader);
	if (!err) {
		send_usable(setup->socket);
		status = run(&loop, &file);
	}
	loop_deinit(&loop);
	loader_stop(loop.loader);
	error_destroy(err);
	return status;
}
