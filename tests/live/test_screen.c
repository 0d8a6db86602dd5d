// SPDX-License-Identifier: Apache-2.0
/* --live of a running process on a terminal: its numbers, its keys, and how it leaves the
 * terminal and the kernel. golden.live has the same for snapshots. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "vt.h"

#define TIMEOUT_MS 30000

/* `options` are ended by NULL. */
static struct vt *start_in(pid_t pid, const char *const options[])
{
	char number[16];
	const char *argv[16] = {memtrace_path, "-p",    number,    "--live",
				"-i",          "250ms", "--older", "0"};

	snprintf(number, sizeof(number), "%d", (int)pid);
	for (size_t i = 8; *options; i++)
		argv[i] = *options++;
	return vt_start(&(const struct vt_options){argv, NULL, 200, 60});
}

static const char *const none[] = {NULL};

static struct vt *start(pid_t pid)
{
	struct vt *vt = start_in(pid, none);

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	return vt;
}

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
	CHECK(!vt_is_alternate(vt));
	/* The final report is on the screen. */
	CHECK_CONTAINS(vt_text(vt), "stopped by Ctrl-C or SIGTERM");
	vt_destroy(vt);
}

static pid_t screen_of(pid_t parent)
{
	char path[64], name[32];
	_cleanup_(fclosep) FILE *children = NULL;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
		 (int)parent);
	children = fopen(path, "re");
	REQUIRE(children);
	while (fscanf(children, "%d", &pid) == 1) {
		_cleanup_(fclosep) FILE *comm = NULL;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		comm = fopen(path, "re");
		if (comm && fscanf(comm, "%31s", name) == 1 &&
		    !strcmp(name, "memtrace-screen"))
			return pid;
	}
	REQUIRE(!"there is a process of the screen");
	return 0;
}

/* --- numbers ------------------------------------------------------------------------ */

/* The report of a snapshot that the screen has written. */
static json_t *read_written(const char *dir, pid_t pid)
{
	char command[512], path[256];
	json_error_t why;
	json_t *root;
	FILE *out;

	snprintf(path, sizeof(path), "%s/memtrace-%d-1.mts", dir, (int)pid);
	snprintf(command, sizeof(command),
		 "%s --replay %s --older 0 --top 0 --format json -q", memtrace_path,
		 path);
	out = popen(command, "re");
	REQUIRE(out);
	root = json_loadf(out, 0, &why);
	CHECK_INT(pclose(out), 0);
	REQUIRE(root);
	unlink(path);
	return root;
}

/* The screen shows the numbers that JSON has of the same moment. */
static void numbers(void)
{
	struct live_process *oracle = oracle_start();
	char dir[] = "/tmp/memtrace-screen-XXXXXX", cwd[512], want[128];
	json_t *root, *stacks;
	struct vt *vt;
	size_t shown = 0;

	REQUIRE(mkdtemp(dir) && getcwd(cwd, sizeof(cwd)) && !chdir(dir));
	vt = start(live_pid(oracle));
	REQUIRE(!chdir(cwd));
	for (int i = 0; i < 3; i++)
		oracle_do(oracle, "run mixed 500 %d", i + 1);
	press(vt, "v2", "stacks by bytes");
	CHECK(vt_wait(vt, "site_", TIMEOUT_MS));
	press(vt, " ", "FROZEN");
	press(vt, "ws", "wrote memtrace-");
	root = read_written(dir, live_pid(oracle));
	CHECK(!rmdir(dir));
	stacks = live_get(root, "heap.stacks");
	for (size_t k = 0; k < json_array_size(stacks) && shown < 40; k++) {
		const json_t *stack = json_array_get(stacks, k);
		int64_t blocks = live_int(stack, "blocks");
		unsigned y = 5 + (unsigned)shown;

		if (!blocks)
			continue;
		shown++;
		snprintf(want, sizeof(want), "%10s %7s",
			 units_format_bytes((uint64_t)live_int(stack, "size_bytes")).s,
			 units_format_count((uint64_t)blocks).s);
		check_state.checks++;
		if (strncmp(vt_line(vt, y), want, strlen(want)) != 0)
			CHECK_FAIL("line %u is not \"%s\": %s", y, want, vt_line(vt, y));
	}
	CHECK(shown >= 3);
	snprintf(want, sizeof(want), "live heap %s in %lld blocks",
		 units_format_bytes((uint64_t)live_int(root, "heap.live_bytes")).s,
		 (long long)live_int(root, "heap.live_blocks"));
	CHECK_CONTAINS(vt_line(vt, 1), want);
	json_decref(root);
	quit(vt);
	live_destroy(oracle);
}

