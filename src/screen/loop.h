/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the screen's process: keys, snapshots, messages and signals come in, and
 * the screen is drawn. Private to screen/. */
#ifndef SCREEN_LOOP_H
#define SCREEN_LOOP_H

#include "screen/canvas.h"
#include "screen/loader.h"
#include "screen/terminal.h"
#include "screen/ui.h"

struct loop {
	struct ui ui;
	struct canvas canvas;
	struct screen_terminal *terminal; /* NULL: not opened yet */
	struct loader *loader;
	struct moment *moment, *marked; /* shown; NULL: none. May be the same */
	int socket, log_fd, signal_fd;
	bool color;
	bool is_suspended; /* the terminal belongs to the shell */
	bool wants_next;   /* tell the parent when the snapshot is read and not frozen */
	bool draws_anew, is_dirty;
	bool ends, failed;
	struct strbuf log_part; /* a message without its end yet */
};

/* Run until the user quits, a signal comes or the parent closes the socket. */
void loop_run(struct loop *loop);

#endif
