// SPDX-License-Identifier: Apache-2.0
/*
 * tests/golden/messages.txt has all messages of memtrace, so that a person can read them
 * one after another: what the source prints itself, and the texts of errors and notes.
 * Below each text stands what provokes it, which a person has written:
 *
 *    $ COMMAND     a command line, which live.messages runs (its source says where)
 *    when: WHEN    what must have happened, if no command line here can do it
 *    part: WHERE   the text is a part of other messages
 *
 * With a file as argument, writes the list there instead, to be reviewed and copied. It
 * keeps what stands below texts that have not changed.
 * tests/golden/command-lines.txt has the messages about command lines, as they are
 * printed.
 */
#include "check.h"

#include <ctype.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/strbuf.h"

#define GOLDEN SOURCE_DIR "/tests/golden/messages.txt"

/* Two lines of a terminal, with room for names in place of "%s". */
#define CHARS_MAX 240

/* Functions that make a message of a format. */
static const char *const makers[] = {
	"error_create", "error_errno", "error_prefix", "say_error", "tracees_note",
};

/* Lines below a text. */
#define BELOW "        "

static const char *const ways[] = {"$ ", "when: ", "part: "};

/* How messages begin that the source prints itself. */
#define PRINTED "\"memtrace: "

/* Owned by the caller. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;
	long size;

	REQUIRE(file && !fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0);
	rewind(file);
	text = calloc(1, (size_t)size + 1);
	REQUIRE(text && fread(text, 1, (size_t)size, file) == (size_t)size);
	fclose(file);
	return text;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The end of a string or character that begins at `at`. */
static const char *end_of_quoted(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote)
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

/* Overwrite comments with spaces. */
static void blank_comments(char *source)
{
	for (char *at = source; *at;) {
		bool is_block = at[0] == '/' && at[1] == '*';
		const char *end;

		if (*at == '"' || *at == '\'') {
			at += end_of_quoted(at) - at;
			continue;
		}
		end = is_block                       ? strstr(at + 2, "*/")
		      : at[0] == '/' && at[1] == '/' ? strchr(at, '\n')
						     : at;
		if (!end)
			end = at + strlen(at);
		else if (is_block)
			end += 2;
		if (end == at)
			at++;
		while (at < end)
			*at++ = ' ';
	}
}

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/* Append a literal, and others and macros of inttypes.h that follow. Returns the end. */
static const char *join(const char *at, struct strbuf *ret)
{
	while (*at == '"' || !strncmp(at, "PRI", 3)) {
		const char *end = at;

		if (*at == '"') {
			end = end_of_quoted(at);
			strbuf_appendf(ret, "%.*s", (int)(end - at - 2), at + 1);
		} else {
			while (is_name(*end))
				end++;
			strbuf_append(ret, "d");
		}
		at = skip_space(end);
	}
	return at;
}

static void list(struct strbuf *text, const struct strbuf *message)
{
	const char *shown = strbuf_text(message);
	size_t len = strlen(shown);

	while (len > 2 && !strncmp(shown + len - 2, "\\n", 2))
		len -= 2;
	strbuf_appendf(text, "    %.*s\n", (int)len, shown);
	if (len > CHARS_MAX)
		CHECK_FAIL("longer than two lines: %s", shown);
}

/* List the literals of several words in the arguments that begin at `at`. */
static const char *list_arguments(const char *at, struct strbuf *text)
{
	unsigned depth = 0;

	do {
		_cleanup_(strbuf_deinit) struct strbuf message = {0};

		depth += *at == '(';
		depth -= *at == ')';
		if (*at == '"') {
			at = join(at, &message);
			if (strchr(strbuf_text(&message), ' '))
				list(text, &message);
		} else {
			at = *at == '\'' ? end_of_quoted(at) : at + 1;
		}
	} while (*at && depth);
	return at;
}

/* List the message of say_note(), whose arguments begin at `at`. */
static void list_note(const char *at, struct strbuf *text)
{
	_cleanup_(strbuf_deinit) struct strbuf message = {0};

	at = skip_space(at + 1);
	/* Its definition. */
	if (!strncmp(at, "const char *", 12))
		return;
	if (*at != '"')
		CHECK_FAIL("say_note() needs a literal, to be listed: %.40s", at);
	strbuf_append(&message, "memtrace: ");
	join(at, &message);
	list(text, &message);
}

static bool is_note(const char *name, size_t len)
{
	return len == strlen("say_note") && !strncmp(name, "say_note", len);
}

static bool makes_message(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		if (strlen(makers[i]) == len && !strncmp(makers[i], name, len))
			return true;
	return false;
}

