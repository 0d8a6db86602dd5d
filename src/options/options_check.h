/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that need all options: which options exclude or require each other, and which
 * options imply others. Private to options/. */
#ifndef OPTIONS_OPTIONS_CHECK_H
#define OPTIONS_OPTIONS_CHECK_H

#include "options/option_table.h"
#include "trace/trace_mode.h"

struct options_given {
	struct options *options;
	/* The value in effect for each option; "" for a flag; NULL: not given. Borrowed
	 * from argv. */
	const char *values[OPTION_ID_COUNT];
};

/* Check that each option has what it needs of the run, by the rows of the option table;
 * check_abilities.c. */
struct error *options_check_abilities(const struct options_given *given)
	__attribute__((warn_unused_result));

/* Check the options of the search for unreachable blocks; for options_check(). */
struct error *options_check_unreachable(const struct options_given *given)
	__attribute__((warn_unused_result));

/* Fill in defaults that depend on other options. ERROR_USAGE: the message is one line, as
 * of options_parse(), about the first option that conflicts with the others. */
struct error *options_check(const struct options_given *given)
	__attribute__((warn_unused_result));

/* --- for the checks ----------------------------------------------------------------- */

/* Can the mode do all of `abilities` (enum mode_ability)? */
static inline bool options_can(const struct options_given *given, unsigned abilities)
{
	return trace_mode_can(&given->options->trace, abilities);
}

/* The option that selects the mode. OPTION_ID_COUNT: none, the mode is the default. */
enum option_id options_mode_option(const struct options_given *given);

/* Check the options that choose what to trace. */
struct error *options_check_target(const struct options_given *given)
	__attribute__((warn_unused_result));

/* --follow-exec-of as a process id or a name (check_service.c). */
void options_settle_supervisor(struct options *options);

/* --follow-exec-of with another choice of processes (check_service.c). */
struct error *options_check_supervisor(const struct options_given *given)
	__attribute__((warn_unused_result));

/* --wait-for, instead of other choices of processes; and --listen, which is checked last.
 * check_service.c; private to options/. */
struct error *options_check_wait_for(const struct options_given *given)
	__attribute__((warn_unused_result));
struct error *options_check_listen(const struct options_given *given)
	__attribute__((warn_unused_result));

#endif
