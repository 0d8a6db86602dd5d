// SPDX-License-Identifier: Apache-2.0
/* Each option works with the trace modes that can do what its row needs, and is refused
 * with the others. */
#include "unit/options/options_check.h"
#include "unit/options/option_value.h"

#include "options/option_table.h"
#include "trace/trace_mode.h"

/* Is the option refused beside the one that selects the mode? */
static bool is_refused(const struct option_row *row, const struct option_row *mode,
		       struct error **ret)
{
	char option[128], by[128];
	struct options options;

	option_spell(row, option);
	option_spell(mode, by);
	*ret = parse_list(ARGV("--pid=1", by, option, "--flame=a"), &options);
	return *ret && strstr((*ret)->message, row->name) &&
	       strstr((*ret)->message, mode->name);
}

static void modes_refuse_what_they_cannot_do(void)
{
	unsigned refused = 0, tried = 0;

	for (size_t m = 0; m < OPTION_ID_COUNT; m++) {
		const struct option_row *mode = &option_rows[m];

		for (size_t i = 0; mode->selects && i < OPTION_ID_COUNT; i++) {
			const struct option_row *row = &option_rows[i];
			const struct source_mode *able =
				&trace_modes[mode->selects]->source;
			_cleanup_(error_destroyp) struct error *err = NULL;
			unsigned needs = row->needs & ~RUN_ABILITIES;
			bool is_wrong;

			/* --all is refused beside any process. */
			if (!needs || i == OPTION_ALL)
				continue;
			tried++;
			is_wrong = is_refused(row, mode, &err) ==
				   source_mode_can(able, needs);
			refused += err != NULL;
			if (is_wrong)
				CHECK_FAIL("--%s beside --%s: %s", row->name, mode->name,
					   err ? err->message : "accepted");
		}
	}
	CHECK(tried > 100 && refused > 50);
}

/* In the default mode, which no option selects, the message names the modes. */
static void without_a_mode_the_message_names_those_that_can(void)
{
	struct options options;
	_cleanup_(error_destroyp) struct error *err =
		parse_list(ARGV("--pid=1", "--kernel-stacks"), &options);

	REQUIRE(err);
	CHECK_CONTAINS(err->message, "--kernel-stacks needs --event SPEC or --growth");
}

/* Each mode but the default has an option that selects it. */
static void each_mode_can_be_selected(void)
{
	for (int id = 1; id < TRACE_MODE_COUNT; id++) {
		unsigned count = 0;

		for (size_t i = 0; i < OPTION_ID_COUNT; i++)
			count += option_rows[i].selects == (enum trace_mode_id)id;
		CHECK_INT(count, 1);
		CHECK(trace_modes[id]->does && trace_modes[id]->drain);
	}
	CHECK(!trace_modes[TRACE_MODE_HEAP]->event);
}

int main(void)
{
	RUN(modes_refuse_what_they_cannot_do);
	RUN(without_a_mode_the_message_names_those_that_can);
	RUN(each_mode_can_be_selected);
	return check_done();
}
