// SPDX-License-Identifier: Apache-2.0
/*
 * --live of snapshots on a terminal: the screens in live/, keys, the numbers of
 * --format json, and how the terminal is left. With a directory as argument, writes the
 * screens there instead, to be reviewed and copied.
 */
#include "check.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/sanitized.h"
#include "util/units.h"
#include "vt.h"

#define SNAPSHOTS  TEST_DATA_DIR "/golden/screens"
#define SCREENS    TEST_DATA_DIR "/golden/live"
#define TIMEOUT_MS 20000

#define UP         "\033OA"
#define DOWN       "\033OB"
#define END        "\033OF"

static const char *write_dir;

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), SNAPSHOTS "/%s.mts", name);
	return path;
}

static struct vt *start_with(const char *name, unsigned columns, unsigned lines,
			     const char *const *env)
{
	const char *argv[] = {MEMTRACE, "--replay", path_of(name), "--live", NULL};

	return vt_start(&(const struct vt_options){argv, env, columns, lines});
}

static struct vt *start(const char *name, unsigned columns, unsigned lines)
{
	struct vt *vt = start_with(name, columns, lines, NULL);

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	return vt;
}

/* Press keys and wait for text that was not there before. */
static void press(struct vt *vt, const char *keys, const char *text)
{
	vt_press(vt, keys);
	check_state.checks++;
	if (!vt_wait(vt, text, TIMEOUT_MS))
		CHECK_FAIL("no \"%s\" behind \"%s\" in:\n%s", text, keys, vt_text(vt));
}

static void quit(struct vt *vt)
{
	vt_press(vt, "q");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	vt_destroy(vt);
}

/* --- screens ------------------------------------------------------------------------ */

static void compare(struct vt *vt, const char *name, unsigned columns, unsigned lines)
{
	_cleanup_(freep) char *want = calloc(1, 1 << 16);
	_cleanup_(fclosep) FILE *file = NULL;
	char path[512];

	/* Until the last key is answered. */
	vt_run(vt, 50);
	snprintf(path, sizeof(path), "%s/%s-%ux%u.txt", write_dir ? write_dir : SCREENS,
		 name, columns, lines);
	file = fopen(path, write_dir ? "we" : "re");
	REQUIRE(file && want);
	if (write_dir) {
		fputs(vt_text(vt), file);
		return;
	}
	want[fread(want, 1, (1 << 16) - 1, file)] = '\0';
	CHECK(*want);
	CHECK_STR(vt_text(vt), want);
}

static const unsigned sizes[][2] = {{80, 24}, {120, 40}, {200, 60}};

#define SIZES (sizeof(sizes) / sizeof(*sizes))

static void screens(void)
{
	static const char *const names[] = {"store", "shop", "orders", "python", "redis"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t k = 0; k < SIZES; k++) {
			struct vt *vt = start(names[i], sizes[k][0], sizes[k][1]);

			compare(vt, names[i], sizes[k][0], sizes[k][1]);
			quit(vt);
		}
	}
}

static void keys(void)
{
	for (size_t k = 0; k < SIZES; k++) {
		unsigned columns = sizes[k][0], lines = sizes[k][1];
		struct vt *vt = start("shop", columns, lines);

		press(vt, "?", "memtrace: keys");
		compare(vt, "help", columns, lines);
		press(vt, "x", "? help");
		press(vt, "v3", "tree by bytes");
		press(vt, "e", "- ");
		compare(vt, "tree", columns, lines);
		press(vt, "c", "begin with the caller");
		press(vt, "e", "- ");
		compare(vt, "callers", columns, lines);
		press(vt, "v4", "functions by bytes");
		press(vt, "s6", "functions by with callees");
		compare(vt, "functions", columns, lines);
		press(vt, "v6", "traffic by allocated");
		compare(vt, "traffic", columns, lines);
		press(vt, "v7", "peak by peak");
		compare(vt, "peak", columns, lines);
		press(vt, "v8", "THREAD");
		compare(vt, "threads", columns, lines);
		press(vt, "v2", "stacks by bytes");
		press(vt, "forder\r", "filter \"order\"");
		compare(vt, "filter", columns, lines);
		quit(vt);
	}
}

/* The numbers of the heading line; the column of "1/6" in the last line. */
static long selected(struct vt *vt)
{
	const char *line = vt_line(vt, 23), *slash = strrchr(line, '/');

	REQUIRE(slash);
	while (slash > line && slash[-1] != ' ')
		slash--;
	return strtol(slash, NULL, 10);
}

