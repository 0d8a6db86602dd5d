/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every command line that README.md and docs/ show works. Each is run in a directory with
 * the files that it names, on processes that leak, and ends after one report. Numbers of
 * processes are replaced; the rest stays as it is shown.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "doc_commands.h"
#include "live/live.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S    60
#define COMMANDS_MAX 256
#define WORDS_MAX    (DOC_COMMAND_WORDS + 8)

static struct live_process *leaks[2];

/* Commands about programs, events and hardware that are not here. They must fail with a
 * line that has this text. */
static const struct failure {
	const char *part, *said;
} failing[] = {
	{"--symbols-prefix my_", "my_malloc"},
	{"usdt:myprogram:", "myprogram"},
	{"--otel-memory", "otel_memory"},
	{"-p 1234 --lib libjemalloc.so.2", "libjemalloc.so.2"},
	{"usdt:libstdc++.so.6:", "libstdc++.so.6"},
};

/* What a machine or a kernel may lack. */
static const struct failure optional[] = {
	{"hardware:", "this machine has no hardware counter"},
	{"kprobe:", "this kernel has no kprobes"},
};

/* A command, as it was run. Commands that are the same run once. */
static char seen[COMMANDS_MAX][1024];
static unsigned seen_count, succeeded;

/* --- the directory ------------------------------------------------------------------ */

/* Run memtrace. Returns its status. */
static int run(const char *const argv[], char **ret_stderr)
{
	struct live_process *memtrace = live_start(argv);
	int status;

	live_close_stdin(memtrace);
	status = live_wait(memtrace, TIMEOUT_S);
	*ret_stderr = strdup(live_stderr(memtrace));
	REQUIRE(*ret_stderr);
	live_destroy(memtrace);
	return status;
}

static void make_snapshots(void)
{
	static const char *const names[] = {"heap.mts",   "heap-1.mts", "heap-3.mts",
					    "leak-1.mts", "leak-3.mts", "old.mts",
					    "new.mts",    "before.mts", "after.mts"};
	char pid[16];
	const char *const argv[] = {
		MEMTRACE_BINARY, "-p",     "1",        "-n", "1", "-i",
		"300ms",         "--save", "heap.mts", NULL};
	const char *words[sizeof(argv) / sizeof(*argv)];
	_cleanup_(freep) char *said = NULL;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(leaks[0]));
	memcpy(words, argv, sizeof(argv));
	words[2] = pid;
	REQUIRE(!run(words, &said));
	for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++)
		REQUIRE(!link(names[0], names[i]));
}

static void make_directory(void)
{
	_cleanup_(freep) char *dir = live_path("documented");
	FILE *file;

	REQUIRE(!mkdir(dir, 0700) && !chdir(dir));
	make_snapshots();
	/* A program that allocates and ends. */
	REQUIRE(!symlink("/bin/ls", "program"));
	file = fopen("Makefile", "w");
	REQUIRE(file);
	fputs("all:\n\t@ls -l >/dev/null\n", file);
	REQUIRE(!fclose(file));
	file = fopen("ARG", "w");
	REQUIRE(file && !fclose(file));
}

/* --- commands ----------------------------------------------------------------------- */

/* `word` with the pids of the leaking processes in place of the pids in a page. */
static void replace_pids(const char *word, char *ret, size_t size)
{
	size_t len = 0;

	while (*word) {
		size_t digits = strspn(word, "0123456789");
		bool is_second = digits == 4 && !strncmp(word, "1240", 4);

		if (digits >= 4) {
			len += (size_t)snprintf(ret + len, size - len, "%d",
						(int)live_pid(leaks[is_second]));
			word += digits;
		} else {
			size_t count = digits ? digits : 1;

			REQUIRE(len + count < size);
			memcpy(ret + len, word, count);
			len += count;
			word += count;
		}
		REQUIRE(len < size);
	}
	ret[len] = '\0';
}

static bool takes_pid(const char *option)
{
	return !strcmp(option, "-p") || !strcmp(option, "--pid") ||
	       !strcmp(option, "--follow-exec-of");
}

