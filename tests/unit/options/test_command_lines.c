// SPDX-License-Identifier: Apache-2.0
/*
 * Wrong command lines and their messages, word for word, in
 * tests/golden/command-lines.txt. Lines that begin with '$' are command lines; the line
 * after each is the message. Words are separated by spaces and may be quoted: 'as it is',
 * or $'with escapes \n \t \\ \' \xff'.
 *
 * With a file name as argument, the file is written instead, for a person to read and
 * keep.
 */
#include "unit/options/options_check.h"

#include <ctype.h>
#include <string.h>

#define PATH          TEST_DATA_DIR "/golden/command-lines.txt"
#define PROMPT        "$ memtrace"
#define ANSWER        "memtrace: "
#define ARG_MAX_BYTES 256

struct command {
	char words[ARGC_MAX][ARG_MAX_BYTES];
	char *argv[ARGC_MAX + 1];
	int argc;
};

/* The byte of an escape sequence after its backslash. */
static char read_escape(const char **at)
{
	char c = *(*at)++;
	unsigned value;

	if (c == 'n')
		return '\n';
	if (c == 't')
		return '\t';
	if (c != 'x')
		return c;
	REQUIRE(sscanf(*at, "%2x", &value) == 1);
	*at += 2;
	return (char)value;
}

static void read_word(const char **at, char *ret)
{
	bool escapes = !strncmp(*at, "$'", 2);
	bool quoted = escapes || **at == '\'';
	size_t len = 0;

	*at += escapes ? 2 : quoted;
	while (**at && **at != (quoted ? '\'' : ' ')) {
		char c = *(*at)++;

		REQUIRE(len < ARG_MAX_BYTES - 1);
		ret[len++] = escapes && c == '\\' ? read_escape(at) : c;
	}
	ret[len] = '\0';
	REQUIRE(!quoted || **at == '\'');
	*at += quoted;
}

static void read_command(const char *line, struct command *ret)
{
	const char *at = line + strlen("$ ");

	ret->argc = 0;
	while (*at) {
		REQUIRE(ret->argc < ARGC_MAX);
		read_word(&at, ret->words[ret->argc]);
		ret->argv[ret->argc] = ret->words[ret->argc];
		ret->argc++;
		at += strspn(at, " ");
	}
	ret->argv[ret->argc] = NULL;
}

/* The message of the command line, to be freed. */
static char *message_of(const char *line)
{
	struct command command;
	struct options options;
	struct error *err;
	char *message;

	read_command(line, &command);
	err = options_parse(command.argc, command.argv, &options);
	if (!err)
		CHECK_FAIL("%s: is accepted", line);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK(!strpbrk(err->message, "\n\r\x1b"));
	message = strdup(err->message);
	REQUIRE(message);
	error_destroy(err);
	return message;
}

/* The next line, without its end. */
static bool next_line(FILE *file, char *ret, int size)
{
	if (!fgets(ret, size, file))
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

static void messages(void)
{
	_cleanup_(fclosep) FILE *file = fopen(PATH, "r");
	char line[1024], wanted[1024];
	unsigned count = 0;

	REQUIRE(file);
	while (next_line(file, line, sizeof(line))) {
		if (line[0] != '$')
			continue;
		REQUIRE(next_line(file, wanted, sizeof(wanted)));
		REQUIRE(!strncmp(wanted, ANSWER, strlen(ANSWER)));

		_cleanup_(freep) char *message = message_of(line);

		if (strcmp(message, wanted + strlen(ANSWER)))
			CHECK_FAIL("%s: says\n  %s\nand not\n  %s", line, message,
				   wanted + strlen(ANSWER));
		/* Two lines of a terminal. */
		if (strlen(wanted) > 2 * 80 && !strstr(wanted, "aaaaaaaa"))
			CHECK_FAIL("%s: the message is longer than two lines", line);
		count++;
	}
	CHECK(count >= 40);
}

static void rewrite(const char *path)
{
	_cleanup_(fclosep) FILE *from = fopen(PATH, "r"), *to = fopen(path, "w");
	char line[1024];

	REQUIRE(from && to);
	while (next_line(from, line, sizeof(line))) {
		if (!strncmp(line, ANSWER, strlen(ANSWER)))
			continue;
		fprintf(to, "%s\n", line);
		if (line[0] != '$')
			continue;

		_cleanup_(freep) char *message = message_of(line);

		fprintf(to, "%s%s\n", ANSWER, message);
	}
}

int main(int argc, char *argv[])
{
	if (argc > 1) {
		rewrite(argv[1]);
		return 0;
	}
	RUN(messages);
	return check_done();
}
