// SPDX-License-Identifier: Apache-2.0
/*
 * Which options work together. A row of the option table says what the option needs of
 * the run, and what it gives and denies to others. The other checks are about values, and
 * about which processes are traced.
 */
#include "options/options_check.h"

#include "options/option_errors.h"
#include "render/views/views.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

/* What a run has only if an option gives it, and the words for these options. */
static const struct {
	enum run_ability ability;
	const char *givers; /* completes "--OPTION needs ..." */
} given_abilities[] = {
	{RUN_SEARCH, "--unreachable"},
	{RUN_FILES, "a file to write, such as --pprof FILE"},
	{RUN_STACKS, "--flame FILE, --flamegraph FILE or --html FILE"},
	{RUN_GRAPH, "--flame FILE or --html FILE"},
	{RUN_TREE, "--flame FILE, --html FILE or --view tree"},
	{RUN_LISTEN, "--listen ADDRESS:PORT"},
};

/* The abilities that the options give. */
static unsigned abilities_given(const struct options_given *given)
{
	const struct options *options = given->options;
	unsigned abilities = 0;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		if (!given->values[i])
			continue;
		abilities |= option_rows[i].gives;
		if (option_rows[i].kind == KIND_PATTERN)
			abilities |= RUN_FILES;
	}
	/* Values of --view, --sort and --flame-of. */
	if (options->unreachable)
		abilities |= RUN_SEARCH;
	if (view_find(options->view)->is_tree)
		abilities |= RUN_TREE;
	return abilities;
}

/* The mode can do nothing of what the option needs: name the modes that can. */
static struct error *needs_mode(const struct option_row *row)
{
	unsigned needs = row->needs & ~RUN_ABILITIES;
	_cleanup_(strbuf_deinit) struct strbuf modes = {0};

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *mode = &option_rows[i];

		if (!mode->selects ||
		    !source_mode_can(&trace_modes[mode->selects]->source, needs))
			continue;
		strbuf_appendf(&modes, "%s--%s%s%s", modes.len ? " or " : "", mode->name,
			       mode->argument ? " " : "",
			       mode->argument ? mode->argument : "");
	}
	return option_error("--%s needs %s", row->name, strbuf_text(&modes));
}

/* Reject a second mode, and an option that the mode cannot honour. */
static struct error *check_mode(const struct options_given *given, enum option_id id)
{
	const struct trace_mode *mode = trace_mode_of(&given->options->trace);
	const struct option_row *row = &option_rows[id];
	enum option_id by = options_mode_option(given);

	if (given->options->action != ACTION_TRACE)
		return NULL;
	if (row->selects && id != by)
		return option_error_clash(id, by, mode->does);
	if (source_mode_can(&mode->source, row->needs & ~RUN_ABILITIES))
		return NULL;
	return by == OPTION_ID_COUNT ? needs_mode(row)
				     : option_error_clash(id, by, mode->does);
}

/* Reject an option that needs what no option gives. */
static struct error *check_given(const struct options_given *given, enum option_id id)
{
	unsigned lacks = option_rows[id].needs & ~abilities_given(given);

	for (size_t i = 0; i < sizeof(given_abilities) / sizeof(*given_abilities); i++)
		if (lacks & given_abilities[i].ability)
			return option_error("--%s needs %s", option_rows[id].name,
					    given_abilities[i].givers);
	return NULL;
}

/* Reject an option that needs what another one denies. */
static struct error *check_denied(const struct options_given *given, enum option_id id)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_denial *denials = option_rows[i].denies;

		for (size_t k = 0; given->values[i] && k < OPTION_DENIALS_MAX; k++) {
			if (option_rows[id].needs & denials[k].abilities &&
			    (!denials[k].applies || denials[k].applies(given->options)))
				return option_error_clash(id, (enum option_id)i,
							  denials[k].does);
		}
	}
	return NULL;
}

struct error *options_check_abilities(const struct options_given *given)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && i < OPTION_ID_COUNT; i++) {
		enum option_id id = (enum option_id)i;

		if (!given->values[id])
			continue;
		err = check_mode(given, id);
		if (!err)
			err = check_given(given, id);
		if (!err)
			err = check_denied(given, id);
	}
	/* --view, --sort and --flame-of may ask for the search. */
	if (!err && given->options->unreachable)
		err = check_denied(given, OPTION_UNREACHABLE);
	return err;
}
