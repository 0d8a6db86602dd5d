/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --help and the man page say beside the options: the forms of a command line and
 * examples. Static strings, without line ends.
 */
#ifndef CLI_OPTION_TEXTS_H
#define CLI_OPTION_TEXTS_H

struct option_example {
	const char *command;
	const char *meaning; /* what it does, as the rest of a sentence */
};

/* The forms of a command line. Words in capitals stand for values. Ended by NULL. */
extern const char *const option_usages[];

/* Command lines that work as they are. Ended by a NULL command. */
extern const struct option_example option_examples[];

#endif