static long count(struct vt *vt)
{
	const char *slash = strrchr(vt_line(vt, 23), '/');

	REQUIRE(slash);
	return strtol(slash + 1, NULL, 10);
}

static void moving(void)
{
	struct vt *vt = start("clang", 80, 24);
	char last[64];
	long n;

	press(vt, "v6", "traffic by allocated");
	n = count(vt);
	REQUIRE(n > 15);
	CHECK_INT(selected(vt), 1);
	press(vt, DOWN, " 2/");
	press(vt, "j", " 3/");
	press(vt, UP, " 2/");
	press(vt, "k", " 1/");
	press(vt, "\033[6~", " 13/");
	press(vt, "\033[5~", " 1/");
	snprintf(last, sizeof(last), " %ld/%ld", n, n);
	press(vt, END, last);
	press(vt, "g", " 1/");
	/* Not above the first line. */
	vt_press(vt, UP);
	vt_run(vt, 100);
	CHECK_INT(selected(vt), 1);
	quit(vt);
}

static void searching(void)
{
	struct vt *vt = start("shop", 80, 24);
	long first, second;

	press(vt, "v2", "stacks by bytes");
	press(vt, "/", "search: _");
	press(vt, "std::v", "search: std::v_");
	press(vt, "\177\177\177\177\177\177_m_c\r", "/");
	vt_wait(vt, "? help", TIMEOUT_MS);
	vt_run(vt, 200);
	first = selected(vt);
	vt_press(vt, "n");
	vt_run(vt, 200);
	second = selected(vt);
	CHECK(first != second);
	vt_press(vt, "N");
	vt_run(vt, 200);
	CHECK_INT(selected(vt), first);
	press(vt, "/no such name\r", "not found");
	quit(vt);
}

static void mark_and_mouse(void)
{
	struct vt *vt = start("shop", 80, 24);

	press(vt, "m", "mark set");
	CHECK_CONTAINS(vt_text(vt), "SINCE MARK");
	CHECK_CONTAINS(vt_line(vt, 3), "mark 1");
	press(vt, "m", "mark removed");
	press(vt, "v2", "stacks by bytes");
	/* SGR mouse mode: the third line of the table; then the heading BLOCKS. */
	CHECK(vt_has_mouse(vt));
	press(vt, "\033[<0;10;8M\033[<0;10;8m", " 3/");
	press(vt, "\033[<0;17;5M\033[<0;17;5m", "stacks by blocks");
	press(vt, "\033[<64;10;8M", " 6/");
	/* A snapshot stays as it is. */
	press(vt, " ", "does not change");
	press(vt, "+", "does not change");
	press(vt, "l", "memtrace: messages");
	press(vt, "x", "? help");
	press(vt, "\t", "e");
	quit(vt);
}

/* --- numbers ------------------------------------------------------------------------ */

static json_t *read_json(const char *name)
{
	char command[1024];
	json_error_t why;
	json_t *root;
	FILE *out;

	snprintf(command, sizeof(command), "%s --replay %s --top 0 --format json",
		 MEMTRACE, path_of(name));
	out = popen(command, "re");
	REQUIRE(out);
	root = json_loadf(out, 0, &why);
	REQUIRE(!pclose(out));
	REQUIRE(root);
	return root;
}

/* Does line `y` begin with the bytes, blocks and age of this stack? */
static void check_stack(struct vt *vt, unsigned y, const json_t *stack)
{
	uint64_t bytes =
		(uint64_t)json_integer_value(json_object_get(stack, "size_bytes"));
	uint64_t blocks = (uint64_t)json_integer_value(json_object_get(stack, "blocks"));
	uint64_t age =
		(uint64_t)json_integer_value(json_object_get(stack, "oldest_age_ns"));
	char want[128];

	snprintf(want, sizeof(want), "%10s %7s", units_format_bytes(bytes).s,
		 units_format_count(blocks).s);
	check_state.checks++;
	if (strncmp(vt_line(vt, y), want, strlen(want)) != 0)
		CHECK_FAIL("line %u is not \"%s\": %s", y, want, vt_line(vt, y));
	CHECK_CONTAINS(vt_line(vt, y), units_format_duration(age).s);
}

