/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chromium without a window, driven through the DevTools protocol over a pair of pipes
 * (chromium --remote-debugging-pipe: messages are JSON, each ended by a NUL; methods as
 * in https://chromedevtools.github.io/devtools-protocol/). It opens files of this machine
 * and has no network. Whatever fails ends the test program.
 */
#ifndef TESTS_BROWSER_BROWSER_H
#define TESTS_BROWSER_BROWSER_H

#include <stdbool.h>
#include <stddef.h>

struct browser;

/* Start it; ends the program as skipped where there is no chromium, and where CI is set
 * in the environment, which has installed it, as failed. */
struct browser *browser_start(void);
void browser_stop(struct browser *browser);

/* Write `text` to a file NAME.SUFFIX that lives as long as the browser, and open it in
 * place of the page before; returns when it is loaded. Forgets errors and requests. */
void browser_open(struct browser *browser, const char *suffix, const char *text,
		  size_t len);

/* What a JavaScript expression comes to: as a string, which the caller frees, or as a
 * number. */
char *browser_string(struct browser *browser, const char *expression);
double browser_number(struct browser *browser, const char *expression);

/* The mouse, in pixels of the window, and a key by its name ("Escape"). */
void browser_move(struct browser *browser, double x, double y);
void browser_click(struct browser *browser, double x, double y);
void browser_key(struct browser *browser, const char *key);

/* The middle of what the CSS selector finds first, which is brought into view. */
void browser_click_on(struct browser *browser, const char *selector);

/* What is typed into the next window.prompt() (borrowed). */
void browser_answer(struct browser *browser, const char *answer);

/* "print" or "screen", and "dark" or "light". */
void browser_media(struct browser *browser, const char *media, const char *scheme);

/* Exceptions, errors on the console and breaches of the page's policy since it was
 * opened, one a line; and the addresses of all that was loaded, the page among them. */
const char *browser_errors(const struct browser *browser);
const char *browser_requests(const struct browser *browser);

#endif
