// SPDX-License-Identifier: Apache-2.0
/* --wait-for: a run with one process that is not known yet. */
#include "unit/options/options_check.h"

static struct error *parse(struct options *o, char *a, char *b)
{
	return parse_list(ARGV("--wait-for", "server", a, b), o);
}

static void is_a_process(void)
{
	struct options o;
	_cleanup_(error_destroyp) struct error *err = parse(&o, NULL, NULL);

	REQUIRE(!err);
	CHECK_STR(o.wait_for, "server");
	CHECK_INT(o.pid_count, 1);
	CHECK_INT(o.pids[0], 0);
	_cleanup_(error_destroyp) struct error *forks =
		parse(&o, "--follow-forks", "--growth");

	CHECK(!forks);
}

static void others_are_refused(void)
{
	struct options o;
	_cleanup_(error_destroyp) struct error *pid = parse(&o, "-p", "1");
	_cleanup_(error_destroyp) struct error *command = parse(&o, "--", "true");
	_cleanup_(error_destroyp) struct error *all = parse(&o, "--growth", "--all");
	_cleanup_(error_destroyp) struct error *replay = parse(&o, "--replay", "x.mts");

	_cleanup_(error_destroyp) struct error *count = parse(&o, "-n", "3");
	_cleanup_(error_destroyp) struct error *dry = parse(&o, "--dry-run", NULL);

	REQUIRE(pid && command && all && replay && count && dry);
	CHECK_CONTAINS(count->message, "until it is stopped");
	CHECK_CONTAINS(pid->message, "--wait-for does not work with --pid");
	CHECK_CONTAINS(command->message, "--wait-for does not work with");
	CHECK_CONTAINS(replay->message, "--wait-for");
}

int main(void)
{
	RUN(is_a_process);
	RUN(others_are_refused);
	return check_done();
}
