// SPDX-License-Identifier: Apache-2.0
#include "screen/keys.h"

const struct key_row key_rows[] = {
	{DO_UP, {SCREEN_KEY_UP, 'k'}, "up k", "select the line above"},
	{DO_DOWN, {SCREEN_KEY_DOWN, 'j'}, "down j", "select the line below"},
	{DO_PAGE_UP, {SCREEN_KEY_PAGE_UP, SCREEN_CONTROL('b')}, "PgUp", "a page up"},
	{DO_PAGE_DOWN,
	 {SCREEN_KEY_PAGE_DOWN, SCREEN_CONTROL('f')},
	 "PgDn",
	 "a page down"},
	{DO_TOP, {SCREEN_KEY_TOP, 'g'}, "home g", "the first line"},
	{DO_BOTTOM, {SCREEN_KEY_BOTTOM, 'G'}, "end G", "the last line"},
	{DO_SEARCH, {'/'}, "/", "search for a name"},
	{DO_NEXT, {'n'}, "n", "the next line with that name"},
	{DO_PREVIOUS, {'N'}, "N", "the line with that name before"},
	{DO_FILTER, {'f'}, "f", "show only call paths with a name; empty: all"},
	{DO_SORT, {'s'}, "s", "choose the order"},
	{DO_VIEW, {'v'}, "v", "choose the view"},
	{DO_CLASS, {'\t'}, "Tab", "the next class of memory: mappings, kernel"},
	{DO_EXPAND,
	 {'e', SCREEN_KEY_RIGHT, SCREEN_KEY_ENTER, '\n'},
	 "e right",
	 "expand the line into a call tree"},
	{DO_COLLAPSE, {'x', SCREEN_KEY_LEFT}, "x left", "collapse it"},
	{DO_CALLERS, {'c'}, "c", "call trees from the callee or from the caller"},
	{DO_STACK_DOWN, {'J', ']'}, "J ]", "scroll the stack down"},
	{DO_STACK_UP, {'K', '['}, "K [", "scroll the stack up"},
	{DO_MARK,
	 {'m'},
	 "m",
	 "set a mark and show the differences since; again: remove it"},
	{DO_FREEZE, {' '}, "space", "freeze the screen; again: go on"},
	{DO_WRITE, {'w'}, "w", "write a snapshot, an HTML page or a flame graph"},
	{DO_FASTER, {'+', '='}, "+", "update twice as often"},
	{DO_SLOWER, {'-'}, "-", "update half as often"},
	{DO_LOG, {'l'}, "l", "show the messages of this run"},
	{DO_REFRESH,
	 {SCREEN_CONTROL('l'), SCREEN_KEY_REDRAW},
	 "^L",
	 "draw the screen anew"},
	{DO_HELP, {'?', 'h'}, "? h", "this help"},
	{DO_SUSPEND, {SCREEN_CONTROL('z')}, "^Z", "suspend memtrace; fg resumes it"},
	{DO_QUIT, {'q', SCREEN_CONTROL('c')}, "q ^C", "end with the final report"},
};

const size_t key_row_count = sizeof(key_rows) / sizeof(*key_rows);

enum screen_action keys_action(int key)
{
	for (size_t i = 0; i < key_row_count; i++) {
		for (size_t k = 0; k < KEYS_EACH; k++)
			if (key && key_rows[i].keys[k] == key)
				return key_rows[i].action;
	}
	return DO_NONE;
}
