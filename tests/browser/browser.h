/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chromium without a window, controlled by the DevTools protocol over two pipes (chromium
 * --remote-debugging-pipe: messages are JSON, each ended by a NUL; methods as in
 * https://chromedevtools.github.io/devtools-protocol/). It opens local files and has no
 * network. Any failure ends the test program.
 */
#ifndef TESTS_BROWSER_BROWSER_H
#define TESTS_BROWSER_BROWSER_H

#include <stdbool.h>
#include <stddef.h>

struct browser;

/* Start the browser. Without chromium, ends the program as skipped, or as failed if CI is
 * set in the environment: CI installs chromium. */
struct browser *browser_start(void);
void browser_stop(struct browser *browser);

/* Write `text` to a new file NAME.SUFFIX, open it in place of the previous page, and
 * return when it is loaded. Clears the lists of errors and requests. browser_stop()
 * removes the file. */
void browser_open(struct browser *browser, const char *suffix, const char *text,
		  size_t len);

/* Evaluate a JavaScript expression, to a string (freed by the caller) or to a number. */
char *browser_string(struct browser *browser, const char *expression);
double browser_number(struct browser *browser, const char *expression);

/* Use the mouse, in pixels of the window, or press a key by its name ("Escape"). */
void browser_move(struct browser *browser, double x, double y);
void browser_click(struct browser *browser, double x, double y);
void browser_key(struct browser *browser, const char *key);

/* Scroll the first element that the CSS selector finds into view, and click its
 * centre. */
void browser_click_on(struct browser *browser, const char *selector);

/* The answer to the next window.prompt(): borrowed; NULL cancels it. */
void browser_answer(struct browser *browser, const char *answer);

/* Emulate `media`, "print" or "screen", and the colour scheme, "dark" or "light". */
void browser_media(struct browser *browser, const char *media, const char *scheme);

/* Emulate a screen of this width, in CSS pixels, 1000 high. 0: the window's own size
 * again. */
void browser_width(struct browser *browser, unsigned width);

/* Since the page was opened, one a line: exceptions, errors on the console and violations
 * of the page's security policy; and the URLs of everything that was requested, including
 * the page. */
const char *browser_errors(const struct browser *browser);
const char *browser_requests(const struct browser *browser);

#endif
