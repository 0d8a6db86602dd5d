// SPDX-License-Identifier: Apache-2.0
#include "util/phases.h"

#include "check.h"
#include "util/cleanup.h"

#define MS UINT64_C(1000000)

static void adds_up(void)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct phases phases = {.count = 0};

	phases_begin(&phases, "planning", 1000 * MS);
	phases_begin(&phases, "compiling", 1012 * MS);
	phases_end(&phases, 1231 * MS);
	phases_append(&phases, &text);
	CHECK_STR(strbuf_text(&text), "0.231 s: planning 12 ms, compiling 219 ms");
}

/* Half a millisecond in each of two phases: the sum is made of the times, not of the
 * printed numbers. */
static void rounds(void)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct phases phases = {.count = 0};

	phases_begin(&phases, "one", 0);
	phases_begin(&phases, "two", MS / 2);
	phases_end(&phases, MS);
	phases_append(&phases, &text);
	CHECK_STR(strbuf_text(&text), "0.001 s: one 1 ms, two 1 ms");
}

static void keeps_to_its_room(void)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct phases phases = {.count = 0};

	for (uint64_t i = 0; i < PHASES_MAX + 3; i++)
		phases_begin(&phases, "p", i * MS);
	phases_end(&phases, (PHASES_MAX + 3) * MS);
	CHECK_INT(phases.count, PHASES_MAX);
	CHECK_INT(phases.list[PHASES_MAX - 2].time_ns, MS);
	CHECK_INT(phases.list[PHASES_MAX - 1].time_ns, 4 * MS);
	phases_begin(NULL, "nothing", 0);
	phases_append(&(struct phases){.count = 0}, &text);
	CHECK_STR(strbuf_text(&text), "0.000 s");
}

int main(void)
{
	RUN(adds_up);
	RUN(rounds);
	RUN(keeps_to_its_room);
	return check_done();
}
