// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "util/cleanup.h"
#include "util/nearest.h"

/* Checks the text about `wanted` if these are the `names`. The last one is NULL. */
static void check(const char *wanted, const char *const names[], const char *want)
{
	struct nearest nearest = {.wanted = wanted};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	for (; *names; names++)
		nearest_offer(&nearest, *names, strlen(*names));
	nearest_append(&nearest, &text);
	CHECK_STR(strbuf_text(&text), want);
}

#define CHECK_NEAREST(wanted, want, ...)                                                 \
	check(wanted, (const char *const[]){__VA_ARGS__, NULL}, want)

static void slips(void)
{
	CHECK_NEAREST("mallok", ": the nearest are malloc, valloc", "malloc", "valloc",
		      "free", "printf");
	CHECK_NEAREST("fre", ": the nearest is free", "malloc", "free");
	/* Two swapped neighbours count as one error. */
	CHECK_NEAREST("amlloc", ": the nearest is malloc", "malloc", "abcdef");
	CHECK_INT(nearest_distance("amlloc", 6, "malloc", 6), 1);
	CHECK_INT(nearest_distance("amlolc", 6, "malloc", 6), 2);
	CHECK_INT(nearest_distance("", 0, "malloc", 6), 6);
	CHECK_INT(nearest_distance("kitten", 6, "sitting", 7), 3);
	/* Duplicates are listed once. */
	CHECK_NEAREST("mallok", ": the nearest is malloc", "malloc", "malloc");
	CHECK_NEAREST("x", "", "y", "abc", "");
	CHECK_NEAREST("", "", "a", "b");
}

/* The nearest first, in whichever order they are given; at most three. */
static void order(void)
{
	CHECK_NEAREST("abcdefgh", ": the nearest are abcdefgx, abcdefgh1, abcdefxx",
		      "abcdefxx", "abcdexxx", "abcdefgx", "abcdefgh1", "abcdefyy");
	CHECK_NEAREST("mmap", ": the nearest are map, do_mmap, sys_mmap", "sys_mmap",
		      "vm_mmap_pgoff", "map", "do_mmap");
}

static void odd_names(void)
{
	char long_name[300];

	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	CHECK_NEAREST(long_name, "", "aaaa", long_name);
	CHECK_NEAREST("aaaa", "", long_name);
	CHECK_NEAREST("a\nbc", ": the nearest is a\\x0abd", "a\nbd");
}

int main(void)
{
	RUN(slips);
	RUN(order);
	RUN(odd_names);
	return check_done();
}
