// SPDX-License-Identifier: Apache-2.0
/* Completions of command lines by bash, fish and zsh, with the generated files. */
#include "manual_check.h"

#include <sys/prctl.h>

#include "options/option_table.h"

/* Change to a new directory with a snapshot and another file. It is removed at the end.
 */
#define SETUP                                                                            \
	"cd $(mktemp -d /tmp/memtrace-completions-XXXXXX) && trap 'rm -r $PWD' EXIT && " \
	"touch one.mts two.txt && "

/* Completes a line as bash does: sets COMP_WORDS and COMP_CWORD, the last word being the
 * one before the cursor, calls the registered function, and prints each offer between
 * "|", as an offer may contain spaces. */
static const char bash_setup[] =
	"compopt() { :; }\n"
	"source " MANUAL_DIR "/memtrace\n"
	"complete_line() {\n"
	"  COMP_WORDS=(memtrace \"$@\") COMP_CWORD=$# COMP_TYPE=9 COMPREPLY=()\n"
	"  $(complete -p memtrace | sed 's/.*-F \\([^ ]*\\) .*/\\1/') memtrace "
	"    \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
	"  printf '|%s' \"${COMPREPLY[@]}\"; echo '|'\n"
	"}\n";

/* The offers of bash for the words of `line`, which is in shell syntax. */
static char *bash_offers(const char *line)
{
	_cleanup_(strbuf_deinit) struct strbuf script = {0};

	setenv("MEMTRACE_TEST_BASH", bash_setup, 1);
	strbuf_appendf(&script,
		       SETUP
		       "bash -c 'eval \"$MEMTRACE_TEST_BASH\"; complete_line %s' 2>&1",
		       line);
	return output_of(strbuf_text(&script));
}

static void check_bash(const char *line, const char *wanted)
{
	_cleanup_(freep) char *got = bash_offers(line);

	check_state.checks++;
	if (strcmp(got, wanted) != 0)
		CHECK_FAIL("memtrace %s: bash offers %s, expected %s", line, got, wanted);
}

/* "|--OPTION" for each option that begins with `start`, and "|". */
static void append_options(struct strbuf *text, const char *start)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		if (!strncmp(option_rows[i].name, start, strlen(start)))
			strbuf_appendf(text, "|--%s", option_rows[i].name);
	strbuf_append(text, "|\n");
}

static void bash_offers_options(void)
{
	_cleanup_(strbuf_deinit) struct strbuf p = {0};
	_cleanup_(freep) char *all = bash_offers("\"\"");

	append_options(&p, "p");
	CHECK_CONTAINS(strbuf_text(&p), "|--pid|--program|--peak|");
	check_bash("--p", strbuf_text(&p));
	check_bash("--quiet --ver", "|--verbose|--version|\n");
	check_bash("--symbols-prefix --p", "||\n");
	CHECK_CONTAINS(all, "|--pid|");
	CHECK_CONTAINS(all, "|--help|--|");
}

static void bash_offers_values(void)
{
	static const char views[] =
		"|leaks|growth|traffic|peak|allocations|threads|histogram|"
		"lifetimes|processes|functions|tree|unreachable|\n";

	check_bash("--view \"\"", views);
	/* bash splits words at '='. */
	check_bash("--view =", views);
	check_bash("--view = l", "|leaks|lifetimes|\n");
	check_bash("--quiet --sort s", "|size|\n");
	check_bash("--unwind \"\"", "|auto|rules|fp|\n");
	check_bash("--hide-frames d", "|default|\n");
	check_bash("--interval \"\"", "||\n");
}

static void bash_offers_snapshots(void)
{
	check_bash("--replay \"\"", "|one.mts|\n");
	check_bash("--replay = o", "|one.mts|\n");
	check_bash("--diff \"\"", "|one.mts|\n");
	check_bash("--diff one.mts \"\"", "|one.mts|\n");
	/* readline itself completes file names. */
	check_bash("--output \"\"", "||\n");
}

static void bash_offers_commands(void)
{
	_cleanup_(freep) char *commands = bash_offers("-p 1 -- mkfif");

	CHECK_CONTAINS(commands, "|mkfifo|");
	check_bash("-- cat --p", "||\n");
}

