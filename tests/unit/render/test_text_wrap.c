// SPDX-License-Identifier: Apache-2.0
/* Lines of the text report in the width of a terminal. */
#include "check.h"

#include <string.h>

#include "render/text/wrap.h"
#include "util/cleanup.h"

static void check(const char *text, size_t columns, bool utf8, const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	text_wrap(&out, text, strlen(text), columns, utf8);
	CHECK(!out.failed);
	CHECK_STR(strbuf_text(&out), want);
}

static void words(void)
{
	check("", 20, false, "");
	check("\n\n", 20, false, "\n\n");
	check("short\n", 20, false, "short\n");
	check("exactly twenty chars\n", 20, false, "exactly twenty chars\n");
	check("twenty-one characters\n", 20, false, "twenty-one\n    characters\n");
	check("  a    b  \n", 20, false, "  a    b\n");
	check("    one two three four five\n", 20, false,
	      "    one two three\n        four five\n");
}

static void labels(void)
{
	check("  heap        some text about blocks\n", 40, false,
	      "  heap        some text about blocks\n");
	check("  heap        some more text about these\n", 40, false,
	      "  heap        some more text about these\n");
	check("  heap        some more text about these blocks\n", 40, false,
	      "  heap        some more text about these\n              blocks\n");
	check("              some more text about these blocks\n", 40, false,
	      "              some more text about these\n              blocks\n");
	/* A narrow terminal has no room for this. */
	check("  heap        some more text\n", 20, false,
	      "  heap        some\n          more text\n");
}

/* A number and its unit stay together. */
static void numbers(void)
{
	check("it holds 1.5 KiB\n", 12, false, "it holds\n    1.5 KiB\n");
	check("it holds (+1 s) x\n", 13, false, "it holds\n    (+1 s) x\n");
	check("it holds 12345 bytes\n", 10, false, "it holds\n    12345\n    bytes\n");
}

static void tabs(void)
{
	/* At most a quarter of the line. */
	check("\t\tname [mod]\n", 80, false, "                name [mod]\n");
	check("\t\tname [mod]\n", 20, false, "     name [mod]\n");
	check("\t0x10\tname\n", 80, false, "        0x10    name\n");
}

/* A word is broken only if no line has room for it. */
static void long_words(void)
{
	check("a 0123456789abcdefghijklmnop\n", 20, false,
	      "a\n    0123456789abcdef\n    ghijklmnop\n");
	check("0123456789abcdefghijklmnop\n", 20, false,
	      "0123456789abcdefghij\n    klmnop\n");
}

/* A word begins further to the left if it then fits. */
static void moved_words(void)
{
	check("          0123456789abc\n", 20, false, "       0123456789abc\n");
	check("        a b 0123456789abcdef\n", 20, false,
	      "        a b\n    0123456789abcdef\n");
	check("        a 0123456789abcdefgh\n", 20, false,
	      "        a\n  0123456789abcdefgh\n");
}

static void wide_characters(void)
{
	/* Two columns each; never broken within a character. */
	check("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
	      "\n",
	      11, true,
	      "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\n"
	      "    \xe6\xbc\xa2\n");
}

/* Colours take no columns. */
static void colors(void)
{
	check("\033[1mone\033[0m two three\n", 13, false,
	      "\033[1mone\033[0m two three\n");
	check("\033[1mone\033[0m two three\n", 12, false,
	      "\033[1mone\033[0m two\n    three\n");
	check("\033[1m0123456789ab\033[0m\n", 10, false,
	      "\033[1m0123456789\n    ab\033[0m\n");
}

/* A name of 100,000 characters takes linear time. */
static void hostile(void)
{
	enum {
		LENGTH = 100000
	};
	static char text[LENGTH + 2];
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	static const char pieces[] = "x \t\033<";

	for (size_t i = 0; i + 1 < sizeof(pieces); i++) {
		memset(text, pieces[i], LENGTH);
		text[LENGTH] = '\n';
		strbuf_clear(&out);
		text_wrap(&out, text, LENGTH + 1, 20, true);
		CHECK(!out.failed);
		for (const char *at = strbuf_text(&out); *at; at += strcspn(at, "\n") + 1)
			CHECK(strcspn(at, "\n") <= 20);
	}
}

int main(void)
{
	RUN(words);
	RUN(labels);
	RUN(numbers);
	RUN(tabs);
	RUN(long_words);
	RUN(moved_words);
	RUN(wide_characters);
	RUN(colors);
	RUN(hostile);
	return check_done();
}
