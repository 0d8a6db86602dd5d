// SPDX-License-Identifier: Apache-2.0
#include "options/options_check.h"

#include "options/option_errors.h"

struct error *options_check_unreachable(const struct options_given *given)
{
	struct options *options = given->options;
	bool is_of_every = given->values[OPTION_UNREACHABLE_EVERY] &&
			   !given->values[OPTION_UNREACHABLE];

	if (options->action != ACTION_TRACE)
		options->unreachable = false;
	if (!options->unreachable)
		return NULL;
	if (!options->pid_count && !options->command)
		return option_error("--%s needs a process or a command: it stops what it "
				    "searches; add -p PID",
				    is_of_every
					    ? option_rows[OPTION_UNREACHABLE_EVERY].name
					    : option_rows[OPTION_UNREACHABLE].name);
	if (options->unreachable_strict && !options->command)
		return option_error("--unreachable-strict needs a program that memtrace "
				    "starts: blocks from before the attach are not "
				    "known; add -- COMMAND");
	return NULL;
}