/* The end of the arguments that begin at `at`, a '('. */
static const char *end_of_arguments(const char *at)
{
	unsigned depth = 0;

	do {
		depth += *at == '(';
		depth -= *at == ')';
		at = *at == '"' || *at == '\'' ? end_of_quoted(at) : at + 1;
	} while (*at && depth);
	return at;
}

/* Do the arguments that begin at `at` contain `text`? */
static bool is_argument(const char *at, const char *text)
{
	const char *found = strstr(at, text);

	return found && found < end_of_arguments(at);
}

/* Messages contain names that the target chose: util/say_error.h escapes them. */
static void check_escaped(const char *source, const char *path)
{
	static const char *const printers[] = {"fprintf(stderr", "say_note("};

	for (size_t i = 0; i < sizeof(printers) / sizeof(*printers); i++)
		for (const char *at = source; (at = strstr(at, printers[i])); at++)
			if (is_argument(strchr(at, '('), "->message"))
				CHECK_FAIL("%s prints a message that is not escaped: "
					   "%.60s",
					   path, at);
}

/* Calls that print on stderr without say_note(). */
static unsigned count_prints(const char *source)
{
	static const char *const printers[] = {"fprintf(", "fputs(", "fputc(", "fwrite("};
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(printers) / sizeof(*printers); i++)
		for (const char *at = source; (at = strstr(at, printers[i])); at++)
			count += is_argument(strchr(at, '('), "stderr");
	return count;
}

static bool uses_reporter(const char *path)
{
	return strstr(path, "/src/session/") || strstr(path, "/src/tracees/");
}

