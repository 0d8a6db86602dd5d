/* SPDX-License-Identifier: Apache-2.0 */
/* What the man page and the completions of all shells read from a row. */
#ifndef MANUAL_ROWS_H
#define MANUAL_ROWS_H

#include "options/option_table.h"
#include "util/strbuf.h"

/* The four spellings of an option at most, such as "--pid" and "-p"; long ones first. */
struct row_names {
	char names[4][32]; /* with the dashes */
	size_t count;
};

void row_names(const struct option_row *row, struct row_names *ret);

/* What shells complete the value to, besides the row's choices. */
enum option_offer row_offer(const struct option_row *row);

/* The option may be given again, and the values add up. */
bool row_repeats(const struct option_row *row);

/* Append the help up to its first ';' or remark, as the description in completions, with
 * a backslash before each character of `special`, and each ' as `quote`. */
void row_append_summary(const struct option_row *row, const char *special,
			const char *quote, struct strbuf *to);

/* Append the choices with a space between. */
void row_append_choices(const struct option_row *row, struct strbuf *to);

#endif
