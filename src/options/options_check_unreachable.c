// SPDX-License-Identifier: Apache-2.0
#include "options/options_check.h"

#include "options/option_errors.h"

#define SAMPLED                                                                          \
	"traces some blocks only: what an untraced lost block points to would seem "     \
	"reachable"
#define NOT_ALL "does not trace all blocks: others would count as free memory"

/* Options with which memtrace does not know all live blocks of a process. */
static const struct {
	enum option_id id;
	const char *why;
	bool is_of_strict; /* clashes with --unreachable-strict only */
} clashes[] = {
	{OPTION_SAMPLE_EVERY, SAMPLED, false},
	{OPTION_SAMPLE_BYTES, SAMPLED, false},
	{OPTION_KERNEL, "traces the kernel, which has no process to search", false},
	{OPTION_OTEL_MEMORY,
	 "traces blocks that the program reports, which it may never hold by a pointer",
	 false},
	{OPTION_MIN_SIZE, NOT_ALL, true},
	{OPTION_MAX_SIZE, NOT_ALL, true},
	{OPTION_LIB, NOT_ALL, true},
	{OPTION_SYMBOLS_PREFIX, NOT_ALL, true},
};

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

/* `by`: the option that asks for a search. */
static struct error *check_clashes(const struct options_given *given, enum option_id by)
{
	for (size_t i = 0; i < sizeof(clashes) / sizeof(*clashes); i++) {
		bool is_of_strict = clashes[i].is_of_strict;

		if (given->values[clashes[i].id] &&
		    (!is_of_strict || given->options->unreachable_strict))
			return option_error_clash(is_of_strict ? OPTION_UNREACHABLE_STRICT
							       : by,
						  clashes[i].id, clashes[i].why);
	}
	return NULL;
}

struct error *options_check_unreachable(const struct options_given *given)
{
	static const enum option_id details[] = {
		OPTION_MAX_PAUSE, OPTION_UNREACHABLE_UNALIGNED, OPTION_UNREACHABLE_TAGGED,
		OPTION_UNREACHABLE_STRICT};
	struct options *options = given->options;
	enum option_id by = asked_by(given);
	struct error *err;

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
	err = check_clashes(given, by);
	if (err)
		return err;
	if (!options->pid_count && !options->command)
		return option_error("--%s needs a process or a command: it stops what it "
				    "searches; add -p PID",
				    option_rows[by].name);
	if (options->unreachable_strict && !options->command)
		return option_error("--unreachable-strict needs a program that memtrace "
				    "starts: blocks from before the attach are not "
				    "known; add -- COMMAND");
	return NULL;
}
