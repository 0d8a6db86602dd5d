// SPDX-License-Identifier: Apache-2.0
/* Leak suspects, filters and views of a program with patterns that look like leaks. */
#include "check.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define REPORTS 15

static json_t *suspects_of(const json_t *report)
{
	return live_get(report, "heap.suspects");
}

/* memtrace names the leak, and nothing else, as soon as it has enough reports. */
static void names_the_leak(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	for (int i = 0; i < REPORTS; i++) {
		oracle_do(target, "work");

		json_t *report = memtrace_report(memtrace);
		json_t *suspect;
		size_t at;

		if (i < 4)
			CHECK_INT(json_array_size(suspects_of(report)), 0);
		/* The pile has been freed once before. */
		json_array_foreach (suspects_of(report), at, suspect)
			CHECK_STR(row_site(suspect), "site_leak");
		json_decref(report);
	}

	json_t *report = memtrace_stop(memtrace);
	json_t *suspect = json_array_get(suspects_of(report), 0);

	CHECK_INT(json_array_size(suspects_of(report)), 1);
	REQUIRE(suspect);
	CHECK_STR(row_site(suspect), "site_leak");
	CHECK_INT(live_int(suspect, "size_bytes"), REPORTS * 1000);
	CHECK_CONTAINS(json_string_value(json_object_get(suspect, "why")),
		       "grew in 14 of 15 intervals, ");
	json_decref(report);
	live_destroy(target);
}

/* The text of one report of a view, with `options`. */
static char *read_view(struct live_process *target, const char *options)
{
	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);
	char *text = strdup(""), *line;
	char standing[64];

	snprintf(standing, sizeof(standing), "tracing pid %d", (int)live_pid(target));
	REQUIRE(live_wait_stderr(memtrace, standing, 30));
	oracle_do(target, "work");
	live_signal(memtrace, 2);
	while ((line = live_read_line(memtrace, 10))) {
		char *longer;

		REQUIRE(asprintf(&longer, "%s%s\n", text, line) > 0);
		free(text);
		free(line);
		text = longer;
	}
	CHECK_INT(live_wait(memtrace, 10), 0);
	live_destroy(memtrace);
	return text;
}

/* Rows that a filter excludes are not listed, and the report says so. */
static void filters(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	_cleanup_(freep) char *text =
		read_view(target, "-i 3600 --older 0 --exclude fn:site_cache --exclude "
				  "fn:site_churn");

	CHECK_CONTAINS(text, "site_leak+0x");
	CHECK_CONTAINS(text, "site_sawtooth+0x");
	CHECK(!strstr(text, "site_cache"));
	CHECK(!strstr(text, "site_churn"));
	CHECK_CONTAINS(text, "\n  left out    ");
	CHECK_CONTAINS(text, " of 2 stacks, by --filter and --exclude\n");
	CHECK(!strstr(text, "__libc_start"));
	live_destroy(target);
}

/* A view turns on what it must measure. */
static void traffic(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	_cleanup_(freep) char *text = read_view(
		target, "-i 3600 --older 0 --view traffic --top 1 --sort count");

	CHECK_CONTAINS(text, "Top 1 stacks with allocations since the attach:\n");
	CHECK_CONTAINS(text, " bytes in 2000 allocations made by stack  (");
	CHECK_CONTAINS(text, " in 200 live)\n");
	CHECK_CONTAINS(text, "site_cache+0x");
	CHECK(!strstr(text, "site_leak"));
	live_destroy(target);
}

/* The live blocks of each call path of the target, whose sites have known callers:
 * main() calls serve() calls work(), which calls site_leak() itself. */
static void functions_and_tree(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	_cleanup_(freep) char *functions = read_view(
		target, "-i 3600 --older 0 --view functions --sort size --top 0");
	_cleanup_(freep) char *tree = read_view(target, "-i 3600 --older 0 --view tree");
	_cleanup_(freep) char *reverse =
		read_view(target, "-i 3600 --older 0 --view tree --reverse --top 2");

	CHECK_CONTAINS(functions, "] Top 10 functions by flat size:\n");
	/* 10 blocks of 100 bytes for each line of the target. */
	CHECK_CONTAINS(functions, " %       10  site_leak [trends]\n");
	CHECK_CONTAINS(functions, " %      200  site_cache [trends]\n");
	CHECK_CONTAINS(functions, "         0 B   0.0 %        0  ");
	CHECK_CONTAINS(functions, " 100.0 % ");
	CHECK_CONTAINS(functions, "  work [trends]\n");
	CHECK(!strstr(functions, "__libc_start"));
	CHECK_CONTAINS(tree, "  main [trends] > serve > work\n");
	CHECK_CONTAINS(tree, "      200    use_cache > site_cache\n");
	CHECK_CONTAINS(tree, "    build_pile > site_sawtooth\n");
	CHECK_CONTAINS(tree, "  ... 1 more branch with 1000 B in 10 blocks, each below "
			     "1 % (--top 0 lists all)\n");
	CHECK_CONTAINS(reverse, "      200  site_cache [trends] < use_cache < work < "
				"serve < main\n");
	CHECK(!strstr(reverse, "site_sawtooth"));
	CHECK_CONTAINS(reverse, ", beyond the 2 largest (--top 0 lists all)\n");
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(names_the_leak);
	RUN(filters);
	RUN(traffic);
	RUN(functions_and_tree);
	return check_done();
}
