/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --help and the man page say beside the table of options: the forms of a command
 * line, the options that are used most, and examples. Static strings, without line ends.
 */
#ifndef OPTIONS_OPTION_TEXTS_H
#define OPTIONS_OPTION_TEXTS_H

#include "options/option_table.h"

struct option_example {
	const char *command;
	const char *meaning; /* what it does, as the rest of a sentence */
};

/* The forms of a command line. Words in capitals stand for values. Ended by NULL. */
extern const char *const option_usages[];

/* The options that --help shows, each in one line, in this order. An id of
 * OPTION_ID_COUNT ends the table. */
struct option_brief {
	enum option_id id;
	const char *text;
};

extern const struct option_brief option_briefs[];

/* Command lines that work as they are. Ended by a NULL command. */
extern const struct option_example option_examples[];

#endif