static void list_file(char *source, struct strbuf *text)
{
	blank_comments(source);
	for (const char *at = source; *at;) {
		if (*at == '"') {
			_cleanup_(strbuf_deinit) struct strbuf message = {0};
			bool is_printed = !strncmp(at, PRINTED, strlen(PRINTED));

			at = join(at, &message);
			if (is_printed)
				list(text, &message);
		} else if (*at == '\'') {
			at = end_of_quoted(at);
		} else if (is_name(*at)) {
			const char *end = at;

			while (is_name(*end))
				end++;
			if (*end == '(' && is_note(at, (size_t)(end - at)))
				list_note(end, text);
			at = *end == '(' && makes_message(at, (size_t)(end - at))
				     ? list_arguments(end, text)
				     : end;
		} else {
			at++;
		}
	}
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void list_all(struct strbuf *text)
{
	char root[] = SOURCE_DIR "/src";
	FTS *tree = fts_open((char *[]){root, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;

	REQUIRE(tree);
	while ((entry = fts_read(tree))) {
		_cleanup_(strbuf_deinit) struct strbuf messages = {0};
		const char *dot = strrchr(entry->fts_name, '.');

		if (entry->fts_info != FTS_F || !dot || strcmp(dot, ".c") != 0)
			continue;

		_cleanup_(freep) char *source = read_text(entry->fts_path);

		list_file(source, &messages);
		if (!strstr(entry->fts_path, "/manual/"))
			check_escaped(source, entry->fts_path);
		if (uses_reporter(entry->fts_path) && count_prints(source))
			CHECK_FAIL("%s prints on stderr without say_note()",
				   entry->fts_path);
		if (messages.len)
			strbuf_appendf(text, "%s\n%s", entry->fts_path + strlen(root) + 1,
				       strbuf_text(&messages));
	}
	fts_close(tree);
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

static bool same_line(const char *a, const char *b)
{
	size_t len = strcspn(a, "\n");

	return len == strcspn(b, "\n") && !strncmp(a, b, len);
}

/* The lines of `list` without those below texts. */
static void append_texts(const char *list, struct strbuf *ret)
{
	for (const char *end; *list; list = end) {
		end = next_line(list);
		if (!starts_with(list, BELOW))
			strbuf_append_bytes(ret, list, (size_t)(end - list));
	}
}

/* The part of `list` that begins with the name of this file, or "". */
static const char *find_file(const char *list, const char *file)
{
	while (*list && !same_line(list, file))
		list = next_line(list);
	return list;
}

/* Copy the lines below the nth such text of the file in `list`. */
static void append_below(const char *list, const char *file, const char *text, unsigned n,
			 struct strbuf *ret)
{
	const char *at = next_line(find_file(list, file)), *end;

	for (; *at == ' '; at = next_line(at))
		if (same_line(at, text) && !n--)
			break;
	if (*at != ' ')
		return;
	for (at = next_line(at); starts_with(at, BELOW); at = end) {
		end = next_line(at);
		strbuf_append_bytes(ret, at, (size_t)(end - at));
	}
}

/* Append the texts, each with the lines that stand below it in `list`. */
static void append_with_below(const char *texts, const char *list, struct strbuf *ret)
{
	const char *file = texts;

	for (const char *at = texts, *end; *at; at = end) {
		unsigned n = 0;

		end = next_line(at);
		strbuf_append_bytes(ret, at, (size_t)(end - at));
		if (*at != ' ')
			file = at;
		for (const char *p = file; p < at; p = next_line(p))
			n += same_line(p, at);
		append_below(list, file, at, n, ret);
	}
}

static void write_list(const char *path)
{
	_cleanup_(strbuf_deinit) struct strbuf texts = {0}, all = {0};
	_cleanup_(freep) char *golden = read_text(GOLDEN);
	FILE *file = fopen(path, "we");

	list_all(&texts);
	append_with_below(strbuf_text(&texts), golden, &all);
	REQUIRE(file && fputs(strbuf_text(&all), file) >= 0 && !fclose(file));
}

/* A message that is new, gone or changed must be so in the list, too. */
static void the_list_is_complete(void)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0}, listed = {0};
	_cleanup_(freep) char *golden = read_text(GOLDEN);

	list_all(&text);
	append_texts(golden, &listed);
	CHECK(text.len > 10000);
	CHECK_STR(strbuf_text(&listed), strbuf_text(&text));
}

static bool is_way(const char *line)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (starts_with(line, BELOW) &&
		    starts_with(line + strlen(BELOW), ways[i]))
			return strcspn(line, "\n") > strlen(BELOW) + strlen(ways[i]);
	return false;
}

/* The number of texts in the list without a line that says what provokes them, and of
 * lines that say it in no known way. */
static unsigned count_unexplained(const char *list)
{
	unsigned count = 0;

	for (const char *at = list; *at; at = next_line(at)) {
		if (*at != ' ')
			continue;
		if (starts_with(at, BELOW) ? is_way(at) : is_way(next_line(at)))
			continue;
		fprintf(stderr, "%.*s\n", (int)strcspn(at, "\n"), at);
		count++;
	}
	return count;
}

static void each_text_has_what_provokes_it(void)
{
	_cleanup_(freep) char *golden = read_text(GOLDEN);

	CHECK_INT(count_unexplained(golden), 0);
	CHECK_INT(count_unexplained("a.c\n    one\n    two\n        $ b\n"), 1);
	CHECK_INT(count_unexplained("a.c\n    one\nb.c\n    two\n        when: x\n"), 1);
	CHECK_INT(count_unexplained("a.c\n    one\n        when: \n"), 2);
	CHECK_INT(count_unexplained("a.c\n    one\n        part: x\n        y\n"), 1);
}

static void a_new_list_keeps_what_was_below(void)
{
	static const char old[] = "a.c\n    one\n        $ x\n    two\n        $ y\n"
				  "    two\n        $ z\n        when: v\n"
				  "b.c\n    one\n        $ w\n";
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	append_with_below("a.c\n    two\n    new\n    two\nb.c\n    one\nc.c\n    one\n",
			  old, &text);
	CHECK_STR(strbuf_text(&text),
		  "a.c\n    two\n        $ y\n    new\n    two\n        $ z\n"
		  "        when: v\nb.c\n    one\n        $ w\nc.c\n    one\n");
}

static void prints_without_the_reporter_are_found(void)
{
	CHECK_INT(count_prints("fprintf(stderr, \"a; b)\"); x(stderr); say_note(\"a\");"
			       "fputs(a(\"b);\"), stderr); fprintf(out, \"c\");"),
		  2);
}

static void literals_are_joined(void)
{
	static const char source[] =
		"f(\"memtrace: a \" /* \"no\" */\n\"b\\n\");"
		"// It's \"memtrace: no\"\n"
		"error_create(CODE, x ? \"one %\" PRIu64 \" (of it)\" "
		": \"two words\", \"no\");"
		"say_note(\"five%d\\n\" \", six\", \"not this\");"
		"my_error_create(\"not this\"); \"nor this\"; '\"';";
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	char copy[sizeof(source)];

	memcpy(copy, source, sizeof(source));
	list_file(copy, &text);
	CHECK_STR(strbuf_text(&text),
		  "    memtrace: a b\n    one %d (of it)\n    two words\n"
		  "    memtrace: five%d\\n, six\n");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		write_list(argv[1]);
		return 0;
	}
	RUN(literals_are_joined);
	RUN(prints_without_the_reporter_are_found);
	RUN(the_list_is_complete);
	RUN(each_text_has_what_provokes_it);
	RUN(a_new_list_keeps_what_was_below);
	return check_done();
}
