// SPDX-License-Identifier: Apache-2.0
/* Checks the options of a run that serves others: --listen, --wait-for and
 * --follow-exec-of. */
#include "options/options_check.h"

#include <string.h>

#include "options/option_errors.h"
#include "util/listen_address.h"
#include "util/units.h"

/* Is it a number, which can only be a process id? */
static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

void options_settle_supervisor(struct options *options)
{
	const struct option_row *pid = &option_rows[OPTION_PID];
	const char *value = options->follow_exec_of;
	uint64_t number;

	/* options_check_supervisor() refuses other choices. */
	if (!value || options->pid_count || options->wait_for)
		return;
	if (!is_number(value)) {
		options->wait_for = value;
	} else if (units_parse_integer(value, pid->min, pid->max, &number)) {
		options->pids[0] = (int)number;
		options->pid_count = 1;
	}
}

struct error *options_check_supervisor(const struct options_given *given)
{
	const struct options *options = given->options;
	const struct option_row *row = &option_rows[OPTION_FOLLOW_EXEC_OF];

	/* The check of the mode refuses it. */
	if (!options_can(given, MODE_FORKS))
		return NULL;
	if (given->values[OPTION_PID] || given->values[OPTION_WAIT_FOR] ||
	    options->command)
		return option_error("--follow-exec-of does not work with --pid, "
				    "--wait-for or a command: it traces what the "
				    "supervisor starts");
	if (!options->pid_count)
		return option_error_value(row, "--follow-exec-of",
					  options->follow_exec_of);
	return NULL;
}

struct error *options_check_wait_for(const struct options_given *given)
{
	if (given->values[OPTION_PID] || given->options->command)
		return option_error(
			"--wait-for does not work with --pid or a command: it "
			"finds the process itself");
	return NULL;
}

struct error *options_check_listen(const struct options_given *given)
{
	struct options *options = given->options;
	struct listen_address address;
	struct error *err;

	if (!options->listen)
		return NULL;
	options->prints_nothing = !given->values[OPTION_OUTPUT] &&
				  !given->values[OPTION_FORMAT] && !options->live;
	/* Scraped profiles and totals shall agree. */
	if (!given->values[OPTION_OLDER])
		options->older_ns = 0;
	err = listen_address_parse(options->listen, &address);
	if (err)
		return error_prefix(err, "--listen %s", options->listen);
	if (!address.path && !address.is_loopback && !options->listen_allow_remote)
		return option_error(
			"--listen %s: other machines reach this address, and profiles "
			"tell what the program is: add --listen-allow-remote if that is "
			"meant, or use 127.0.0.1 or unix:PATH",
			options->listen);
	return NULL;
}
