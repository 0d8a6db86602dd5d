/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal by ncurses. Nothing else includes its headers. */
#ifndef SCREEN_TERMINAL_H
#define SCREEN_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "screen/canvas.h"

struct screen_terminal;

/* Look up $TERM in terminfo(5). False: it is not known, or cannot place the cursor. Fills
 * `restore` (of `size` bytes) with what another process writes to restore the terminal if
 * this one dies, and *len. */
bool terminal_prepare(char *restore, size_t size, size_t *len);

/* Begin to draw on standard output and to read standard input. NULL: that failed. With
 * `color` false only bold, dim and inverted text is used. */
struct screen_terminal *terminal_open(bool color, bool utf8);
/* Restore the terminal. NULL does nothing. */
void terminal_close(struct screen_terminal *terminal);

/* Give the terminal back for some time, and take it again. */
void terminal_leave(struct screen_terminal *terminal);
void terminal_return(struct screen_terminal *terminal);

/* Read the size of the window again. */
void terminal_measure(struct screen_terminal *terminal, unsigned *columns,
		      unsigned *lines);

/* Draw what differs from what is on the screen; with `anew` everything. */
void terminal_draw(struct screen_terminal *terminal, const struct canvas *canvas,
		   bool anew);

enum terminal_event {
	TERMINAL_NONE, /* nothing was pressed */
	TERMINAL_KEY,
	TERMINAL_CLICK,
	TERMINAL_DOUBLE_CLICK,
};

/* What was pressed. Does not wait. *key is a character or an enum screen_key. */
enum terminal_event terminal_read(struct screen_terminal *terminal, int *key, unsigned *x,
				  unsigned *y);

#endif