static void numbers(void)
{
	static const char *const names[] = {"store",  "shop",  "orders",
					    "python", "redis", "clang"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct vt *vt = start(names[i], 200, 60);
		json_t *root = read_json(names[i]);
		json_t *heap = json_object_get(root, "heap");
		json_t *stacks = json_object_get(heap, "stacks");
		uint64_t live_bytes =
			(uint64_t)json_integer_value(json_object_get(heap, "live_bytes"));
		uint64_t live_blocks = (uint64_t)json_integer_value(
			json_object_get(heap, "live_blocks"));
		uint64_t rss = (uint64_t)json_integer_value(
			json_object_get(json_object_get(root, "target"), "vm_rss_bytes"));
		char want[128];
		size_t shown = 0;

		press(vt, "v2", "stacks by bytes");
		for (size_t k = 0; k < json_array_size(stacks) && shown < 40; k++) {
			const json_t *stack = json_array_get(stacks, k);

			if (json_integer_value(json_object_get(stack, "blocks")))
				check_stack(vt, 5 + (unsigned)shown++, stack);
		}
		CHECK(shown > 0);
		snprintf(want, sizeof(want), "live heap %s in %" PRIu64 " blocks",
			 units_format_bytes(live_bytes).s, live_blocks);
		CHECK_CONTAINS(vt_line(vt, 1), want);
		snprintf(want, sizeof(want), "RSS   %s", units_format_bytes(rss).s);
		CHECK_CONTAINS(vt_line(vt, 1), want);
		json_decref(root);
		quit(vt);
	}
}

/* --- how the terminal is left ------------------------------------------------------- */

static bool are_equal(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
	       a->c_cflag == b->c_cflag && a->c_lflag == b->c_lflag &&
	       !memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc));
}

static void check_restored(struct vt *vt, const struct termios *before)
{
	struct termios after = vt_modes(vt);

	CHECK(are_equal(before, &after));
	CHECK(!vt_is_alternate(vt));
	CHECK(vt_has_cursor(vt));
	CHECK(!vt_has_mouse(vt));
}

/* The process of the screen. */
static pid_t screen_of(pid_t parent)
{
	char path[64];
	_cleanup_(fclosep) FILE *file = NULL;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
		 (int)parent);
	file = fopen(path, "re");
	REQUIRE(file && fscanf(file, "%d", &pid) == 1);
	return pid;
}

static void restored_after_quit(void)
{
	struct vt *vt = start_with("store", 80, 24, NULL);
	struct termios before = vt_modes(vt), during;

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	during = vt_modes(vt);
	CHECK(!are_equal(&before, &during));
	CHECK(vt_is_alternate(vt));
	CHECK(!vt_has_cursor(vt));
	vt_press(vt, "\003");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	check_restored(vt, &before);
	/* The final report. */
	CHECK_CONTAINS(vt_text(vt), "leaking");
	vt_destroy(vt);
}

static void restored_after(int signal, bool of_screen, const char *text)
{
	struct vt *vt = start_with("store", 80, 24, NULL);
	struct termios before = vt_modes(vt);
	pid_t screen;
	int status;

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	screen = screen_of(vt_pid(vt));
	REQUIRE(!kill(of_screen ? screen : vt_pid(vt), signal));
	status = vt_wait_end(vt, TIMEOUT_MS);
	/* If memtrace itself was killed, its child restores the terminal. */
	for (int i = 0; i < 200 && vt_is_alternate(vt); i++)
		vt_run(vt, 10);
	while (!kill(screen, 0))
		vt_run(vt, 10);
	vt_run(vt, 50);
	check_restored(vt, &before);
	if (of_screen)
		CHECK_INT(status, 0);
	else
		/* A sanitizer reports the signal and exits. */
		CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal) ||
		      (IS_SANITIZED && signal == SIGSEGV && status));
	if (text)
		CHECK_CONTAINS(vt_text(vt), text);
	vt_destroy(vt);
}

static void restored_after_signals(void)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGSEGV, SIGKILL, SIGINT};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		restored_after(signals[i], false, NULL);
	/* Then memtrace goes on without the screen: with the report. */
	restored_after(SIGTERM, true, "leaking");
	restored_after(SIGSEGV, true, "leaking");
	restored_after(SIGBUS, true, "leaking");
	restored_after(SIGKILL, true, "leaking");
}