/* No other process has the name of this one. */
static void bash_offers_processes(void)
{
	char name[16], line[64], wanted[128];
	_cleanup_(freep) char *all = NULL;

	snprintf(name, sizeof(name), "mt%d.", getpid());
	REQUIRE(!prctl(PR_SET_NAME, name));
	all = bash_offers("--pid \"\"");
	snprintf(wanted, sizeof(wanted), "|%d (%s)|", getpid(), name);
	CHECK_CONTAINS(all, wanted);
	/* Process 2 is kthreadd, or does not exist in this pid namespace. Kernel threads
	 * are not offered. */
	CHECK(!strstr(all, "(kthreadd)"));
	/* A single offer is inserted into the line: it must not contain the process's
	 * name. */
	snprintf(line, sizeof(line), "-p %s", name);
	snprintf(wanted, sizeof(wanted), "|%d|\n", getpid());
	check_bash(line, wanted);
	snprintf(line, sizeof(line), "--pid 1,%s", name);
	snprintf(wanted, sizeof(wanted), "|1,%d|\n", getpid());
	check_bash(line, wanted);
}

/* The offers of fish, one a line, each followed by a tab and its description. */
static char *fish_offers(const char *line)
{
	_cleanup_(strbuf_deinit) struct strbuf script = {0};

	strbuf_appendf(&script,
		       SETUP "HOME=$PWD fish --no-config -c 'source " MANUAL_DIR
			     "/memtrace.fish; complete -C \"memtrace %s\"' 2>&1",
		       line);
	return output_of(strbuf_text(&script));
}

static void check_fish(const char *line, const char *wanted)
{
	_cleanup_(freep) char *got = fish_offers(line);

	check_state.checks++;
	if (!strstr(got, wanted))
		CHECK_FAIL("memtrace %s: fish offers %s, expected %s", line, got, wanted);
}

static void fish_offers_the_same(void)
{
	char pid[32];

	if (!has_program("fish")) {
		CHECK_SKIP_PART("fish is not installed");
		return;
	}
	snprintf(pid, sizeof(pid), "%d\t", getpid());
	check_fish("--pi", "--pid\tthe process to trace\n");
	check_fish("--pid ", pid);
	check_fish("--view l", "leaks\nlifetimes\n");
	check_fish("--replay ", "one.mts\t");
	check_fish("--diff ", "one.mts\t");
	check_fish("--diff one.mts ", "one.mts\n");
	check_fish("--output t", "two.txt\n");
	check_fish("-p 1 -- mkfif", "mkfifo");

	_cleanup_(freep) char *interval = fish_offers("--interval ");

	CHECK_STR(interval, "");
}

/* One shell for all lines, since zsh takes long to load its completions. */
static void zsh_offers_the_same(void)
{
	static const char command[] =
		SETUP "zsh -f " TEST_DATA_DIR "/unit/manual/complete.zsh " MANUAL_DIR
		      " 'memtrace --pi' 'memtrace --pr' 'memtrace --pid 1,'"
		      " 'memtrace --view ' 'memtrace --unwind=r' 'memtrace --replay '"
		      " 'memtrace --diff one.mts on' 'memtrace --output t'"
		      " 'memtrace -p 1 -- mkfif' 2>&1";
	char name[16], process[32];
	_cleanup_(freep) char *shown = NULL;

	if (!has_program("zsh")) {
		CHECK_SKIP_PART("zsh is not installed");
		return;
	}
	snprintf(name, sizeof(name), "mt%d.", getpid());
	REQUIRE(!prctl(PR_SET_NAME, name));
	snprintf(process, sizeof(process), " -- %s", name);
	shown = output_of(command);
	CHECK_CONTAINS(shown, "memtrace --pid=");
	CHECK_CONTAINS(shown, "-- start FILE and trace it from its first instruction");
	CHECK_CONTAINS(shown, process);
	CHECK_CONTAINS(shown,
		       "allocations  growth       leaks        peak         threads ");
	CHECK_CONTAINS(shown, "memtrace --unwind=rules");
	CHECK_CONTAINS(shown, "memtrace --replay one.mts");
	CHECK_CONTAINS(shown, "memtrace --diff one.mts one.mts");
	CHECK_CONTAINS(shown, "memtrace --output two.txt");
	CHECK_CONTAINS(shown, "memtrace -p 1 -- mkfifo");
}

int main(void)
{
	RUN(bash_offers_options);
	RUN(bash_offers_values);
	RUN(bash_offers_snapshots);
	RUN(bash_offers_commands);
	RUN(bash_offers_processes);
	RUN(fish_offers_the_same);
	RUN(zsh_offers_the_same);
	return check_done();
}
