// SPDX-License-Identifier: Apache-2.0
/*
 * What a terminal shows of real programs: each snapshot in screens/ is replayed on a
 * pseudo-terminal in four sizes, and the screens are compared with the files there. With
 * a directory as argument, writes the screens there instead, to be reviewed and copied.
 * screens/README.md says how the snapshots were recorded.
 */
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "colors.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

#define SCREENS TEST_DATA_DIR "/golden/screens"
/* Of a terminal that shows the last lines, one is for the prompt. */
#define SCREEN_LINES 23

static const char *write_dir;

static const struct program {
	const char *name;
	const char *first;   /* the function that names the first cause */
	const char *size;    /* its number */
	const char *verdict; /* begin of the last line, at 80 columns */
} programs[] = {
	{"store", "process_command (store.c:65)", "33.8 MiB/min",
	 "leaking 34.2 MiB/min, 99 % from process_command (store.c:65); +1 GiB in 30 "
	 "min"},
	{"shop", "shop::order::order (shop.cc:40)", "2.7 MiB/min",
	 "leaking 3.1 MiB/min, 86 % from shop::order::order (shop.cc:40); +1 GiB in 5.5 "
	 "h"},
	{"orders", "orders::describe (orders.rs:27)", "8.6 MiB/min",
	 "leaking 8.6 MiB/min, 100 % from orders::describe (orders.rs:27); +1 GiB in"},
	{"python", "python3.11+0x5a7141", "10.6 MiB/min",
	 "leaking 15.4 MiB/min, 69 % from python3.11+0x5a7141 (no symbol); +1 GiB in 1.1 "
	 "h"},
	{"redis", "_sdsnewlen", "3.2 MiB/min",
	 "leaking 3.8 MiB/min, 83 % from _sdsnewlen by createStringObject; +1 GiB in"},
	{"clang", "cc1_main", "624.0 KiB",
	 "grows unsteadily: +349.0 KiB in 2 s; no leak"},
};

#define PROGRAMS (sizeof(programs) / sizeof(*programs))

/* --- a terminal --------------------------------------------------------------------- */

/* The variables of a terminal: its name, NULL: none; and whether colours are wanted. */
struct kind {
	const char *term;
	bool has_colors;
};

static const struct kind without_colors = {"xterm", false};

_Noreturn static void run(int terminal, const char *snapshot, const struct kind *kind,
			  const char *const *options)
{
	const char *argv[16] = {"memtrace", "--replay", snapshot, "-q"};
	size_t count = 4;

	while (*options)
		argv[count++] = *options++;
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("TERM");
	unsetenv("NO_COLOR");
	if (kind->term)
		setenv("TERM", kind->term, 1);
	if (!kind->has_colors)
		setenv("NO_COLOR", "1", 1);
	dup2(terminal, STDOUT_FILENO);
	execv(MEMTRACE, (char *const *)argv);
	_exit(127);
}

/* What memtrace writes to a terminal of this size, owned. Line ends are as it wrote
 * them. */
static char *show_on(const struct kind *kind, const char *name, unsigned short columns,
		     unsigned short lines, const char *const *options)
{
	const struct winsize size = {.ws_row = lines, .ws_col = columns};
	_cleanup_(closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct termios modes;
	char buf[4096], path[512];
	int terminal, status;
	ssize_t n;
	pid_t pid;

	REQUIRE(master >= 0 && !grantpt(master) && !unlockpt(master));
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	REQUIRE(terminal >= 0 && !ioctl(master, TIOCSWINSZ, &size));
	REQUIRE(!tcgetattr(terminal, &modes));
	modes.c_oflag &= ~(tcflag_t)OPOST;
	REQUIRE(!tcsetattr(terminal, TCSANOW, &modes));
	snprintf(path, sizeof(path), SCREENS "/%s.mts", name);
	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		run(terminal, path, kind, options);
	close(terminal);
	/* Ends with EIO when the other end is closed. */
	while ((n = read(master, buf, sizeof(buf))) > 0)
		strbuf_append_bytes(&text, buf, (size_t)n);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	REQUIRE(!text.failed && text.len);
	return strbuf_steal(&text);
}

static char *show(const char *name, unsigned short columns, unsigned short lines,
		  const char *const *options)
{
	return show_on(&without_colors, name, columns, lines, options);
}

/* --- the screens -------------------------------------------------------------------- */

static void compare(const char *name, unsigned columns, unsigned lines, const char *got)
{
	_cleanup_(freep) char *want = calloc(1, 1 << 16);
	_cleanup_(fclosep) FILE *file = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s-%ux%u.txt", write_dir ? write_dir : SCREENS,
		 name, columns, lines);
	file = fopen(path, write_dir ? "we" : "re");
	REQUIRE(file && want);
	if (write_dir) {
		fputs(got, file);
		return;
	}
	want[fread(want, 1, (1 << 16) - 1, file)] = '\0';
	CHECK(*want);
	CHECK_STR(got, want);
}

static size_t columns_of(const char *line)
{
	size_t columns = 0;

	for (; *line && *line != '\n'; line++)
		columns += ((unsigned char)*line & 0xc0) != 0x80;
	return columns;
}