static void suspended(void)
{
	static const char *const argv[] = {"/bin/bash", "--norc", "--noprofile", "-i",
					   NULL};
	static const char *const env[] = {"PS1=ready$ ", "HISTFILE", NULL};
	struct vt *vt = vt_start(&(const struct vt_options){argv, env, 80, 24});
	char command[1024];

	REQUIRE(vt_wait(vt, "ready$", TIMEOUT_MS));
	snprintf(command, sizeof(command), MEMTRACE " --replay %s --live\r",
		 path_of("store"));
	press(vt, command, "? help");
	vt_press(vt, "\032");
	CHECK(vt_wait(vt, "Stopped", TIMEOUT_MS));
	CHECK(!vt_is_alternate(vt));
	CHECK(vt_has_cursor(vt));
	press(vt, "echo in$((1+1))between\r", "in2between");
	press(vt, "fg\r", "? help");
	CHECK(vt_is_alternate(vt));
	press(vt, "v2", "stacks by bytes");
	vt_press(vt, "q");
	CHECK(vt_wait_gone(vt, "? help", TIMEOUT_MS));
	CHECK(vt_wait(vt, "leaking", TIMEOUT_MS));
	CHECK(!vt_is_alternate(vt));
	vt_destroy(vt);
}

/* A background job leaves the terminal to the shell until `fg`. */
static void in_background(void)
{
	static const char *const argv[] = {"/bin/bash", "--norc", "--noprofile", "-i",
					   NULL};
	static const char *const env[] = {"PS1=ready$ ", "HISTFILE", NULL};
	struct vt *vt = vt_start(&(const struct vt_options){argv, env, 80, 24});
	char command[1024];

	REQUIRE(vt_wait(vt, "ready$", TIMEOUT_MS));
	snprintf(command, sizeof(command), MEMTRACE " --replay %s --live &\r",
		 path_of("store"));
	vt_press(vt, command);
	vt_run(vt, 500);
	press(vt, "\r", "Stopped");
	press(vt, "echo in$((1+1))between\r", "in2between");
	CHECK(!vt_has_written(vt, "\033[?1049h"));
	press(vt, "fg\r", "? help");
	vt_press(vt, "\032");
	CHECK(vt_wait(vt, "in2between", TIMEOUT_MS));
	vt_press(vt, "bg\r");
	vt_run(vt, 500);
	press(vt, "echo in$((2+2))middle\r", "in4middle");
	CHECK(!vt_is_alternate(vt));
	press(vt, "fg\r", "? help");
	vt_press(vt, "q");
	CHECK(vt_wait_gone(vt, "? help", TIMEOUT_MS));
	vt_destroy(vt);
}

/* --- terminals ---------------------------------------------------------------------- */

static void resized(void)
{
	struct vt *vt = start("store", 80, 24);

	vt_resize(vt, 200, 60);
	CHECK(vt_wait(vt, "w write", TIMEOUT_MS));
	vt_run(vt, 100);
	if (!write_dir)
		compare(vt, "store", 200, 60);
	vt_resize(vt, 50, 10);
	CHECK(vt_wait(vt, "too small", TIMEOUT_MS));
	vt_resize(vt, 80, 24);
	CHECK(vt_wait(vt, "? help", TIMEOUT_MS));
	vt_run(vt, 100);
	if (!write_dir)
		compare(vt, "store", 80, 24);
	quit(vt);
}

static void colors(void)
{
	static const char *const none[] = {"NO_COLOR=1", NULL};
	static const char *const ascii[] = {"LC_ALL=C", NULL};
	static const char *const old[] = {"TERM=vt100", NULL};
	struct vt *vt = start("store", 80, 24);

	CHECK(vt_has_colors(vt));
	CHECK(vt_has_inverted(vt));
	quit(vt);
	vt = start_with("store", 80, 24, none);
	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	CHECK(!vt_has_colors(vt));
	CHECK(vt_has_inverted(vt));
	quit(vt);
	vt = start_with("store", 80, 24, ascii);
	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	for (const char *c = vt_text(vt); *c; c++)
		CHECK((unsigned char)*c < 0x80);
	compare(vt, "ascii", 80, 24);
	quit(vt);
	vt = start_with("store", 80, 24, old);
	CHECK(vt_wait(vt, "? help", TIMEOUT_MS));
	CHECK(!vt_has_colors(vt));
	quit(vt);
}

