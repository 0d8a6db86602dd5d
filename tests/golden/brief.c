// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the brief report of made-up programs, at several terminal sizes, with the
 * files in brief/. With a directory as argument, writes the screens there instead, to be
 * reviewed and copied here. Rules for every screen are checked at more sizes and with
 * hostile names, too.
 */
#include <stdbool.h>
#include <time.h>

#include "brief_programs.h"
#include "frames/filter.h"
#include "text_file.h"
#include "unit/render/fixture.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

#define MS (FIXTURE_NS / 1000)

static const char *write_dir;

/* --- screens ------------------------------------------------------------------------ */

static char *render_some(const struct program *program, unsigned columns, unsigned lines,
			 bool utf8, uint64_t causes)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	const struct report_options options = {
		.older_ns = 500 * MS,
		.interval_ns = 5 * FIXTURE_NS,
		.filter = filter,
		.entries = causes,
		.columns = columns,
		.lines = lines,
		.utf8 = utf8,
	};

	REQUIRE(filter && !report_filter_hide_noise(filter));
	program->fill(&f);
	fixture_report_with(&f, &options);
	f.report->cause = program->cause;
	return fixture_render(&f, "brief", NULL);
}

static char *render(const struct program *program, unsigned columns, unsigned lines,
		    bool utf8)
{
	return render_some(program, columns, lines, utf8, 10);
}

static void compare(const char *name, const char *got)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.txt",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden/brief", name);
	text_file_compare(path, write_dir, got);
}

static void screens(void)
{
	static const unsigned sizes[][2] = {{80, 24}, {80, 45}, {120, 40}, {200, 60}};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		for (size_t k = 0; programs[i].is_stored && k < 4; k++) {
			_cleanup_(freep) char *got =
				render(&programs[i], sizes[k][0], sizes[k][1], false);
			char name[64];

			snprintf(name, sizeof(name), "%s-%ux%u", programs[i].name,
				 sizes[k][0], sizes[k][1]);
			compare(name, got);
		}
	}
}

/* --- rules for every screen --------------------------------------------------------- */

/* The begin of the n-th line from the end; n = 1: the last line. */
static const char *line_from_end(const char *text, size_t n)
{
	const char *at = text + strlen(text);

	REQUIRE(at > text && at[-1] == '\n');
	for (at--; n; n--) {
		while (at > text && at[-1] != '\n')
			at--;
		if (at == text)
			return text;
		if (n > 1)
			at--;
	}
	return at;
}

/* The width of a line in columns. Only "hostile" has wide characters. */
static size_t columns_of(const char *line, bool utf8)
{
	size_t columns = 0;

	for (; *line != '\n'; line++) {
		unsigned char c = (unsigned char)*line;

		if (!utf8 || (c & 0xc0) != 0x80)
			columns += utf8 && (c >= 0xe3) ? 2 : 1;
	}
	return columns;
}

static void check_lines(const struct program *program, const char *text, unsigned columns,
			bool utf8)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t got = columns_of(line, utf8);

		check_state.checks++;
		if (got > columns)
			CHECK_FAIL("%s at %u columns: %zu in: %.*s", program->name,
				   columns, got, (int)strcspn(line, "\n"), line);
	}
	for (const char *at = text; *at; at++)
		CHECK((unsigned char)*at >= ' ' || *at == '\n');
	/* Neither characters that change the direction of text nor C1 control
	 * characters. */
	CHECK(!strstr(text, "\xe2\x80\xae"));
	CHECK(!strstr(text, "\xc2\x80"));
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static void check_screen(const struct program *program, unsigned columns, unsigned lines,
			 bool utf8)
{
	_cleanup_(freep) char *text = render(program, columns, lines, utf8);
	const char *last = line_from_end(text, 1), *screen = line_from_end(text, 23);
	char verdict[8];

	check_lines(program, text, columns, utf8);
	/* Narrow screens show only the begin of the verdict. */
	snprintf(verdict, sizeof(verdict), "%s", program->verdict);
	CHECK(begins_with(last, verdict));
	if (columns >= 80 && !begins_with(last, program->verdict))
		CHECK_FAIL("%s at %u columns: %s", program->name, columns, last);
	if (program->first && columns >= 80) {
		CHECK_CONTAINS(screen, program->first);
		CHECK_CONTAINS(screen, program->size);
	}
	/* There is an empty line before the verdict, and nowhere two in a row. */
	CHECK(begins_with(line_from_end(text, 2), "\n"));
	CHECK(!strstr(text, "\n\n\n"));
}

static void every_screen(void)
{
	static const unsigned columns[] = {20, 39, 40, 80, 120, 200};
	static const unsigned lines[] = {10, 24, 60};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		for (size_t c = 0; c < 6; c++)
			for (size_t l = 0; l < 3; l++)
				check_screen(&programs[i], columns[c], lines[l],
					     (c + l) % 2);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; (text = strchr(text, '\n')); text++)
		count++;
	return count;
}

/* A report leaves the terminal's last line to the prompt. */
static void heights(void)
{
	static const unsigned lines[] = {24, 45, 60};

	for (size_t i = 0; i < 3; i++) {
		for (size_t l = 0; l < 3; l++) {
			_cleanup_(freep) char *text =
				render(&programs[i], 80, lines[l], false);

			CHECK(count_lines(text) < lines[l]);
		}
	}
}

/* Without a height, print as many causes as `causes` says, each with all its lines. */
static void any_height(void)
{
	_cleanup_(freep) char *text = render(&programs[0], 80, 0, false);
	_cleanup_(freep) char *few = render_some(&programs[0], 80, 0, false, 4);
	_cleanup_(freep) char *all = render_some(&programs[0], 80, 0, false, 0);

	CHECK_CONTAINS(text, "3 leak suspects, fastest first:\n");
	CHECK_CONTAINS(text, "      from open_session (session.c:57)\n");
	CHECK_CONTAINS(text, "read_config");
	CHECK(!strstr(text, " more cause"));
	CHECK_CONTAINS(few, "load_table");
	/* 65536 + 4.7 KiB. */
	CHECK_CONTAINS(few, "  ... 2 more causes: 68.7 KiB\n");
	CHECK_STR(all, text);
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(screens);
	RUN(every_screen);
	RUN(heights);
	RUN(any_height);
	return check_done();
}