/* --- keys --------------------------------------------------------------------------- */

static void freezing(void)
{
	struct live_process *oracle = oracle_start();
	struct vt *vt = start(live_pid(oracle));
	char head[512];

	press(vt, " ", "FROZEN");
	vt_run(vt, 300);
	snprintf(head, sizeof(head), "%s", vt_line(vt, 0));
	/* More than two intervals. */
	vt_run(vt, 700);
	CHECK_STR(vt_line(vt, 0), head);
	vt_press(vt, " ");
	CHECK(vt_wait_gone(vt, "FROZEN", TIMEOUT_MS));
	vt_run(vt, 1200);
	CHECK(strcmp(vt_line(vt, 0), head) != 0);
	press(vt, "-", "every 500 ms");
	press(vt, "+", "every 250 ms");
	press(vt, "m", "SINCE MARK");
	quit(vt);
	live_destroy(oracle);
}

static void suspended(void)
{
	static const char *const argv[] = {"/bin/bash", "--norc", "--noprofile", "-i",
					   NULL};
	static const char *const env[] = {"PS1=ready$ ", "HISTFILE", NULL};
	struct live_process *oracle = oracle_start();
	struct vt *vt = vt_start(&(const struct vt_options){argv, env, 80, 24});
	char command[512];

	REQUIRE(vt_wait(vt, "ready$", TIMEOUT_MS));
	snprintf(command, sizeof(command), "%s -p %d -l\r", memtrace_path,
		 (int)live_pid(oracle));
	press(vt, command, "? help");
	vt_press(vt, "\032");
	CHECK(vt_wait(vt, "Stopped", TIMEOUT_MS));
	CHECK(!vt_is_alternate(vt));
	press(vt, "fg\r", "? help");
	press(vt, "v2", "stacks by bytes");
	vt_press(vt, "q");
	CHECK(vt_wait(vt, "stopped by Ctrl-C", TIMEOUT_MS));
	CHECK(!vt_is_alternate(vt));
	press(vt, "exit\r", "exit");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	vt_destroy(vt);
	live_destroy(oracle);
}

/* --- ends --------------------------------------------------------------------------- */

static bool are_equal(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
	       a->c_lflag == b->c_lflag && !memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc));
}

static void ended_by(int signal, const char *text)
{
	struct live_process *oracle = oracle_start();
	struct probes *before = probes_find();
	struct vt *vt = start_in(live_pid(oracle), none);
	struct termios modes = vt_modes(vt), after;
	pid_t screen;

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	screen = screen_of(vt_pid(vt));
	REQUIRE(!kill(vt_pid(vt), signal));
	vt_wait_end(vt, TIMEOUT_MS);
	for (int i = 0; i < 500 && !kill(screen, 0); i++)
		vt_run(vt, 10);
	CHECK(kill(screen, 0));
	vt_run(vt, 50);
	after = vt_modes(vt);
	CHECK(are_equal(&modes, &after));
	CHECK(!vt_is_alternate(vt));
	CHECK(vt_has_cursor(vt));
	CHECK(!vt_has_mouse(vt));
	if (text)
		CHECK_CONTAINS(vt_text(vt), text);
	vt_destroy(vt);
	CHECK(probes_gone(before));
	probes_destroy(before);
	live_destroy(oracle);
}

static void ended_by_signals(void)
{
	ended_by(SIGTERM, "stopped by Ctrl-C or SIGTERM");
	ended_by(SIGHUP, "stopped by SIGHUP");
	ended_by(SIGSEGV, NULL);
	ended_by(SIGKILL, NULL);
}

/* memtrace goes on with plain reports. */
static void screen_dies(void)
{
	struct live_process *oracle = oracle_start();
	struct vt *vt = start_in(live_pid(oracle), none);
	struct termios modes = vt_modes(vt), after;

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	REQUIRE(!kill(screen_of(vt_pid(vt)), SIGSEGV));
	CHECK(vt_wait(vt, "the process of the screen died of signal 11", TIMEOUT_MS));
	CHECK(vt_wait(vt, "memtrace report ", TIMEOUT_MS));
	CHECK(!vt_is_alternate(vt));
	after = vt_modes(vt);
	CHECK(are_equal(&modes, &after));
	vt_press(vt, "\003");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	vt_destroy(vt);
	live_destroy(oracle);
}

