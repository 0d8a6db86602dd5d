// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "check.h"
#include "util/cleanup.h"
#include "util/error.h"

static void carries_code_and_message(void)
{
	_cleanup_(error_destroyp) struct error *err =
		error_create(ERROR_NOT_FOUND, "pid %d: no symbol %s", 7, "malloc");

	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_INT(err->saved_errno, 0);
	CHECK_STR(err->message, "pid 7: no symbol malloc");
	CHECK(!err->detail);
}

static void appends_the_system_error(void)
{
	_cleanup_(error_destroyp) struct error *err =
		error_errno(ERROR_IO, ENOENT, "/proc/%d/maps", 12);

	CHECK_INT(err->code, ERROR_IO);
	CHECK_INT(err->saved_errno, ENOENT);
	CHECK_STR(err->message, "/proc/12/maps: No such file or directory");
}

static void prefixes(void)
{
	_cleanup_(error_destroyp) struct error *err =
		error_create(ERROR_IO, "short read");

	err = error_prefix(err, "%s", "b.so");
	err = error_prefix(err, "pid %d", 3);
	CHECK_STR(err->message, "pid 3: b.so: short read");
	CHECK_INT(err->code, ERROR_IO);
	CHECK(!error_prefix(NULL, "nothing"));
}

static void takes_detail(void)
{
	_cleanup_(error_destroyp) struct error *err =
		error_create(ERROR_COMPILE, "refused");
	char lines[] = "line 1\nline 2\n";

	err = error_with_detail(err, lines);
	lines[0] = 'X';
	CHECK_STR(err->detail, "line 1\nline 2\n");
	err = error_with_detail(err, NULL);
	CHECK_STR(err->detail, "line 1\nline 2\n");
	err = error_with_detail(err, "");
	CHECK_STR(err->detail, "line 1\nline 2\n");
	err = error_with_detail(err, "other");
	CHECK_STR(err->detail, "other");
	CHECK_STR(err->message, "refused");
	CHECK(!error_with_detail(NULL, "nothing"));
}

static void out_of_memory_is_static(void)
{
	struct error *err = error_no_memory();

	CHECK_INT(err->code, ERROR_NO_MEMORY);
	CHECK_STR(err->message, "out of memory");
	CHECK(error_prefix(err, "pid 1") == err);
	CHECK(error_with_detail(err, "detail") == err);
	error_destroy(err);
	CHECK(error_no_memory() == err);
	CHECK_STR(err->message, "out of memory");
	CHECK(!err->detail);
	error_destroy(NULL);
}

static struct error *hand_over(void)
{
	_cleanup_(error_destroyp) struct error *err = error_create(ERROR_GONE, "pid 9");

	return take(err);
}

static void take_hands_over(void)
{
	_cleanup_(error_destroyp) struct error *err = hand_over();

	REQUIRE(err);
	CHECK_STR(err->message, "pid 9");
}

static void the_first_of_two(void)
{
	struct error *a = error_create(ERROR_IO, "a"), *b = error_create(ERROR_IO, "b");

	CHECK(!error_first(NULL, NULL));
	CHECK(error_first(a, NULL) == a);
	CHECK(error_first(NULL, a) == a);
	CHECK(error_first(a, b) == a);
	CHECK(error_first(a, error_no_memory()) == a);
	CHECK_STR(a->message, "a");
	error_destroy(a);
}

static void only_no_memory(void)
{
	CHECK(!error_only_no_memory(NULL));
	CHECK(!error_only_no_memory(error_create(ERROR_IO, "a")));
	CHECK(error_only_no_memory(error_no_memory()) == error_no_memory());
}

int main(void)
{
	RUN(carries_code_and_message);
	RUN(appends_the_system_error);
	RUN(prefixes);
	RUN(takes_detail);
	RUN(out_of_memory_is_static);
	RUN(take_hands_over);
	RUN(the_first_of_two);
	RUN(only_no_memory);
	return check_done();
}
