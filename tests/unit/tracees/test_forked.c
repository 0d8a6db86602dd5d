// SPDX-License-Identifier: Apache-2.0
/* The message about children that are not followed. */
#include "said.h"
#include "unit/process/child.h"

#include "tracees/forked.h"
#include "util/cleanup.h"

static void check_said(size_t count, const char *want)
{
	_cleanup_(children_deinit) struct children children = {0};
	_cleanup_(freep) char *text = NULL;
	struct said said;

	for (size_t i = 0; i < count; i++)
		REQUIRE(vec_push(&children.pids, 100 + (int)i));
	said = said_begin();
	forked_say(&children);
	text = said_end(said);
	CHECK_STR(text, want);
}

static void in_one_line(void)
{
	check_said(0, "");
	check_said(1, "memtrace: --follow-forks does not trace 1 child process that runs "
		      "already: pid 100; name them with --pid too, or use --lib FILE\n");
	check_said(2,
		   "memtrace: --follow-forks does not trace 2 child processes that run "
		   "already: pids 100,101; name them with --pid too, or use --lib "
		   "FILE\n");
	check_said(9,
		   "memtrace: --follow-forks does not trace 9 child processes that run "
		   "already: pids 100,101,102,103,104,105,106,107,...; name them with "
		   "--pid too, or use --lib FILE\n");
}

/* Counts the found children. Another child does this, which must not be counted. */
static int count_found(const struct options *options)
{
	struct child child = child_fork(NULL, NULL);
	int asker, status = -1;

	asker = fork();
	REQUIRE(asker >= 0);
	if (!asker) {
		struct children children;

		_exit(forked_find(options, &children) ? 99 : (int)children.pids.len);
	}
	REQUIRE(waitpid(asker, &status, 0) == asker);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	return WEXITSTATUS(status);
}

static void only_where_children_are_wanted(void)
{
	struct options options = {.pids = {(int)getpid()}, .pid_count = 1};

	CHECK_INT(count_found(&options), 0);
	options.follow_forks = true;
	CHECK_INT(count_found(&options), 1);
	options.pid_count = 0;
	CHECK_INT(count_found(&options), 0);
}

int main(void)
{
	RUN(in_one_line);
	RUN(only_where_children_are_wanted);
	return check_done();
}
