/* SPDX-License-Identifier: Apache-2.0 */
/* What only shows when all options are known: which go together, and what one brings with
 * it. Private to cli/. */
#ifndef CLI_OPTIONS_CHECK_H
#define CLI_OPTIONS_CHECK_H

#include "cli/option_table.h"

struct options_given {
	struct options *options;
	/* The value that counts for each option, "" for a flag; NULL: not given. Borrowed
	 * from argv. */
	const char *values[OPTION_ID_COUNT];
};

/* Fill in defaults that depend on other options. ERROR_USAGE: the first that does not go
 * with the rest, in one line as of options_parse(). */
struct error *options_check(const struct options_given *given)
	__attribute__((warn_unused_result));

#endif
