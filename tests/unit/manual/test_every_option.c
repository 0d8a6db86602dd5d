// SPDX-License-Identifier: Apache-2.0
/* Checks that every option and value of the table is in the man page and in each
 * completion. */
#include "manual_check.h"

#include <ctype.h>

#include "manual/rows.h"

static char *read_made(const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf command = {0};

	strbuf_appendf(&command, "cat " MANUAL_DIR "/%s", name);
	return output_of(strbuf_text(&command));
}

/* Does `text` contain `word` without a letter, digit or '-' beside it? */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len) {
		bool begins =
			at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '-');

		if (begins && !isalnum((unsigned char)at[len]) && at[len] != '-')
			return true;
	}
	return false;
}

static void require_word(const char *text, const char *word, const char *where)
{
	check_state.checks++;
	if (!has_word(text, word))
		CHECK_FAIL("%s has no %s", where, word);
}

static void check_names(const char *text, const char *where)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		struct row_names names;

		row_names(&option_rows[i], &names);
		for (size_t k = 0; k < names.count; k++)
			require_word(text, names.names[k], where);
	}
}

static void check_choices(const char *text, const char *where)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		_cleanup_(strbuf_deinit) struct strbuf choices = {0};

		row_append_choices(&option_rows[i], &choices);
		if (option_rows[i].choices)
			require_word(text, strbuf_text(&choices), where);
	}
}

/* The page as a reader sees it, without escapes and fonts. */
static char *plain_page(void)
{
	_cleanup_(freep) char *page = read_made("memtrace.8");
	char *to = page;

	for (const char *at = page; *at;) {
		if (!strncmp(at, "\\f", 2)) {
			at += 3;
		} else if (!strncmp(at, "\\-", 2)) {
			*to++ = '-';
			at += 2;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
	return take(page);
}

static void the_page_has_every_option(void)
{
	_cleanup_(freep) char *page = plain_page();

	check_names(page, "memtrace.8");
	for (int group = 0; group < GROUP_COUNT; group++)
		CHECK_CONTAINS(page, option_group_name((enum option_group)group));
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		for (size_t k = 0; option_rows[i].choices && option_rows[i].choices[k];
		     k++)
			require_word(page, option_rows[i].choices[k], "memtrace.8");
	}
}

static void bash_has_every_option(void)
{
	_cleanup_(freep) char *text = read_made("memtrace");
	char *values = strstr(text, "_memtrace_value()");

	REQUIRE(values);
	check_choices(text, "memtrace");
	/* Only long names are offered when completing options. */
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		struct row_names names;

		row_names(&option_rows[i], &names);
		for (size_t k = 0; k < names.count; k++) {
			if (option_rows[i].argument)
				require_word(values, names.names[k], "memtrace");
			if (names.names[k][1] == '-')
				require_word(strstr(values, "local options='"),
					     names.names[k], "memtrace");
		}
	}
}

static void zsh_has_every_option(void)
{
	_cleanup_(freep) char *text = read_made("_memtrace");

	check_names(text, "_memtrace");
	check_choices(text, "_memtrace");
}

static void fish_has_every_option(void)
{
	_cleanup_(freep) char *text = read_made("memtrace.fish");

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const char *const *choice = option_rows[i].choices;
		struct row_names names;

		for (; choice && *choice; choice++) {
			char spelled[64];

			snprintf(spelled, sizeof(spelled), "%s\\t", *choice);
			CHECK_CONTAINS(text, spelled);
		}

		row_names(&option_rows[i], &names);
		for (size_t k = 0; k < names.count; k++) {
			bool is_long = names.names[k][1] == '-';
			char spelled[64];

			snprintf(spelled, sizeof(spelled), " -%s %s ",
				 is_long ? "l" : "s", names.names[k] + (is_long ? 2 : 1));
			CHECK_CONTAINS(text, spelled);
		}
	}
}

/* The page names each option that --help prints. */
static void the_page_has_what_help_has(void)
{
	_cleanup_(freep) char *help = output_of(MEMTRACE " --help all"),
			      *page = plain_page();
	unsigned options = 0;

	for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n")) {
		char name[64];

		if (sscanf(line, "      --%60[a-z-]", name + 2) != 1 &&
		    sscanf(line, "  -%*c, --%60[a-z-]", name + 2) != 1)
			continue;
		memcpy(name, "--", 2);
		require_word(page, name, "memtrace.8");
		options++;
	}
	CHECK(options >= OPTION_ID_COUNT);
}

/* Every status of docs/options.md. */
static void the_page_has_every_exit_status(void)
{
	static const char command[] =
		"sed -n '/^## Exit status/,/^## File/p' " SOURCE_DIR "/docs/options.md |"
		" grep -owE '[0-9]{1,3}' | sort -u";
	_cleanup_(freep) char *numbers = output_of(command), *page = plain_page();
	char *section = strstr(page, "\n.SH EXIT STATUS\n"),
	     *end = section ? strstr(section, "\n.SH FILES\n") : NULL;
	unsigned statuses = 0;

	REQUIRE(end);
	*end = '\0';
	for (char *line = strtok(numbers, "\n"); line; line = strtok(NULL, "\n")) {
		require_word(section, line, "EXIT STATUS");
		statuses++;
	}
	CHECK(statuses >= 8);
}

static void the_page_has_its_sections(void)
{
	static const char *const sections[] = {
		"NAME",  "SYNOPSIS",    "DESCRIPTION", "OPTIONS", "EXIT STATUS",
		"FILES", "ENVIRONMENT", "EXAMPLES",    "NOTES",   "SEE ALSO"};
	_cleanup_(freep) char *page = plain_page();
	const char *at = page;

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		char heading[64];

		snprintf(heading, sizeof(heading), "\n.SH %s\n", sections[i]);
		CHECK_CONTAINS(at, heading);
		at = strstr(at, heading) ? strstr(at, heading) + 1 : at;
	}
}

static void formatters_have_no_complaint(void)
{
	/* 80 columns: otherwise man would also warn about lines that are too wide. */
	static const char man[] =
		"MANWIDTH=80 MANROFFSEQ= LC_ALL=C.UTF-8 man --warnings -l " MANUAL_DIR
		"/memtrace.8 2>&1 >/dev/null";
	static const char mandoc[] = "mandoc -Tlint " MANUAL_DIR "/memtrace.8 2>&1";
	_cleanup_(freep) char *by_man = NULL, *by_mandoc = NULL;

	if (has_program("man")) {
		by_man = output_of(man);
		CHECK_STR(by_man, "");
	} else {
		CHECK_SKIP_PART("man is not installed");
	}
	if (has_program("mandoc")) {
		by_mandoc = output_of(mandoc);
		CHECK_STR(by_mandoc, "");
	} else {
		CHECK_SKIP_PART("mandoc is not installed");
	}
}

int main(void)
{
	RUN(the_page_has_every_option);
	RUN(bash_has_every_option);
	RUN(zsh_has_every_option);
	RUN(fish_has_every_option);
	RUN(the_page_has_what_help_has);
	RUN(the_page_has_its_sections);
	RUN(the_page_has_every_exit_status);
	RUN(formatters_have_no_complaint);
	return check_done();
}
