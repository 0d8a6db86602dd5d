/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the screen: its lines, their order, and the selected line. It does not
 * depend on the terminal.
 */
#ifndef SCREEN_MODEL_H
#define SCREEN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "screen/moment.h"
#include "screen/numbers.h"
#include "screen/views.h"
#include "util/hashmap.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* What a line stands for. */
enum item_kind {
	ITEM_FRAME,   /* call paths, named after a frame of `row` */
	ITEM_GROUP,   /* call paths, named after `group` */
	ITEM_THREAD,  /* `thread` */
	ITEM_PROCESS, /* `process` */
};

/* The frame that moment_leaf() finds. It is looked for only when the line is shown. */
#define ITEM_LEAF SIZE_MAX

/* A line of the table. */
struct item {
	enum item_kind kind;
	uint64_t key; /* the same at each moment */
	struct numbers numbers;
	const struct moment *moment;  /* whose row and group: the present or the marked */
	const struct report_row *row; /* the call path that holds most; NULL: none */
	size_t frame;   /* of ITEM_FRAME: an index of row->frames, or ITEM_LEAF */
	uint32_t group; /* of ITEM_GROUP */
	const struct report_thread *thread;
	const struct report_process *process;
	/* Its call paths, in model.members. */
	uint32_t first_member, member_count;
	uint32_t step;  /* steps of its call paths that lie above it in the tree */
	uint32_t depth; /* number of lines above it in the tree */
	bool is_expandable, is_expanded;
	bool is_gone; /* held something at the mark, and nothing now */
};

struct model {
	/* Borrowed. They outlive the model, or the next model_set_moment(). */
	struct moment *moment; /* NULL: none yet */
	struct moment *marked; /* NULL: no mark is set */
	size_t section;        /* index in both */
	enum screen_view view;
	enum screen_sort sort;
	bool callees_first;      /* a call tree begins with the functions that allocate */
	struct strbuf filter;    /* "": everything is shown */
	struct strbuf search;    /* "": nothing was searched yet */
	struct hashmap expanded; /* key of an item -> true or false */
	struct hashmap marked_at; /* path key -> index of a path of the marked moment */
	/* The result of model_update(). */
	VEC(struct item) items;         /* in the order of the lines */
	VEC(uint32_t) members;          /* indexes of paths of the section */
	VEC(int64_t) deltas;            /* by path: bytes since the mark */
	uint64_t shown_bytes;           /* of the call paths that the filter shows */
	size_t path_count, shown_count; /* call paths: all, and those shown */
	int64_t gone_bytes; /* held at the mark by call paths that hold nothing now;
			       negative */
	size_t gone_count;
	size_t selected; /* index of an item; 0 without items */
	size_t first;    /* the item on the first line */
	unsigned page;   /* lines of the table */
};

void model_init(struct model *ret);
void model_deinit(struct model *model);

/* Does the report have what the view shows? */
bool model_has_data(const struct model *model, enum screen_view view);

/* Show another moment; the selection stays on its line. NULL is not allowed. False:
 * memory is out. */
bool model_set_moment(struct model *model, struct moment *moment)
	__attribute__((warn_unused_result));
/* Set the mark to a moment, or with NULL remove it. */
bool model_set_mark(struct model *model, struct moment *marked)
	__attribute__((warn_unused_result));
/* These change what is shown. The caller calls model_update() afterwards. */
void model_set_view(struct model *model, enum screen_view view);
void model_set_filter(struct model *model, const char *text);

/* Make the lines anew after a change. False: memory is out. */
bool model_update(struct model *model) __attribute__((warn_unused_result));

/* Move the selection by this many lines, or to the first or last line. */
void model_move(struct model *model, long lines);
void model_select(struct model *model, size_t index);
/* Tell the number of lines of the table; scrolls so that the selection is visible. */
void model_set_page(struct model *model, unsigned lines);

/* Expand or collapse the selected line. Collapsing a line that is not expanded collapses
 * the line above it in the tree. False: memory is out. */
bool model_expand(struct model *model) __attribute__((warn_unused_result));
bool model_collapse(struct model *model) __attribute__((warn_unused_result));

/* Select the next line (with `backwards` the one before) whose name contains
 * `model->search`. False: not found. */
bool model_search(struct model *model, bool backwards);

/* The selected item, or NULL. */
const struct item *model_selected(const struct model *model);

/* Append the name of an item, escaped, in at most `columns`. */
void model_append_name(const struct model *model, const struct item *item, size_t columns,
		       bool utf8, struct strbuf *out);
/* Append the base name of its module, escaped; nothing if it has none. */
void model_append_module(const struct item *item, struct strbuf *out);

#endif
