// SPDX-License-Identifier: Apache-2.0
/* How --live uses the terminal and leaves it: after the end, in the background, and if
 * there is no terminal. */
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "live_start.h"
#include "util/cleanup.h"
#include "util/sanitized.h"
#include "vt.h"

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

int main(void)
{
	RUN(restored_after_quit);
	RUN(restored_after_signals);
	RUN(suspended);
	RUN(in_background);
	RUN(without_screen);
	RUN(without_terminal);
	RUN(bad_file);
	return check_done();
}
