// SPDX-License-Identifier: Apache-2.0
/* Words of styled text in lines, as in the brief report. */
#include "check.h"

#include <string.h>

#include "render/text/words.h"
#include "util/cleanup.h"

#define BOLD  "\033[1m"
#define RESET "\033[0m"

/* `lead` is on the line already. */
static void check(const char *lead, const char *text, size_t columns, size_t want_lines,
		  const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct word_line line = {.out = &out,
				 .columns = columns,
				 .used = strlen(lead),
				 .indent = 4,
				 .utf8 = true,
				 .cuts = true,
				 .color = true,
				 .style = TEXT_TITLE};

	strbuf_append(&out, lead);
	words_put(&line, text, text + strlen(text));
	CHECK(!out.failed);
	CHECK_STR(strbuf_text(&out), want);
	CHECK_INT(line.lines, want_lines);
	CHECK(line.used <= columns);
}

/* One escape sequence before the words of a line and one behind them. */
static void one_style_for_each_line(void)
{
	check("", "report 2 of process 7", 80, 0, BOLD "report 2 of process 7" RESET);
	check("  ", "one two three four", 12, 2,
	      "  " BOLD "one two" RESET "\n    " BOLD "three" RESET "\n    " BOLD
	      "four" RESET);
}

static void empty_text_gives_no_lines(void)
{
	check("", "", 80, 0, "");
	check("    ", "", 80, 0, "    ");
}

/* Blanks become one, and a number stays with its unit unless both are too wide. */
static void units(void)
{
	check("", "it  holds 1.5 KiB", 12, 1,
	      BOLD "it holds" RESET "\n    " BOLD "1.5 KiB" RESET);
	check("", "117.2 MiB", 8, 1, BOLD "117.2" RESET "\n    " BOLD "MiB" RESET);
}

/* A word that is too wide for any line loses its middle. */
static void wide_words(void)
{
	check("    ", "0123456789abcdef", 16, 0, "    " BOLD "012...abcdef" RESET);
	check("        ", "0123456789abcdef", 16, 1, "\n    " BOLD "012...abcdef" RESET);
}

int main(void)
{
	RUN(one_style_for_each_line);
	RUN(empty_text_gives_no_lines);
	RUN(units);
	RUN(wide_words);
	return check_done();
}
