// SPDX-License-Identifier: Apache-2.0
/* Checks the options of a run that serves others: --listen and --wait-for. */
#include "options/options_check.h"

#include "options/option_errors.h"
#include "util/listen_address.h"

struct error *options_check_wait_for(const struct options_given *given)
{
	static const enum option_id others[] = {OPTION_COUNT, OPTION_DURATION,
						OPTION_DRY_RUN, OPTION_ALL, OPTION_LIVE};

	if (given->values[OPTION_PID] || given->options->command)
		return option_error(
			"--wait-for does not work with --pid or a command: it "
			"finds the process itself");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (given->values[others[i]])
			return option_error_clash(others[i], OPTION_WAIT_FOR,
						  "traces one process after the other "
						  "until it is stopped");
	return NULL;
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
