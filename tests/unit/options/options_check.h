/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the command line: argv lists, and a check that a command line is
 * accepted. */
#ifndef TESTS_UNIT_CLI_OPTIONS_CHECK_H
#define TESTS_UNIT_CLI_OPTIONS_CHECK_H

#include "check.h"
#include "options/options.h"
#include "util/cleanup.h"

#define ARGC_MAX 16

static inline struct error *parse_list(char *const *argv, struct options *options)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return options_parse(argc, argv, options);
}

#define ARGV(...) ((char *[ARGC_MAX]){"memtrace", __VA_ARGS__})

/* Parses options that must be valid, after --pid 1. */
#define PARSE(options, ...)                                                              \
	do {                                                                             \
		_cleanup_(error_destroyp) struct error *err_ =                           \
			parse_list(ARGV("--pid=1", __VA_ARGS__), options);               \
		if (err_)                                                                \
			CHECK_FAIL("%s", err_->message);                                 \
		REQUIRE(!err_);                                                          \
	} while (0)

#endif
