/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every message about a wrong command line, except those about the contents of --event
 * and of patterns, whose parsers have their own. Each function returns an error
 * ERROR_USAGE of one line: what is wrong, and what to write instead. Arguments of the
 * user are escaped. `spelled` is the option as the user wrote it ("-i",
 * "--sample-rate"). Private to options/.
 */
#ifndef OPTIONS_OPTION_ERRORS_H
#define OPTIONS_OPTION_ERRORS_H

#include <stddef.h>

#include "options/option_table.h"
#include "util/error.h"

#define OPTION_ERROR __attribute__((warn_unused_result, returns_nonnull))

/* --- one option --------------------------------------------------------------------- */

/* An option that does not exist, given as `dashes` and `len` bytes of `name`. `whole`:
 * the argument, if the option is one letter among others in it; else NULL. */
struct error *option_error_unknown(const char *dashes, const char *name, size_t len,
				   const char *whole) OPTION_ERROR;

/* An argument that is not an option. `pid_count`: how many processes were given
 * before. */
struct error *option_error_argument(const char *arg, size_t pid_count) OPTION_ERROR;

struct error *option_error_value(const struct option_row *row, const char *spelled,
				 const char *value) OPTION_ERROR;
struct error *option_error_no_value(const struct option_row *row,
				    const char *spelled) OPTION_ERROR;
/* The value looks like an option. */
struct error *option_error_dashes(const struct option_row *row, const char *spelled,
				  const char *value) OPTION_ERROR;
/* A flag with a value. */
struct error *option_error_flag(const char *spelled, const char *value) OPTION_ERROR;
/* Two different values of an option that takes one. */
struct error *option_error_twice(const char *spelled, const char *one,
				 const char *other) OPTION_ERROR;
struct error *option_error_many(const char *spelled) OPTION_ERROR;
struct error *option_error_one_of_two(const struct option_row *row,
				      const char *spelled) OPTION_ERROR;

/* --- several options ---------------------------------------------------------------- */

/* "--A does not work with --B, which WHY". If another option does what --A is for, the
 * message names it. */
struct error *option_error_clash(enum option_id a, enum option_id b,
				 const char *why) OPTION_ERROR;

/* The same for one value of --A: "--A VALUE does not work with --B, which WHY". */
struct error *option_error_clash_value(enum option_id a, const char *value,
				       enum option_id b, const char *why) OPTION_ERROR;

/* Two files with one name. */
struct error *option_error_same_file(enum option_id a, enum option_id b,
				     const char *name) OPTION_ERROR;

/* Any other message, printf-style. */
#define option_error(...) error_create(ERROR_USAGE, __VA_ARGS__)

#endif
