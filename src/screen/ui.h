/* SPDX-License-Identifier: Apache-2.0 */
/* What the user sees and does: the table, prompts, help, messages. It knows nothing of
 * terminals: keys come in, and compose.h makes a canvas of it. */
#ifndef SCREEN_UI_H
#define SCREEN_UI_H

#include <stdbool.h>
#include <stdint.h>

#include "screen/keys.h"
#include "screen/layout.h"
#include "screen/model.h"

enum ui_mode {
	UI_TABLE,
	UI_HELP,
	UI_LOG,
	UI_INPUT_SEARCH, /* the last line takes text */
	UI_INPUT_FILTER,
	UI_CHOOSE_VIEW, /* the last line takes a digit or letter */
	UI_CHOOSE_SORT,
	UI_CHOOSE_WRITE,
};

/* What the caller has to do after a key. */
enum ui_result {
	UI_NOTHING, /* but to draw */
	UI_REFRESH, /* draw everything anew */
	UI_MARK,    /* call ui_mark() with the present moment, or NULL if one was set */
	UI_WRITE_SNAPSHOT,
	UI_WRITE_HTML,
	UI_WRITE_FLAME,
	UI_NEW_INTERVAL, /* ui.interval_ns has changed */
	UI_FREEZE,       /* ui.is_frozen has changed */
	UI_SUSPEND,
	UI_QUIT,
};

#define UI_INTERVAL_MIN_NS UINT64_C(100000000)
#define UI_INTERVAL_MAX_NS UINT64_C(3600000000000)
/* Size of the log. If it is full, the oldest messages are dropped. */
#define UI_LOG_BYTES 65536
#define UI_INPUT_MAX 200 /* bytes */

struct ui {
	struct model model;
	struct layout layout;
	unsigned columns, lines; /* of the screen */
	bool utf8;
	bool is_live; /* there will be more moments */
	bool is_frozen;
	bool has_ended;     /* the run is over */
	const char *source; /* the snapshot file; NULL: a running session. Borrowed */
	uint64_t interval_ns;
	enum ui_mode mode;
	unsigned stack_first; /* the first frame that the pane of the stack shows */
	unsigned page_first;  /* the first line of the help or of the messages */
	struct strbuf input;
	struct strbuf message; /* in the last line until the next key; escaped */
	struct strbuf log;     /* messages of the run, escaped, each ended by '\n' */
	uint64_t marked_ns;    /* CLOCK_REALTIME of the mark */
};

void ui_init(struct ui *ui);
void ui_deinit(struct ui *ui);

/* The size of the screen has changed. */
void ui_resize(struct ui *ui, unsigned columns, unsigned lines);

/* Show another moment, or set the mark; see model.h. False: memory is out. */
bool ui_set_moment(struct ui *ui, struct moment *moment)
	__attribute__((warn_unused_result));
bool ui_mark(struct ui *ui, struct moment *marked) __attribute__((warn_unused_result));

/* A key was pressed: a character, or one of enum screen_key. */
enum ui_result ui_key(struct ui *ui, int key);
/* The mouse was pressed at a place of the screen; `is_double`: twice. */
enum ui_result ui_click(struct ui *ui, unsigned x, unsigned y, bool is_double);

/* Add messages of the run, raw bytes: lines become escaped lines of the log, and the last
 * one is shown. */
void ui_log(struct ui *ui, const char *bytes, size_t len);

/* The choices of this mode: their number, and the name and key of one. */
size_t ui_choice_count(const struct ui *ui);
const char *ui_choice_name(const struct ui *ui, size_t index);
int ui_choice_key(const struct ui *ui, size_t index);
bool ui_choice_is_possible(const struct ui *ui, size_t index);

#endif