/* No line is wider than the terminal, and none has a control character. */
static void check_lines(const char *name, const char *text, unsigned columns)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t width = columns_of(line);

		check_state.checks++;
		REQUIRE(strchr(line, '\n'));
		if (width > columns)
			CHECK_FAIL("%s at %u columns: %zu in: %.*s", name, columns, width,
				   (int)strcspn(line, "\n"), line);
		for (const char *at = line; *at != '\n'; at++)
			CHECK((unsigned char)*at >= ' ');
	}
}

/* The last `count` lines. */
static const char *last_lines(const char *text, size_t count)
{
	const char *at = text + strlen(text);

	for (at--; count && at > text; at--)
		count -= at[-1] == '\n';
	return at > text ? at + 1 : at;
}

static void check_screen(const struct program *program, const char *text)
{
	const char *screen = last_lines(text, SCREEN_LINES);
	const char *last = last_lines(text, 1);

	CHECK_CONTAINS(screen, program->first);
	CHECK_CONTAINS(screen, program->size);
	if (strncmp(last, program->verdict, strlen(program->verdict)) != 0)
		CHECK_FAIL("%s ends with: %s", program->name, last);
}

static void screens(void)
{
	static const unsigned short sizes[][2] = {
		{80, 24}, {80, 45}, {120, 40}, {200, 60}};
	static const char *const no_options[] = {NULL};

	for (size_t i = 0; i < PROGRAMS; i++) {
		for (size_t k = 0; k < 4; k++) {
			_cleanup_(freep) char *text = show(programs[i].name, sizes[k][0],
							   sizes[k][1], no_options);

			check_lines(programs[i].name, text, sizes[k][0]);
			check_screen(&programs[i], text);
			compare(programs[i].name, sizes[k][0], sizes[k][1], text);
		}
	}
}

/* On narrow terminals, with full names, and in text reports no line is too wide
 * either. */
static void other_reports(void)
{
	static const char *const options[][3] = {
		{"--format=text", "--top=0", NULL},
		{"--format=text", "--addresses", NULL},
		{"--format=text", "--names=full", NULL},
		{"--names=full", "--addresses", NULL},
		{"--hide-frames=none", NULL, NULL},
		{"--view=functions", NULL, NULL},
		{"--view=tree", "--top=0", NULL},
		{"--view=traffic", NULL, NULL},
		{"--view=threads", NULL, NULL},
	};
	static const unsigned short columns[] = {20, 39, 80, 132};

	for (size_t i = 0; i < PROGRAMS; i++) {
		for (size_t k = 0; k < sizeof(options) / sizeof(*options); k++) {
			unsigned short width = columns[(i + k) % 4];
			_cleanup_(freep) char *text =
				show(programs[i].name, width, 24, options[k]);

			check_lines(programs[i].name, text, width);
		}
	}
}

/* Does the text have this word, between blanks or line ends? */
static bool has_word(const char *text, const char *word, size_t len)
{
	const char *at = text;

	for (; (at = memmem(at, strlen(at), word, len)); at++) {
		bool begins = at == text || strchr(" \n", at[-1]);

		if (begins && (!at[len] || strchr(" \n", at[len])))
			return true;
	}
	return false;
}

/* At 80 columns no word is broken: each is also in the report for a very wide terminal.
 */
static void whole_words(void)
{
	static const char *const options[][3] = {
		{"--format=text", "--top=0", NULL},
		{"--format=text", "--addresses", NULL},
		{"--view=functions", "--top=0", NULL},
		{"--view=tree", "--top=0", NULL},
	};

	for (size_t i = 0; i < PROGRAMS; i++) {
		for (size_t k = 0; k < sizeof(options) / sizeof(*options); k++) {
			_cleanup_(freep) char *narrow =
				show(programs[i].name, 80, 24, options[k]);
			_cleanup_(freep) char *broad =
				show(programs[i].name, 2000, 24, options[k]);

			for (const char *at = narrow; *at; at += strspn(at, " \n")) {
				size_t len = strcspn(at, " \n");

				check_state.checks++;
				if (!has_word(broad, at, len))
					CHECK_FAIL("%s %s: %.*s is broken",
						   programs[i].name, options[k][0],
						   (int)len, at);
				at += len;
			}
		}
	}
}

/* A dumb terminal, and one without a name, get no escape sequences; others get colours
 * and the same text. */
static void kinds_of_terminals(void)
{
	static const struct kind dumb = {"dumb", true}, none = {NULL, true},
				 color = {"xterm", true};
	static const char *const options[][3] = {{NULL}, {"--format=text", NULL}};

	for (size_t i = 0; i < PROGRAMS; i++) {
		const char *name = programs[i].name;
		_cleanup_(freep) char *plain = show(name, 80, 24, options[i % 2]);
		_cleanup_(freep) char *on_dumb =
			show_on(&dumb, name, 80, 24, options[i % 2]);
		_cleanup_(freep) char *on_none =
			show_on(&none, name, 80, 24, options[i % 2]);
		_cleanup_(freep) char *colored =
			show_on(&color, name, 80, 24, options[i % 2]);

		CHECK_STR(on_dumb, plain);
		CHECK_STR(on_none, plain);
		CHECK(strchr(colored, '\x1b'));
		colors_strip(colored);
		CHECK_STR(colored, plain);
	}
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	RUN(screens);
	RUN(other_reports);
	RUN(whole_words);
	RUN(kinds_of_terminals);
	return check_done();
}
