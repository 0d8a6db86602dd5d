/* SPDX-License-Identifier: Apache-2.0 */
/* A program on a terminal that tests can look at: a pseudo-terminal whose output libvterm
 * interprets. */
#ifndef TESTS_VT_H
#define TESTS_VT_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct vt;

struct vt_options {
	const char *const *argv; /* ended by NULL; argv[0] is the path of the program */
	const char *const *env;  /* "NAME=value" or "NAME" (unset), ended by NULL */
	unsigned columns, lines;
};

/* Start the program as the leader of a session with this terminal. Fails the test if that
 * is not possible. TERM is xterm-256color, LC_ALL C.UTF-8 and TZ UTC, unless `env` sets
 * others. */
struct vt *vt_start(const struct vt_options *options);
/* Kill the program if it still runs, and wait for it. */
void vt_destroy(struct vt *vt);

/* The process of the program. */
pid_t vt_pid(const struct vt *vt);

/* Write to the program's standard input. */
void vt_press(struct vt *vt, const char *keys);
/* Change the size of the window. */
void vt_resize(struct vt *vt, unsigned columns, unsigned lines);

/* Show what the program writes, for at most this time. False: it has ended. */
bool vt_run(struct vt *vt, int timeout_ms);
/* The same until `text` is on the screen. False: that did not happen. */
bool vt_wait(struct vt *vt, const char *text, int timeout_ms);
/* The same until it is not there any more. */
bool vt_wait_gone(struct vt *vt, const char *text, int timeout_ms);
/* The same until the program has ended. Returns its wait status; -1: it runs on. */
int vt_wait_end(struct vt *vt, int timeout_ms);

/* The lines of the screen without spaces at their ends, each ended by '\n'. Borrowed
 * until the next call. */
const char *vt_text(struct vt *vt);
/* One line, from 0. Borrowed until the next call. */
const char *vt_line(struct vt *vt, unsigned line);

/* Does the terminal show its alternate screen? Is the cursor visible? Does it report the
 * mouse? */
bool vt_is_alternate(const struct vt *vt);
bool vt_has_cursor(const struct vt *vt);
bool vt_has_mouse(const struct vt *vt);
/* Has any cell a colour of its own? An inverted one? */
bool vt_has_colors(struct vt *vt);
bool vt_has_inverted(struct vt *vt);
/* The modes of the terminal (termios(3)). */
struct termios vt_modes(const struct vt *vt);

/* Has the program written this sequence of bytes? */
bool vt_has_written(const struct vt *vt, const char *bytes);

#endif
