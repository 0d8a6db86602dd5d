// SPDX-License-Identifier: Apache-2.0
#include "options/options_check.h"

#include "options/option_errors.h"

/* Options with which memtrace does not know all live blocks of a process. */
static const struct {
	enum option_id id;
	const char *why;
} clashes[] = {
	{OPTION_SAMPLE_EVERY, "traces some blocks only: those that others hold would "
			      "seem lost"},
	{OPTION_SAMPLE_BYTES, "traces some blocks only: those that others hold would "
			      "seem lost"},
	{OPTION_KERNEL, "traces the kernel, which has no process to search"},
	{OPTION_OTEL_MEMORY, "traces blocks that the program reports, which it may never "
			     "hold by a pointer"},
};

/* Runs in which the blocks of a command are not all traced. */
static const enum option_id hiding[] = {OPTION_MIN_SIZE, OPTION_MAX_SIZE, OPTION_LIB,
					OPTION_SYMBOLS_PREFIX};

static struct error *check_strict(const struct options_given *given)
{
	if (!given->options->unreachable_strict)
		return NULL;
	for (size_t i = 0; i < sizeof(hiding) / sizeof(*hiding); i++)
		if (given->values[hiding[i]])
			return option_error_clash(
				OPTION_UNREACHABLE_STRICT, hiding[i],
				"does not trace all blocks: others would count as free "
				"memory");
	if (!given->options->command)
		return option_error("--unreachable-strict needs a program that memtrace "
				    "starts: blocks from before the attach are not "
				    "known; add -- COMMAND");
	return NULL;
}

/* The option that asks for a search, or OPTION_ID_COUNT. */
static enum option_id asked_by(const struct options_given *given)
{
	static const enum option_id ids[] = {OPTION_UNREACHABLE,
					     OPTION_UNREACHABLE_EVERY};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (given->values[ids[i]])
			return ids[i];
	return OPTION_ID_COUNT;
}

struct error *options_check_unreachable(const struct options_given *given)
{
	static const enum option_id details[] = {
		OPTION_MAX_PAUSE, OPTION_UNREACHABLE_UNALIGNED, OPTION_UNREACHABLE_TAGGED,
		OPTION_UNREACHABLE_STRICT};
	struct options *options = given->options;
	enum option_id by = asked_by(given);

	if (options->action != ACTION_TRACE) {
		options->unreachable = false;
		return NULL;
	}
	options->unreachable |= options->unreachable_every != 0;
	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++)
		if (given->values[details[i]] && !options->unreachable)
			return option_error("--%s needs --unreachable",
					    option_rows[details[i]].name);
	if (!options->unreachable)
		return NULL;
	/* A view or an order asks for it. */
	if (by == OPTION_ID_COUNT)
		by = OPTION_UNREACHABLE;
	for (size_t i = 0; i < sizeof(clashes) / sizeof(*clashes); i++)
		if (given->values[clashes[i].id])
			return option_error_clash(by, clashes[i].id, clashes[i].why);
	if (!options->pid_count && !options->command)
		return option_error("--%s needs a process or a command: it stops what it "
				    "searches; add -p PID",
				    option_rows[by].name);
	return check_strict(given);
}
