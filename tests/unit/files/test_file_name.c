// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <time.h>

#include "files/file_name.h"
#include "util/cleanup.h"

/* 2026-01-02 03:04:05 UTC */
static const struct file_name_values values = {
	.pid = 4321, .wall_ns = UINT64_C(1767323045999999999), .number = 7};

static void sequences_are_replaced(void)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{"plain", "plain"},
		{"-", "-"},
		{"%p", "4321"},
		{"a-%p-%n.csv", "a-4321-7.csv"},
		{"%t.svg", "20260102-030405.svg"},
		{"100%%", "100%"},
		{"%%p", "%p"},
		{"%p%n%%%t", "43217%20260102-030405"},
		{"dir/%p/x", "dir/4321/x"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = NULL;

		CHECK(file_name_is_valid(cases[i].pattern));
		REQUIRE(!file_name_expand(cases[i].pattern, &values, &name));
		CHECK_STR(name, cases[i].want);
		free(name);
	}
}

static void others_are_refused(void)
{
	static const char *const cases[] = {"",    "%",   "x%",  "%s",  "%P",
					    "%%%", "%5n", "%p%", "a%-n"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(!file_name_is_valid(cases[i]));
}

static void sequences_are_found(void)
{
	CHECK(file_name_has("x%n", 'n'));
	CHECK(file_name_has("%%%n", 'n'));
	CHECK(!file_name_has("%%n", 'n'));
	CHECK(!file_name_has("%p", 'n'));
	CHECK(!file_name_has("n", 'n'));
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(sequences_are_replaced);
	RUN(others_are_refused);
	RUN(sequences_are_found);
	return check_done();
}
