// SPDX-License-Identifier: Apache-2.0
/* --follow-exec-of: a process id, or a name that is waited for. */
#include "unit/options/options_check.h"

static struct error *parse(struct options *o, char *supervisor, char *a, char *b)
{
	return parse_list(ARGV("--follow-exec-of", supervisor, a, b), o);
}

static void a_number_is_a_process(void)
{
	struct options o;
	_cleanup_(error_destroyp) struct error *err = parse(&o, "1234", "-n", "3");

	REQUIRE(!err);
	CHECK_STR(o.follow_exec_of, "1234");
	CHECK_INT(o.pid_count, 1);
	CHECK_INT(o.pids[0], 1234);
	CHECK(!o.wait_for);
	_cleanup_(error_destroyp) struct error *forks =
		parse(&o, "1234", "--follow-forks", "--growth");

	CHECK(!forks);
	CHECK(o.follow_forks);
}

static void anything_else_is_waited_for(void)
{
	static char *const names[] = {"supervisord", "/usr/bin/runsvdir",
				      "docker.service", "12a", "-"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct options o;
		_cleanup_(error_destroyp) struct error *err =
			parse(&o, names[i], "--listen", "9911");

		REQUIRE(!err);
		CHECK_STR(o.follow_exec_of, names[i]);
		CHECK_STR(o.wait_for, names[i]);
		CHECK_INT(o.pid_count, 1);
		CHECK_INT(o.pids[0], 0);
	}
}

int main(void)
{
	RUN(a_number_is_a_process);
	RUN(anything_else_is_waited_for);
	return check_done();
}