/* One line says why, and the plain report follows. */
static void without_screen(void)
{
	static const struct {
		const char *env[2];
		unsigned columns, lines;
		const char *why;
	} cases[] = {
		{{"TERM=dumb"}, 100, 24, "cannot place the cursor"},
		{{"TERM"}, 100, 24, "cannot place the cursor"},
		{{"TERM=no-such-terminal"}, 100, 24, "terminfo does not know"},
		{{NULL}, 59, 24, "too small"},
		{{NULL}, 100, 15, "too small"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vt *vt = start_with("store", cases[i].columns, cases[i].lines,
					   cases[i].env);

		CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
		CHECK(vt_has_written(vt, "memtrace: --live: "));
		CHECK(vt_has_written(vt, cases[i].why));
		CHECK(vt_has_written(vt, "leaking 34.2 MiB/min"));
		CHECK(!vt_has_written(vt, "\033[?1049h"));
		vt_destroy(vt);
	}
}

static void without_terminal(void)
{
	char command[1024], text[8192];
	FILE *out;

	snprintf(command, sizeof(command), "%s --replay %s --live </dev/null 2>&1",
		 MEMTRACE, path_of("store"));
	out = popen(command, "re");
	REQUIRE(out);
	text[fread(text, 1, sizeof(text) - 1, out)] = '\0';
	CHECK_INT(pclose(out), 0);
	CHECK_CONTAINS(text, "memtrace: --live: standard input and output must be a "
			     "terminal; plain reports follow\n");
	CHECK_CONTAINS(text, "memtrace report 6 of process");
}

static void bad_file(void)
{
	const char *const argv[] = {MEMTRACE, "--replay", __FILE__, "--live", NULL};
	struct vt *vt = vt_start(&(const struct vt_options){argv, NULL, 100, 24});
	int status = vt_wait_end(vt, TIMEOUT_MS);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK(!vt_has_written(vt, "\033[?1049h"));
	CHECK(vt_has_written(vt, "memtrace: --replay "));
	vt_destroy(vt);
}

/* --- files -------------------------------------------------------------------------- */

static void written(void)
{
	static const struct {
		const char *keys, *name, *begin;
	} files[] = {
		{"ws", "memtrace-%d-1.mts", "\x8fmts"},
		{"wh", "memtrace-%d-1.html", "<!DOCTYPE html>"},
		{"wf", "memtrace-%d-1.svg", "<?xml"},
		{"ws", "memtrace-%d-2.mts", "\x8fmts"},
	};
	char dir[] = "/tmp/memtrace-live-XXXXXX", cwd[512];
	json_t *root = read_json("store");
	int pid = (int)json_integer_value(
		json_object_get(json_object_get(root, "target"), "pid"));
	struct vt *vt;

	json_decref(root);
	REQUIRE(mkdtemp(dir) && getcwd(cwd, sizeof(cwd)) && !chdir(dir));
	vt = start("store", 80, 24);
	REQUIRE(!chdir(cwd));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char name[64], said[96], path[256], begin[32] = "";
		_cleanup_(fclosep) FILE *file = NULL;
		struct stat st;

		snprintf(name, sizeof(name), files[i].name, pid);
		snprintf(said, sizeof(said), "wrote %s", name);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		press(vt, files[i].keys, said);
		file = fopen(path, "re");
		REQUIRE(file && !fstat(fileno(file), &st));
		CHECK_INT(st.st_mode & 0777, 0600);
		REQUIRE(fread(begin, 1, strlen(files[i].begin), file) > 0);
		CHECK(!strncasecmp(begin, files[i].begin, strlen(files[i].begin)));
		unlink(path);
		/* So that the second snapshot is not the first one again. */
		if (i == 0) {
			FILE *again = fopen(path, "we");

			REQUIRE(again && !fclose(again));
		}
	}
	quit(vt);
	snprintf(cwd, sizeof(cwd), "%s/memtrace-%d-1.mts", dir, pid);
	unlink(cwd);
	CHECK(!rmdir(dir));
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	RUN(screens);
	RUN(keys);
	RUN(moving);
	RUN(searching);
	RUN(mark_and_mouse);
	RUN(numbers);
	RUN(restored_after_quit);
	RUN(restored_after_signals);
	RUN(suspended);
	RUN(in_background);
	RUN(resized);
	RUN(colors);
	RUN(without_screen);
	RUN(without_terminal);
	RUN(bad_file);
	RUN(written);
	return check_done();
}
