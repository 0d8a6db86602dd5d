/* SPDX-License-Identifier: Apache-2.0 */
/* What the keys do: one table. The help is made from it, too. */
#ifndef SCREEN_KEYS_H
#define SCREEN_KEYS_H

#include <stddef.h>

/* Keys that do not stand for a character. */
enum screen_key {
	SCREEN_KEY_UP = 0x110000, /* above all characters of Unicode */
	SCREEN_KEY_DOWN,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_TOP,
	SCREEN_KEY_BOTTOM,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_ERASE,
	SCREEN_KEY_REDRAW,
};

#define SCREEN_KEY_ENTER       '\r'
#define SCREEN_KEY_ESCAPE      27
#define SCREEN_CONTROL(letter) ((letter)&0x1f)

enum screen_action {
	DO_NONE,
	DO_UP,
	DO_DOWN,
	DO_PAGE_UP,
	DO_PAGE_DOWN,
	DO_TOP,
	DO_BOTTOM,
	DO_SEARCH,
	DO_NEXT,
	DO_PREVIOUS,
	DO_SORT,
	DO_VIEW,
	DO_CLASS,
	DO_FILTER,
	DO_EXPAND,
	DO_COLLAPSE,
	DO_CALLERS,
	DO_STACK_UP,
	DO_STACK_DOWN,
	DO_MARK,
	DO_FREEZE,
	DO_WRITE,
	DO_FASTER,
	DO_SLOWER,
	DO_LOG,
	DO_REFRESH,
	DO_HELP,
	DO_SUSPEND,
	DO_QUIT,
};

#define KEYS_EACH 4

struct key_row {
	enum screen_action action;
	int keys[KEYS_EACH]; /* 0: none */
	const char *names;   /* of the keys, for the help */
	const char *help;
};

/* All rows, in the order of the help. */
extern const struct key_row key_rows[];
extern const size_t key_row_count;

/* DO_NONE: the key does nothing. */
enum screen_action keys_action(int key);

#endif