/* memtrace goes on tracing, and ends when it is asked to. */
static void screen_hangs(void)
{
	struct live_process *oracle = oracle_start();
	struct vt *vt = start_in(live_pid(oracle), none);
	struct termios modes = vt_modes(vt), after;

	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	REQUIRE(!kill(screen_of(vt_pid(vt)), SIGSTOP));
	oracle_do(oracle, "run keep 7777 1");
	/* Longer than the interval between snapshots. */
	live_sleep(3);
	REQUIRE(!kill(vt_pid(vt), SIGTERM));
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	CHECK(!vt_is_alternate(vt));
	after = vt_modes(vt);
	CHECK(are_equal(&modes, &after));
	CHECK_CONTAINS(vt_text(vt), "stopped by Ctrl-C or SIGTERM");
	CHECK_CONTAINS(vt_text(vt), "live in 7777 blocks");
	CHECK_CONTAINS(vt_text(vt), "did not end when it was asked to");
	vt_destroy(vt);
	live_destroy(oracle);
}

/* The screen stays until the user has seen it. */
static void target_exits(void)
{
	struct live_process *oracle = oracle_start();
	struct vt *vt = start(live_pid(oracle));

	live_destroy(oracle);
	CHECK(vt_wait(vt, "the run is over", TIMEOUT_MS));
	press(vt, "v2", "ENDED");
	CHECK(vt_is_alternate(vt));
	CHECK(vt_wait(vt, " when last seen", TIMEOUT_MS));
	vt_press(vt, "q");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	CHECK_CONTAINS(vt_text(vt), "exited");
	CHECK(!vt_is_alternate(vt));
	vt_destroy(vt);
}

/* The last snapshot is shown, also if the screen still draws the one before. */
static void target_exits_meanwhile(void)
{
	struct live_process *oracle = oracle_start();
	struct vt *vt = start(live_pid(oracle));
	pid_t screen = screen_of(vt_pid(vt));

	REQUIRE(!kill(screen, SIGSTOP));
	/* Longer than the interval between snapshots: one waits for the screen. */
	live_sleep(1);
	oracle_do(oracle, "run keep 7777 1");
	live_destroy(oracle);
	live_sleep(1);
	REQUIRE(!kill(screen, SIGCONT));
	CHECK(vt_wait(vt, " in 7777 blocks", TIMEOUT_MS));
	CHECK(vt_wait(vt, " when last seen", TIMEOUT_MS));
	vt_press(vt, "q");
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 0);
	vt_destroy(vt);
}

/* Errors before the start are plain lines. */
static void no_process(void)
{
	const char *const argv[] = {memtrace_path, "-p", "4194303", "-l", NULL};
	struct vt *vt = vt_start(&(const struct vt_options){argv, NULL, 100, 24});
	int status = vt_wait_end(vt, TIMEOUT_MS);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK(!vt_has_written(vt, "\033[?1049h"));
	CHECK(vt_has_written(vt, "memtrace: "));
	vt_destroy(vt);
}

/* Messages go to the screen, and are printed at its end. */
static void messages(void)
{
	struct live_process *oracle = oracle_start();
	char dir[] = "/tmp/memtrace-screen-XXXXXX", path[64];
	const char *const options[] = {"--json", path, "--output-every", "-f", NULL};
	struct vt *vt;

	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out.json", dir);
	vt = start_in(live_pid(oracle), options);
	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	for (int i = 0; i < 1000 && rmdir(dir); i++) {
		unlink(path);
		vt_run(vt, 10);
	}
	CHECK(vt_wait(vt, "tracing goes on", TIMEOUT_MS));
	CHECK(vt_is_alternate(vt));
	vt_press(vt, "jl");
	CHECK(vt_wait(vt, "memtrace: messages", TIMEOUT_MS));
	CHECK_CONTAINS(vt_text(vt), "tracing goes on");
	vt_press(vt, "xq");
	/* The last file cannot be written either. */
	CHECK_INT(vt_wait_end(vt, TIMEOUT_MS), 1 << 8);
	CHECK(!vt_is_alternate(vt));
	CHECK_CONTAINS(vt_text(vt), "tracing goes on");
	vt_destroy(vt);
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(numbers);
	RUN(freezing);
	RUN(suspended);
	RUN(ended_by_signals);
	RUN(screen_dies);
	RUN(screen_hangs);
	RUN(target_exits);
	RUN(target_exits_meanwhile);
	RUN(no_process);
	RUN(messages);
	return check_done();
}
