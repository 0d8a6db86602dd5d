/* SPDX-License-Identifier: Apache-2.0 */
/* What the user probably meant by a value that an option does not accept. Private to
 * options/. */
#ifndef OPTIONS_OPTION_HINTS_H
#define OPTIONS_OPTION_HINTS_H

#include "options/option_table.h"
#include "util/strbuf.h"

/*
 * Append a suggestion, such as "; did you mean '10m'?" for 10min, or nothing if there is
 * none. `spelled` is the option as the user wrote it. For --pid and the name of a
 * program, /proc is searched for processes of that name.
 */
void option_hint(const struct option_row *row, const char *spelled, const char *value,
		 struct strbuf *ret);

#endif
