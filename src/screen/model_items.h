/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the lines of a view. Private to the model. */
#ifndef SCREEN_MODEL_ITEMS_H
#define SCREEN_MODEL_ITEMS_H

#include "screen/model.h"

/* Which frames of a moment have a name, module or file with this text, ignoring case.
 * *ret is by report_frame.index and is the caller's. False: memory is out. */
bool items_match_frames(const struct moment *moment, size_t section, const char *text,
			bool **ret) __attribute__((warn_unused_result));

/* Fill the items of the view that are not below others, unsorted, with their members.
 * `shown` is by path: false: the filter leaves it out. False: memory is out. */
bool items_fill(struct model *model, const bool *shown)
	__attribute__((warn_unused_result));

/* Append to model->items, unsorted, the items below item number `parent`. */
bool items_fill_below(struct model *model, const struct item *parent)
	__attribute__((warn_unused_result));

#endif
