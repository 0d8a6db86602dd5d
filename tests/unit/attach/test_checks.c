// SPDX-License-Identifier: Apache-2.0
/* Which functions have a check. live.checks runs checks. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "attach/checks_private.h"

/* As many as docs/limitations.md says. */
#define MAX 1024

static struct abi_check records[ABI_MAX_CHECKS];
static struct checks checks = {.records = records, .lock = PTHREAD_MUTEX_INITIALIZER};

/* Functions with the same `file_number` are in one file. */
static void add(uint64_t file_number)
{
	struct check_request request = {
		.file_number = file_number, .offset = 64, .function = "f", .module = "m"};
	const struct check_probe site = {64, 1}, end = {80, 2};

	REQUIRE(vec_push(&request.sites, site));
	REQUIRE(vec_push(&request.exits, end));
	CHECK(!checks_add(&checks, &request));
	CHECK_INT(request.sites.len, 0);
}

static void so_many_have_a_check(void)
{
	for (uint64_t i = 1; i <= MAX; i++)
		add(i);
	CHECK_INT(checks.list.len, MAX);
	CHECK_INT(checks_left_out(&checks), 0);
	vec_foreach (check, &checks.list)
		CHECK_INT(ABI_CHECK_NUMBER((*check)->request.exits.data[0].meaning),
			  check - checks.list.data);
}

/* One that has a check already is only probed for one more process. */
static void others_are_counted(void)
{
	add(MAX + 1);
	add(MAX + 2);
	CHECK_INT(checks.list.len, MAX);
	CHECK_INT(checks_left_out(&checks), 2);
	add(7);
	CHECK_INT(checks_left_out(&checks), 2);
	CHECK_INT(checks.list.data[6]->processes.len, 2);
}

/* An unloaded file frees its check after a rest. */
static void a_number_is_reused(void)
{
	struct check *check = checks.list.data[6];

	checks_remove_file(&checks, -1, 7);
	CHECK_INT(check_state_of(&checks, check), ABI_CHECK_OVER);
	add(MAX + 3);
	CHECK_INT(checks_left_out(&checks), 3);
	REQUIRE(check->rests_ns);
	check->rests_ns = 1;
	add(MAX + 4);
	CHECK_INT(checks_left_out(&checks), 3);
	CHECK_INT(check->request.file_number, MAX + 4);
	CHECK_INT(check_state_of(&checks, check), ABI_CHECK_IDLE);
	CHECK_INT(ABI_CHECK_NUMBER(check->request.exits.data[0].meaning), 6);
}

int main(void)
{
	checks.stop_fd = -1;
	checks.ended.ops = &attach_uprobe_multi;
	checks.maps.sites_at =
		calloc((size_t)sysconf(_SC_PAGESIZE), sizeof(*checks.maps.sites_at));
	REQUIRE(checks.maps.sites_at);
	RUN(so_many_have_a_check);
	RUN(others_are_counted);
	RUN(a_number_is_reused);
	return check_done();
}
