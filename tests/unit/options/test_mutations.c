// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines and pattern files with random changes, the same in each run. Each must be
 * accepted, or refused with one line that is safe for a terminal. With sanitizers this
 * finds input that a parser trusts wrongly.
 */
#include "check.h"

#include <stdbool.h>

#include "options/option_table.h"
#include "trace/trace_mode.h"
#include "options/options.h"
#include "frames/filter.h"
#include "report/row.h"
#include "unit/files/temp_dir.h"
#include "util/error.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

#define ROUNDS         20000
#define FILES          3000
#define ARGC_MAX       8
#define TEXT_MAX       512
#define LIST_LEN(list) (sizeof(list) / sizeof(*(list)))

static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 20260103;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % n;
}

/* Mostly characters that mean something to the parsers or to terminals. */
static char random_char(void)
{
	static const char special[] = "0129kKmMgGsuhd.,:+-=%*?[]!^$\\/#'\" \t\r\n\x1b\x7f"
				      "\x80\xc3\xff";

	return random_below(3) ? special[random_below(sizeof(special) - 1)]
			       : (char)(1 + random_below(255));
}

/* Changes, removes or repeats one byte. `room` includes the NUL. */
static void change(char *text, size_t room)
{
	size_t len = strlen(text), at = random_below((uint32_t)len + 1);
	size_t times = random_below(8) ? 1 : random_below(60);

	switch (random_below(3)) {
	case 0:
		if (at < len)
			text[at] = random_char();
		break;
	case 1:
		if (at < len)
			memmove(text + at, text + at + 1, len - at);
		break;
	default:
		if (len + times >= room)
			break;
		memmove(text + at + times, text + at, len - at + 1);
		memset(text + at, random_char(), times);
	}
}

/* Checks that the refusal is a usage error of one line. */
static void check_refusal(const struct error *err)
{
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK(*err->message);
	for (const char *c = err->message; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			CHECK_FAIL("a control character in '%s'", err->message);
	}
}

/* --- command lines ---------------------------------------------------------------- */

/* An option with its value, an option alone, or a word. */
static void make_argument(char text[TEXT_MAX])
{
	static const char *const values[] = {
		"1",
		"0",
		"18446744073709551615",
		"4K",
		"1.5G",
		"500ms",
		"2m",
		"99999999999d",
		"size",
		"leaks",
		"traffic",
		"json",
		"fn:parse_*",
		"mod:[",
		"src:*/x.c",
		"1,2,3",
		"auto",
		"uprobe:libc.so.6:malloc+0x10",
		"profile:hz:99",
		"tracepoint:a:b",
		"software:page-faults:1",
		"%p-%t-%n.svg",
		"%",
		"a%%b",
		"none",
		"always",
		"/dev/null",
		"--",
		"-",
		"",
	};
	const struct option_row *row = &option_rows[random_below(OPTION_ID_COUNT)];
	const char *value = values[random_below(LIST_LEN(values))];

	switch (random_below(5)) {
	case 0:
	case 1:
		snprintf(text, TEXT_MAX, "--%s", row->name);
		break;
	case 2:
		snprintf(text, TEXT_MAX, "--%s=%s", row->name, value);
		break;
	case 3:
		snprintf(text, TEXT_MAX, "-%c%s", row->letter ? row->letter : 'p',
			 random_below(2) ? value : "");
		break;
	default:
		snprintf(text, TEXT_MAX, "%s", value);
	}
	if (!random_below(3))
		change(text, TEXT_MAX);
}

static void any_command_line(void)
{
	char texts[ARGC_MAX][TEXT_MAX];
	unsigned taken = 0, refused = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		char *argv[ARGC_MAX + 3] = {"memtrace"};
		int argc = 1, more = (int)random_below(ARGC_MAX);
		struct options options;

		if (random_below(2))
			argv[argc++] = random_below(4) ? "--pid=1" : "--replay=x.mts";
		for (int i = 0; i < more; i++) {
			make_argument(texts[i]);
			argv[argc++] = texts[i];
		}

		_cleanup_(error_destroyp) struct error *err =
			options_parse(argc, argv, &options);

		taken += !err;
		refused += err != NULL;
		if (err) {
			check_refusal(err);
		} else if (options.action == ACTION_TRACE) {
			CHECK(options.interval_ns > 0);
			CHECK(options.pid_count || options.command || options.library ||
			      !trace_mode_can(&options.trace, MODE_CALLS));
		}
	}
	/* Both results must occur. */
	CHECK(taken > ROUNDS / 20 && refused > ROUNDS / 20);
}

