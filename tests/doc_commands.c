// SPDX-License-Identifier: Apache-2.0
#include "doc_commands.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>

#include "check.h"

/* Does the rest of the line belong to the shell: a comment, a pipe, a redirection? */
static bool ends_command(const char *at)
{
	return *at == '\0' || strchr("#|<>&;", *at);
}

/* Append the word at `at`. Returns what follows it. `$!` and `$(...)` stand for a pid. */
static const char *take_word(struct doc_command *command, const char *at, char **room)
{
	char quote = '\0', *out = *room;

	command->argv[command->argc++] = out;
	for (; *at && (quote || (!isspace((unsigned char)*at) && !strchr("|<>;", *at)));
	     at++) {
		if (*at == quote) {
			quote = '\0';
		} else if (!quote && strchr("'\"", *at)) {
			quote = *at;
		} else if (!quote && *at == '$') {
			at += strcspn(at, "!)");
			*out++ = '1';
		} else {
			*out++ = *at;
		}
	}
	*out++ = '\0';
	*room = out;
	return at;
}

/* Split `line`; it is short enough for `command`. */
static void split(struct doc_command *command, const char *line)
{
	char *room = command->text;

	memset(command, 0, sizeof(*command));
	REQUIRE(strlen(line) < sizeof(command->text) - DOC_COMMAND_WORDS);
	while (line += strspn(line, " \t"), !ends_command(line)) {
		REQUIRE(command->argc < DOC_COMMAND_WORDS);
		line = take_word(command, line, &room);
	}
	for (int i = 0; i < command->argc; i++)
		if (!strcmp(command->argv[i], "PID"))
			command->argv[i] = DOC_COMMAND_PID;
}

/* --- pages ------------------------------------------------------------------------- */

struct visit {
	doc_command_visitor *visit;
	void *data;
	unsigned count;
};

static void visit_command(struct visit *v, const char *page, const char *line)
{
	struct doc_command command;

	split(&command, line);
	command.page = page;
	command.line = line;
	v->visit(v->data, &command);
	v->count++;
}

/* What follows the prompt, sudo and the directory in a line of shell, if it runs
 * memtrace; else NULL. */
static const char *memtrace_in(const char *line)
{
	static const char *const before[] = {"# ", "sudo ", "build/"};

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncmp(line, before[i], strlen(before[i])))
			line += strlen(before[i]);
	/* The first line of a report also begins with the name. */
	return !strncmp(line, "memtrace ", 9) &&
			       strncmp(line, "memtrace report ", 16) != 0
		       ? line
		       : NULL;
}

/* Commands within a sentence or a table, as `memtrace -p 1234`. */
static void visit_spans(struct visit *v, const char *name, char *line)
{
	char *save = NULL;
	bool is_code = *line == '`';

	for (char *span = strtok_r(line, "`", &save); span;
	     span = strtok_r(NULL, "`", &save)) {
		const char *command = memtrace_in(span);

		if (is_code && command && command[9] == '-')
			visit_command(v, name, command);
		is_code = !is_code;
	}
}

static void visit_page(struct visit *v, const char *name)
{
	char path[1024], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), SOURCE_DIR "/%s", name);
	f = fopen(path, "re");
	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		bool is_code = !strncmp(line, "    ", 4);
		const char *command = memtrace_in(line + strspn(line, " "));

		line[strcspn(line, "\n")] = '\0';
		if (is_code && command)
			visit_command(v, name, command);
		else if (!is_code)
			visit_spans(v, name, line);
	}
	fclose(f);
}

unsigned doc_commands_visit(doc_command_visitor *visit, void *data)
{
	struct visit v = {.visit = visit, .data = data};
	DIR *dir = opendir(SOURCE_DIR "/docs");
	struct dirent *e;

	REQUIRE(dir);
	visit_page(&v, "README.md");
	visit_page(&v, "examples/README.md");
	while ((e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');
		char name[512];

		if (!dot || strcmp(dot, ".md") != 0)
			continue;
		snprintf(name, sizeof(name), "docs/%s", e->d_name);
		visit_page(&v, name);
	}
	closedir(dir);
	return v.count;
}
