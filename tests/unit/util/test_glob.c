// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fnmatch.h>
#include <stdbool.h>

#include "util/glob.h"

static void checks(void)
{
	static const char *const right[] = {"*",     "a",    "[a]",  "[]a]",
					    "[!]]",  "\\[",  "[\\]", "a\\*",
					    "[a-z]", "[^a]", "***"};
	const char *wrong = glob_check("");

	REQUIRE(wrong);
	CHECK_STR(wrong, "it is empty");
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		wrong = glob_check(right[i]);
		/* In "[\]" the bracket is in the set, which has no end. */
		if (!strcmp(right[i], "[\\]"))
			CHECK(wrong);
		else if (wrong)
			CHECK_FAIL("%s: %s", right[i], wrong);
	}
	CHECK(glob_check("["));
	CHECK(glob_check("a[]"));
	CHECK(glob_check("[!"));
	CHECK(glob_check("[a-"));
	CHECK_STR(glob_check("a\\"), "nothing follows the last backslash");
	CHECK_STR(glob_check("*[a"), "a '[' is not closed");
}

static void matches(void)
{
	CHECK(glob_match("main", "main"));
	CHECK(!glob_match("main", "main2"));
	CHECK(!glob_match("main", "mai"));
	CHECK(glob_match("*", ""));
	CHECK(glob_match("std::vector<*>::*",
			 "std::vector<int, a<int>>::push_back(int)"));
	CHECK(glob_match("*/cache.c", "/srv/app/src/cache.c"));
	CHECK(!glob_match("*/cache.c", "/srv/app/src/cache.cc"));
	CHECK(glob_match("a?c*e", "abcde"));
	CHECK(!glob_match("a?", "a"));
	CHECK(glob_match("lib[a-cx].so", "libx.so"));
	CHECK(!glob_match("lib[!a-c].so", "libb.so"));
	CHECK(glob_match("operator\\[\\]*", "operator[](int)"));
	CHECK(glob_match("\xff[\x80-\xff]", "\xff\xfe"));
	CHECK(glob_match("[]-]", "-") && glob_match("[]-]", "]"));
	CHECK(!glob_match("[b-a]", "a"));
}

/* Compared with fnmatch(3) for all short patterns and texts of these letters. */
static void agrees_with_fnmatch(void)
{
	static const char letters[] = "ab*?[]!\\";
	static const char *const texts[] = {"",    "a",   "b", "ab", "ba",
					    "aab", "bab", "]", "[",  "a!"};
	unsigned compared = 0;

	for (unsigned n = 0; n < 8 * 8 * 8 * 8 * 8; n++) {
		char glob[6] = {0};
		unsigned rest = n;

		for (size_t i = 0; i < 5; i++, rest /= 8)
			glob[i] = letters[rest % 8];
		/* An unclosed set is plain text in fnmatch(3), and an error here. */
		if (glob_check(glob))
			continue;
		for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
			bool want = !fnmatch(glob, texts[i], 0);

			compared++;
			if (glob_match(glob, texts[i]) != want)
				CHECK_FAIL("'%s' and '%s'", glob, texts[i]);
		}
	}
	CHECK(compared > 100000);
}

/* Patterns that take other matchers for ever. */
static void work_is_bounded(void)
{
	static char text[20001], glob[2001];

	memset(text, 'a', sizeof(text) - 1);
	for (size_t i = 0; i + 1 < sizeof(glob); i += 2)
		memcpy(glob + i, "*a", 2);
	glob[sizeof(glob) - 2] = 'b';
	CHECK(!glob_match(glob, text));
	glob[sizeof(glob) - 2] = 'a';
	CHECK(glob_match(glob, text));
}

int main(void)
{
	RUN(checks);
	RUN(matches);
	RUN(agrees_with_fnmatch);
	RUN(work_is_bounded);
	return check_done();
}