/* The arguments, with --force and, if the command traces, an early end before "--". */
static void complete(const struct doc_command *command, char words[][256],
		     const char *ret[WORDS_MAX])
{
	static const char *const end[] = {"--count", "1", "--interval", "300ms"};
	bool traces = true, writes = true, added = false;
	int count = 0;

	for (int i = 1; i < command->argc; i++)
		if (!strcmp(command->argv[i], "--replay") ||
		    !strcmp(command->argv[i], "--diff") ||
		    !strcmp(command->argv[i], "--prime-cache") ||
		    !strncmp(command->argv[i], "--help", 6))
			traces = false;
	for (int i = 1; i < command->argc; i++)
		writes = writes && strcmp(command->argv[i], "--prime-cache") != 0;
	ret[count++] = MEMTRACE_BINARY;
	for (int i = 1; i <= command->argc; i++) {
		const char *word = command->argv[i];

		if (!added && (!word || !strcmp(word, "--"))) {
			if (writes)
				ret[count++] = "--force";
			for (size_t k = 0; traces && k < 4; k++)
				ret[count++] = end[k];
			added = true;
		}
		if (!word)
			break;
		if (takes_pid(command->argv[i - 1]) && !strcmp(word, DOC_COMMAND_PID))
			word = "1234";
		if (takes_pid(command->argv[i - 1]) || strstr(word, "/proc/"))
			replace_pids(word, words[i], 256);
		else
			snprintf(words[i], 256, "%s", word);
		ret[count++] = words[i];
	}
	ret[count] = NULL;
}

/* True if such a command has been run. */
static bool is_known(const char *const argv[])
{
	char all[1024] = "";

	for (int i = 0; argv[i]; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", argv[i]);
	for (unsigned i = 0; i < seen_count; i++)
		if (!strcmp(seen[i], all))
			return true;
	REQUIRE(seen_count < COMMANDS_MAX);
	snprintf(seen[seen_count++], sizeof(*seen), "%s", all);
	return false;
}

/* What the command says if it fails; NULL: it must not fail. */
static const char *find_failure(const struct failure failures[], size_t count,
				const char *line)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(line, failures[i].part))
			return failures[i].said;
	return NULL;
}

static void run_command(void *data, struct doc_command *command)
{
	const char *wanted =
		find_failure(failing, sizeof(failing) / sizeof(*failing), command->line);
	const char *lacking = find_failure(optional, sizeof(optional) / sizeof(*optional),
					   command->line);
	char words[DOC_COMMAND_WORDS + 1][256];
	_cleanup_(freep) char *said = NULL;
	const char *argv[WORDS_MAX];
	int status;

	(void)data;
	/* Such a run has no end of its own; live.wait_for and live.supervised make
	 * some. */
	if (strstr(command->line, "--wait-for") ||
	    strstr(command->line, "--follow-exec-of supervisord"))
		return;
	complete(command, words, argv);
	if (is_known(argv))
		return;
	status = run(argv, &said);
	check_state.checks++;
	if (wanted) {
		if (status != 1 || !strstr(said, wanted))
			CHECK_FAIL("%s: \"%s\": status %d: %s", command->page,
				   command->line, status, said);
		return;
	}
	if (status && lacking && strstr(said, lacking)) {
		printf("     not here: %s: %s", command->line, said);
		return;
	}
	if (status)
		CHECK_FAIL("%s: \"%s\": status %d: %s", command->page, command->line,
			   status, said);
	succeeded += !status;
}

static void commands_work(void)
{
	struct probes *before = probes_find();

	CHECK(doc_commands_visit(run_command, NULL) > 80);
	printf("     %u different commands, %u succeeded\n", seen_count, succeeded);
	CHECK(succeeded > 60);
	CHECK(probes_gone(before));
	probes_destroy(before);
}

int main(void)
{
	const char *const argv[] = {LEAK_BINARY, NULL};

	live_require_root();
	/* One of the documented events is a return probe. */
	live_allow_return_probes();
	for (int i = 0; i < 2; i++)
		leaks[i] = live_start(argv);
	make_directory();
	RUN(commands_work);
	for (int i = 0; i < 2; i++)
		live_destroy(leaks[i]);
	return check_done();
}
