// SPDX-License-Identifier: Apache-2.0
#include "unit/options/options_check.h"

#include "options/option_table.h"
#include "options/option_texts.h"

static char *help_text(enum help_topic topic)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out);
	options_help(out, topic);
	fclose(out);
	return text;
}

static void help_names_everything_in_order(void)
{
	static const char *const wanted[] = {
		"Usage: memtrace --pid PID",
		"\nTarget:\n",
		"\n  -p, --pid PID ",
		"\n  -L, --lib FILE ",
		"(also -O, --obj)\n",
		"\n      --symbols-prefix PREFIX",
		"\n      --function NAME ",
		"\n      --mappings ",
		"\n      --replay FILE ",
		"\n      --diff OLD NEW ",
		"\nReports:\n",
		"\n  -i, --interval TIME ",
		"\n  -n, --count N ",
		"\n  -d, --duration TIME ",
		"\n  -T, --top N ",
		"\n      --view VIEW ",
		"\n      --sort KEY ",
		"\n  -a, --show-allocs ",
		"\n      --combined-only ",
		"\nFilter:\n",
		"\n      --older TIME ",
		"\n  -z, --min-size SIZE ",
		"(also --min-alloc-size)\n",
		"\n  -Z, --max-size SIZE ",
		"(also --max-alloc-size)\n",
		"\n      --skip-size SIZE ",
		"\n      --skip-count N ",
		"\n      --filter PATTERN ",
		"\n      --exclude PATTERN ",
		"\n      --suppressions FILE ",
		"\n  -s, --sample-every N ",
		"(also --sample-rate)\n",
		"\nLimits:\n",
		"\n      --max-allocations N ",
		"\n      --max-stacks N ",
		"\n      --stack-depth N ",
		"\n      --unwind-cpu PERCENT ",
		"\n      --hide-frames WHICH ",
		"\nOutput:\n",
		"\n      --format FORMAT ",
		"\n      --color WHEN ",
		"\n  -o, --output FILE ",
		"\n      --flamegraph FILE ",
		"\n      --flame FILE ",
		"\n      --inverted ",
		"\n      --reverse ",
		"\n      --pprof FILE ",
		"\n      --csv FILE ",
		"\n      --json FILE ",
		"\n      --save FILE ",
		"\n      --html FILE ",
		"\n      --output-every ",
		"\n  -f, --force ",
		"\n  -q, --quiet ",
		"\n  -v, --verbose ",
		"\nAdvanced:\n",
		"\n      --dry-run ",
		"\n      --kernel-headers WHERE ",
		"\n  -V, --version ",
		"\n  -h, --help ",
		"\nExamples:\n",
		"\n  memtrace ",
	};
	_cleanup_(freep) char *text = help_text(HELP_ALL);
	const char *at = text;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const char *found = strstr(at, wanted[i]);

		if (!found)
			CHECK_FAIL("not in its place: %s", wanted[i]);
		REQUIRE(found);
		/* A heading's last newline may be the first one of the next heading. */
		at = found + strlen(wanted[i]) - 1;
	}
}

/* Returns the number of lines, without empty ones. */
static unsigned check_width(enum help_topic topic)
{
	_cleanup_(freep) char *text = help_text(topic);
	unsigned lines = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		lines++;
		if (strlen(line) > 80)
			CHECK_FAIL("%zu wide: %s", strlen(line), line);
		CHECK(line[strlen(line) - 1] != ' ');
	}
	return lines;
}

static void help_fits_a_terminal(void)
{
	CHECK(check_width(HELP_ALL) > 200);
	/* One screen. */
	CHECK(check_width(HELP_SHORT) <= 40);
	CHECK(check_width(HELP_EXAMPLES) > 20);
	for (int group = 0; group < GROUP_COUNT; group++)
		CHECK(check_width((enum help_topic)(HELP_GROUP + group)) > 10);
}

/* The options of the short help, each in one line. */
static void short_help_has_lines(void)
{
	_cleanup_(freep) char *text = help_text(HELP_SHORT);
	unsigned count = 0;

	for (const struct option_brief *b = option_briefs; b->text; b++) {
		char wanted[80];

		snprintf(wanted, sizeof(wanted), "--%s ", option_rows[b->id].name);
		CHECK_CONTAINS(text, wanted);
		CHECK_CONTAINS(text, b->text);
		count++;
	}
	CHECK(count >= 20);
	CHECK_CONTAINS(text, "memtrace --help all");

	const char *topics = strstr(text, "--help TOPIC");

	REQUIRE(topics);
	for (size_t i = HELP_ALL + 1; choice_topics[i]; i++)
		CHECK_CONTAINS(topics, choice_topics[i]);
}

/* Each example of the help text must be a valid command line. */
static void help_examples_work(void)
{
	_cleanup_(freep) char *text = help_text(HELP_ALL);
	char *line = strstr(text, "\nExamples:\n");
	unsigned examples = 0;

	REQUIRE(line);
	while ((line = strstr(line, "\n  memtrace "))) {
		char *argv[ARGC_MAX] = {NULL};
		char *save, *end = strchr(line + 1, '\n');
		int argc = 0;
		struct options o;

		REQUIRE(end);
		*end = '\0';
		for (char *word = strtok_r(line, " \n", &save); word;
		     word = strtok_r(NULL, " \n", &save)) {
			REQUIRE(argc < ARGC_MAX);
			argv[argc++] = word;
		}

		_cleanup_(error_destroyp) struct error *err =
			options_parse(argc, argv, &o);

		if (err)
			CHECK_FAIL("example %u: %s", examples, err->message);
		else if (o.command)
			CHECK_STR(o.command[0], "./program");
		else if (o.action == ACTION_REPLAY)
			CHECK_STR(o.replay, "heap.mts");
		else if (o.action == ACTION_DIFF)
			CHECK_STR(o.diff_new, "after.mts");
		else if (o.library)
			CHECK_CONTAINS(o.library, "libjemalloc");
		else
			CHECK_INT(o.pids[0], 1234);
		examples++;
		line = end + 1;
	}
	CHECK(examples >= 4);
}

int main(void)
{
	RUN(help_names_everything_in_order);
	RUN(help_fits_a_terminal);
	RUN(short_help_has_lines);
	RUN(help_examples_work);
	return check_done();
}
