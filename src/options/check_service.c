// SPDX-License-Identifier: Apache-2.0
/* Checks the options of a run that serves others: --listen, --wait-for and
 * --follow-exec-of. */
#include "options/options_check.h"

#include <string.h>

#include "options/option_errors.h"
#include "util/listen_address.h"
#include "util/units.h"

/* A run that waits for processes does not end by itself. `by` makes it wait. */
static struct error *check_endless(const struct options_given *given, enum option_id by,
				   const char *why)
{
	static const enum option_id others[] = {OPTION_COUNT, OPTION_DURATION,
						OPTION_DRY_RUN, OPTION_ALL, OPTION_LIVE};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (given->values[others[i]])
			return option_error_clash(others[i], by, why);
	return NULL;
}

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
	if (given->values[OPTION_ALL])
		return option_error_clash(OPTION_ALL, OPTION_FOLLOW_EXEC_OF,
					  "traces what one process starts");
	if (!options->wait_for)
		return NULL;
	return check_endless(given, OPTION_FOLLOW_EXEC_OF,
			     "with a name waits for this process until it is stopped; "
			     "give its process id instead");
}

struct error *options_check_wait_for(const struct options_given *given)
{
	if (given->values[OPTION_PID] || given->options->command)
		return option_error(
			"--wait-for does not work with --pid or a command: it "
			"finds the process itself");
	return check_endless(given, OPTION_WAIT_FOR,
			     "traces one process after the other until it is stopped");
}

struct error *options_check_listen(const struct options_given *given)
{
	struct options *options = given->options;
	struct listen_address address;
	struct error *err;

	if (!options->listen)
		return options->listen_allow_remote
			       ? option_error("--listen-allow-remote needs --listen "
					      "ADDRESS:PORT")
			       : NULL;
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