/* --- pattern files ---------------------------------------------------------------- */

/* Applies the filter to symbols and paths that a target may choose. */
static void match_all(const struct report_filter *filter)
{
	static char long_name[3000];
	static const char *const names[] = {
		"main",
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		"",
		"\x1b[2J\n",
		"\xff\xfe",
		"[*]?\\",
		"fn:leak:^x$",
		long_name,
		NULL,
	};

	memset(long_name, 'a', sizeof(long_name) - 1);
	for (size_t i = 0; i < LIST_LEN(names); i++) {
		struct report_frame frame = {
			.symbol = names[i],
			.module = names[LIST_LEN(names) - 1 - i],
			.file = names[(i + 3) % LIST_LEN(names)],
		};
		unsigned matches = report_filter_match(filter, &frame);

		CHECK(report_filter_judge(filter, matches) <= FILTER_SUPPRESSED);
		CHECK_INT(frame.hidden, !!(matches & FILTER_MATCH_HIDE));
	}
}

static void any_file(enum filter_use use, const char *original)
{
	struct temp_dir dir = temp_dir_create();
	unsigned taken = 0, refused = 0;

	for (unsigned round = 0; round < FILES; round++) {
		_cleanup_(report_filter_destroyp) struct report_filter *filter =
			report_filter_create();
		char text[TEXT_MAX];

		REQUIRE(filter);
		snprintf(text, sizeof(text), "%s", original);
		for (unsigned i = random_below(5); i; i--)
			change(text, sizeof(text));
		temp_dir_write(&dir, "patterns", text);

		_cleanup_(error_destroyp) struct error *err =
			report_filter_read(filter, use, temp_dir_path(&dir, "patterns"));

		taken += !err;
		refused += err != NULL;
		if (err)
			check_refusal(err);
		/* The patterns before a wrong line are in effect. */
		match_all(filter);
	}
	CHECK(taken > FILES / 20 && refused > FILES / 20);
	temp_dir_destroy(&dir);
}

static void any_suppressions(void)
{
	any_file(FILTER_SUPPRESS, "# known\nleak:libfoo.so\nleak:^parse_*$\n\n"
				  "  leak:*Cache*insert*  \nleak:a*b*c*d*e*f\n");
}

static void any_hidden_frames(void)
{
	any_file(FILTER_HIDE, "fn:_start\n# noise\nmod:libc.so.*\nfn:operator new[[]*\n"
			      "src:*/[a-z]?.c\nstd::[!x]*\n\\*x\n");
}

/* --- patterns on the command line ------------------------------------------------- */

static void any_pattern(void)
{
	static const char *const originals[] = {"fn:parse_*", "mod:[a-z]?.so",
						"src:*/\\[x\\].c", "[]-a!]*", "*a*b*c*"};
	unsigned taken = 0, refused = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		_cleanup_(report_filter_destroyp) struct report_filter *filter =
			report_filter_create();
		char text[TEXT_MAX];

		REQUIRE(filter);
		snprintf(text, sizeof(text), "%s",
			 originals[random_below(LIST_LEN(originals))]);
		for (unsigned i = random_below(6); i; i--)
			change(text, sizeof(text));

		_cleanup_(error_destroyp) struct error *err = report_filter_add(
			filter, random_below(2) ? FILTER_KEEP : FILTER_EXCLUDE, text);

		taken += !err;
		refused += err != NULL;
		if (err)
			check_refusal(err);
		else if (!(round % 8))
			match_all(filter);
	}
	CHECK(taken > ROUNDS / 20 && refused > ROUNDS / 20);
}

int main(void)
{
	RUN(any_command_line);
	RUN(any_suppressions);
	RUN(any_hidden_frames);
	RUN(any_pattern);
	return check_done();
}
