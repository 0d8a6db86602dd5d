// SPDX-License-Identifier: Apache-2.0
/* Names of 100,000 characters, demangled or not, right-to-left names and names with
 * control characters, in every format and, on terminals of several widths, in every view.
 */
#include "fixture.h"

#include <stdbool.h>
#include <time.h>

#include "render/views/views.h"

#define LENGTH 100000
#define EXE    "/srv/app/bin/leaky"

static char plain[LENGTH + 1], template[LENGTH + 1], mangled[LENGTH + 1],
	wide[3 * LENGTH + 1], blanks[LENGTH + 1];

/* Repeat `piece` until the name is full. */
static void fill_name(char *name, size_t size, const char *piece)
{
	size_t len = strlen(piece);

	for (size_t i = 0; i < size - 1; i++)
		name[i] = piece[i % len];
	name[size - 1] = '\0';
}

static void fill_names(void)
{
	fill_name(plain, sizeof(plain), "x");
	fill_name(template, sizeof(template), "std::pair<a, ");
	fill_name(mangled, sizeof(mangled), "3foo");
	memcpy(mangled, "_ZN", 3);
	/* U+6F22, two columns wide */
	fill_name(wide, sizeof(wide), "\xe6\xbc\xa2");
	fill_name(blanks, sizeof(blanks), " ");
}

static void fill(struct fixture *f)
{
	static const char *const names[] = {
		plain,
		template,
		mangled,
		wide,
		blanks,
		/* right-to-left override, Hebrew, escape sequences, C1, not UTF-8 */
		"\xe2\x80\xaetfel",
		"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
		"\x1b[31mred\x1b[0m\x1b]0;title\a\r\n\t",
		"\xc2\x9b"
		"31m\x80\xff",
	};
	const size_t count = sizeof(names) / sizeof(*names);
	uint64_t frames[sizeof(names) / sizeof(*names)];

	fixture_init(f);
	for (size_t i = 0; i < count; i++)
		frames[i] =
			fixture_symbol(f, names[i], i % 2 ? names[(i + 1) % count] : EXE);
	for (size_t i = 0; i < count; i++)
		fixture_block(f, BLOCK_HEAP, 1000 * (i + 1), 1,
			      FIXTURE_STACK(f, STACK_END_COMPLETE, frames[i],
					    frames[(i + 1) % count],
					    frames[(i + 2) % count]));
	f->snap->has_traffic = f->snap->has_lifetimes = f->snap->has_trends = true;
}

/* No control characters but line ends and tabs, in UTF-8 none of C1 either, and nothing
 * that turns the direction of the text. */
static void check_clean(const char *what, const char *text)
{
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < ' ' && !strchr("\n\r\t", c)) || c == 0x7f)
			CHECK_FAIL("%s: control character %u", what, c);
	}
	CHECK(!strstr(text, "\xe2\x80\xae"));
	CHECK(!strstr(text, "\xc2\x9b"));
}

static void every_format(void)
{
	static const char *const formats[] = {"text",      "brief", "json", "csv",
					      "collapsed", "flame", "html"};
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const struct report_options options = {.utf8 = true, .past = true};
		clock_t begun = clock();
		_cleanup_(freep) char *text =
			fixture_render_again(&f, formats[i], &options);

		check_clean(formats[i], text);
		CHECK(*text);
		/* Quadratic time would take minutes. */
		CHECK(clock() - begun < 5 * CLOCKS_PER_SEC);
	}
}

static size_t columns_of(const char *line, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c & 0xc0) != 0x80)
			columns += c >= 0xe3 ? 2 : 1;
	}
	return columns;
}

static void check_lines(const char *what, const char *text, unsigned columns)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		check_state.checks++;
		if (columns_of(line, len) > columns)
			CHECK_FAIL("%s at %u columns: %zu in %.100s", what, columns,
				   columns_of(line, len), line);
		line += len + (line[len] == '\n');
	}
}

static void terminals(void)
{
	static const unsigned widths[] = {20, 80};
	static const enum report_form forms[] = {REPORT_FORM_AUTO, REPORT_FORM_FULL};
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	for (const struct view_ops *const *it = views; *it; it++) {
		for (size_t i = 0; i < 4; i++) {
			const struct report_options options = {
				.view = (*it)->name,
				.singles = 5,
				.utf8 = true,
				.is_terminal = true,
				.columns = widths[i % 2],
				.names = forms[i / 2],
			};
			clock_t begun = clock();
			_cleanup_(freep) char *text =
				fixture_render_again(&f, "text", &options);

			check_clean((*it)->name, text);
			check_lines((*it)->name, text, options.columns);
			/* A short name takes at most some lines. */
			CHECK(options.names || strlen(text) < 100000);
			CHECK(clock() - begun < 5 * CLOCKS_PER_SEC);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		const struct report_options options = {
			.utf8 = true,
			.is_terminal = true,
			.columns = widths[i % 2],
			.lines = 24,
			.names = forms[i / 2],
		};
		_cleanup_(freep) char *text = fixture_render_again(&f, "brief", &options);

		check_clean("brief", text);
		check_lines("brief", text, options.columns);
	}
}

int main(void)
{
	fill_names();
	RUN(every_format);
	RUN(terminals);
	return check_done();
}
