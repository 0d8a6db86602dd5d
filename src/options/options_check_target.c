// SPDX-License-Identifier: Apache-2.0
/* Checks of the options that choose which processes are traced. */
#include "options/option_errors.h"
#include "options/options_check.h"
#include "util/glob.h"
#include "util/path.h"

/* Are probes set in all processes? */
static bool is_wide(const struct options_given *given)
{
	const struct options *options = given->options;

	return !options->pid_count && !options->command && !options->dry_run &&
	       options_can(given, MODE_PROCESSES) &&
	       (options->library || options_can(given, MODE_HITS));
}

/* The C library is in every process, an allocator of its own in few. */
static bool touches_all(const struct options_given *given)
{
	static const char *const names[] = {"libc.so*", "libc-2.*", "libc.musl*",
					    "ld-musl*"};

	if (options_can(given, MODE_HITS))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (glob_match(names[i], path_base_name(given->options->library)))
			return true;
	return false;
}

static struct error *check_all(const struct options_given *given)
{
	const struct options *options = given->options;

	if (options->pid_count || options->command)
		return option_error("--all does not work with a process or a command: it "
				    "traces every process");
	if (!is_wide(given))
		return option_error("--all needs --growth, --event SPEC or --lib FILE, "
				    "which say what to trace in every process");
	if (options->follow_forks)
		return option_error("--follow-forks does not work with --all, which "
				    "traces every process anyway");
	return NULL;
}

/* The name of the option that makes a run trace all processes. */
static const char *wide_option(const struct options_given *given)
{
	return option_rows[options_can(given, MODE_HITS) ? options_mode_option(given)
							 : OPTION_LIB]
		.name;
}

struct error *options_check_target(const struct options_given *given)
{
	const struct options *options = given->options;

	if (options->action != ACTION_TRACE)
		return NULL;
	if (options->follow_exec_of)
		return options_check_supervisor(given);
	if (options->wait_for)
		return options_check_wait_for(given);
	if (options->all)
		return check_all(given);
	if (options->pid_count && options->program)
		return option_error("--program does not work with --pid: one starts a "
				    "process, the other names one that runs already");
	if (!options->pid_count && !options->command && !options->library &&
	    options_can(given, MODE_CALLS))
		return option_error(
			"which process? Try memtrace -p PID (pidof NAME "
			"finds it) or memtrace -- COMMAND; --help shows more");
	if (options->pid_count && options->command)
		return option_error("--pid does not work with a command after '--': one "
				    "names a process that runs already, the other starts "
				    "one");
	if (is_wide(given) && touches_all(given))
		return option_error("--%s %s traces every process of the machine: add "
				    "--all if that is meant, or -p PID",
				    wide_option(given),
				    options_can(given, MODE_HITS) ? "without a process"
								  : "of the C library");
	if (options->follow_forks && !options->pid_count && !options->command)
		return option_error("--follow-forks needs --pid or a command; --%s alone "
				    "traces every process anyway",
				    wide_option(given));
	return NULL;
}

enum option_id options_mode_option(const struct options_given *given)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		if (option_rows[i].selects && given->values[i] &&
		    option_rows[i].selects == given->options->trace.mode)
			return (enum option_id)i;
	return OPTION_ID_COUNT;
}
