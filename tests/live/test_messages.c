/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command lines of tests/golden/messages.txt provoke the messages above them. Each
 * runs in a shell, in a folder of its own with two names: stored.mts is a snapshot, and
 * memtrace is found before programs of tests/live/targets. $PID is a process that sleeps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/live.h"
#include "live/trace.h"

#define LIST      SOURCE_DIR "/tests/golden/messages.txt"
#define TEXT      "    "
#define COMMAND   "        $ "
#define LINES_MAX 2000
#define TIMEOUT_S 40

/* Fewer letters of a message, without what is filled in, would prove nothing. */
#define LETTERS_MIN 8

struct list {
	char *lines[LINES_MAX];
	size_t len;
};

static struct list list;
static char *folder;

static void read_list(void)
{
	FILE *file = fopen(LIST, "re");
	size_t size = 0;
	ssize_t len;

	REQUIRE(file);
	while ((len = getline(&list.lines[list.len], &size, file)) > 0) {
		list.lines[list.len][len - 1] = '\0';
		REQUIRE(++list.len < LINES_MAX);
		size = 0;
	}
	fclose(file);
}

static void free_list(void)
{
	for (size_t i = 0; i <= list.len; i++)
		free(list.lines[i]);
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static const char *text_above(size_t at)
{
	while (at && (!starts_with(list.lines[at], TEXT) || list.lines[at][4] == ' '))
		at--;
	return list.lines[at] + strlen(TEXT);
}

/* Copy the letters of `text` to `ret`, up to a conversion such as "%s". Returns what
 * follows the conversion. */
static const char *take_letters(const char *text, char *ret)
{
	while (*text && (*text != '%' || text[1] == '%')) {
		text += (*text == '%' || *text == '\\') && text[1];
		*ret++ = *text++;
	}
	*ret = '\0';
	if (!*text)
		return text;
	text += strcspn(text, "diouxXcspfg");
	return *text ? text + 1 : text;
}

/* Has the line all letters of the message, in this order? */
static bool is_of(const char *line, const char *message)
{
	char letters[512];
	size_t count = 0;

	while (*message) {
		message = take_letters(message, letters);
		line = strstr(line, letters);
		if (!line)
			return false;
		line += strlen(letters);
		count += strlen(letters);
	}
	return count >= LETTERS_MIN;
}

/* Does a line of memtrace in `said` have the message? */
static bool has_said(const char *said, const char *message)
{
	bool found = false;
	char *copy = strdup(said), *rest = copy, *line;

	REQUIRE(copy && strlen(message) < 512);
	while (!found && (line = strsep(&rest, "\n")))
		found = starts_with(line, "memtrace: ") && is_of(line, message);
	free(copy);
	return found;
}

/* Run the command in a new folder. Its processes end with it. */
static struct live_process *run(const char *command, size_t number)
{
	char *script;
	struct live_process *shell;

	REQUIRE(asprintf(&script,
			 "mkdir -m 777 %s/%zu && cd %s/%zu && cp " SOURCE_DIR
			 "/tests/golden/stored.mts . || exit 99\n%s",
			 folder, number, folder, number, command) > 0);
	const char *const argv[] = {"timeout", "-k", "1", "30", "sh", "-c", script, NULL};

	shell = live_start(argv);
	if (live_wait(shell, TIMEOUT_S) < 0)
		CHECK_FAIL("does not end: %s", command);
	kill(-live_pid(shell), SIGKILL);
	free(script);
	return shell;
}

/* Run the command of this line, and check each message with this command. */
static void check_command(size_t at)
{
	const char *command = list.lines[at] + strlen(COMMAND);
	struct live_process *shell = run(command, at);
	const char *said = live_stderr(shell);

	for (size_t i = at; i < list.len; i++) {
		if (strcmp(list.lines[i], list.lines[at]) != 0)
			continue;
		if (has_said(said, text_above(i)))
			CHECK(true);
		else
			CHECK_FAIL(
				"tests/golden/messages.txt:%zu:\n  %s\n  does not say: "
				"%s\n  but:\n%s",
				i + 1, command, text_above(i), said);
	}
	live_destroy(shell);
}

static bool has_run(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(list.lines[i], list.lines[at]))
			return true;
	return false;
}

static void commands_provoke_their_messages(void)
{
	struct probes *before = probes_find();
	size_t count = 0;

	for (size_t i = 0; i < list.len; i++)
		if (starts_with(list.lines[i], COMMAND) && !has_run(i)) {
			check_command(i);
			count++;
		}
	CHECK(count >= 80);
	CHECK(probes_gone(before));
	probes_destroy(before);
}

static void messages_are_compared_in_one_line(void)
{
	CHECK(has_said("memtrace: no process has the pid 7\n",
		       "no process has the pid %d"));
	CHECK(has_said("a\nmemtrace: 'a' is no \"b\"\n", "'%s' is no \\\"%s\\\""));
	CHECK(has_said("memtrace: 7 % of them\n", "%zu %% of them"));
	CHECK(!has_said("memtrace: the process\nmemtrace: has exited\n",
			"the process %d has exited"));
	CHECK(!has_said("memtrace: the pid 7 has no process\n",
			"no process has the pid %d"));
	CHECK(!has_said("sh: no process has the pid 7\n", "no process has the pid %d"));
	CHECK(!has_said("memtrace: a: b\n", "%s: %s"));
}

/* memtrace is copied: the build may be in a folder that only root can enter. */
static void set_up_programs(pid_t pid)
{
	char *path, *number, *copy;

	folder = live_path("messages");
	REQUIRE(!mkdir(folder, 0755));
	*strrchr(folder, '/') = '\0';
	REQUIRE(!chmod(folder, 0711));
	folder[strlen(folder)] = '/';
	REQUIRE(asprintf(&copy, "mkdir %s/bin && cp %s %s/bin/memtrace", folder,
			 memtrace_path, folder) > 0);
	REQUIRE(!system(copy));
	REQUIRE(asprintf(&path, "%s/bin:" TARGETS_DIR ":%s", folder, getenv("PATH")) > 0);
	REQUIRE(asprintf(&number, "%d", (int)pid) > 0);
	REQUIRE(!setenv("PATH", path, 1) && !setenv("PID", number, 1));
	free(copy);
	free(path);
	free(number);
}

int main(void)
{
	const char *const argv[] = {"sleep", "1000", NULL};
	struct live_process *sleeper;

	live_require_root();
	sleeper = live_start(argv);
	set_up_programs(live_pid(sleeper));
	read_list();
	RUN(messages_are_compared_in_one_line);
	RUN_WITH_RETURN_PROBES(commands_provoke_their_messages);
	live_destroy(sleeper);
	free_list();
	free(folder);
	return check_done();
}
