// SPDX-License-Identifier: Apache-2.0
/* Traced runs whose standard output is a pipe that is closed, as in `memtrace ... |
 * head`: each ends without a message, and no probe is left. golden.unread has the runs
 * without a target. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 60

static struct live_process *oracle;
static struct probes *probes_before;

/* What writes to standard output, and how. Without --pid, unless HERE is in it. */
#define HERE "--pid"
static const char *const modes[][6] = {
	{HERE, "--format=text", "--show-allocs"},
	{HERE, "--format=brief"},
	{HERE, "--format=json", "--top=0"},
	{HERE, "-o", "-"},
	{HERE, "--csv=-"},
	{HERE, "--json=-"},
	{HERE, "--html=-"},
	{HERE, "--flame=-"},
	{HERE, "--flamegraph=-"},
	{HERE, "--pprof=-"},
	{HERE, "--save=-"},
	{HERE, "--csv=-", "--output-every"},
#define VIEW(name, words) {HERE, "--view=" #name},
#include "render/views/view_rows.h"
#undef VIEW
	{HERE, "--growth"},
	{HERE, "--growth", "--format=json"},
	{HERE, "--event=uprobe:libc:malloc"},
	{HERE, "--event=uprobe:libc:malloc", "--format=json"},
	{HERE, "--dry-run"},
	{"--kernel"},
	{"--kernel", "--format=json"},
	{"--kernel", "--csv=-"},
};

/* A run of a mode, with its own target. */
struct run {
	struct live_process *memtrace;
	char words[256];
};

static void begin(const char *const mode[6], const struct live_process *target,
		  struct run *ret)
{
	char pid[16];
	const char *argv[16] = {memtrace_path, "-q", "-f", "-i0.2", "-n3"};
	size_t n = 5;

	*ret->words = '\0';
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	for (size_t i = 0; i < 6 && mode[i]; i++) {
		argv[n++] = mode[i];
		if (!strcmp(mode[i], HERE))
			argv[n++] = pid;
		strncat(ret->words, " ", sizeof(ret->words) - strlen(ret->words) - 1);
		strncat(ret->words, mode[i], sizeof(ret->words) - strlen(ret->words) - 1);
	}
	ret->memtrace = live_start(argv);
	live_close_stdout(ret->memtrace);
}

static void check_end(struct run *run)
{
	int status = live_wait(run->memtrace, TIMEOUT_S);

	if (status && status != 128 + SIGPIPE)
		CHECK_FAIL("memtrace%s: status %d", run->words, status);
	if (*live_skip_unfiltered(live_stderr(run->memtrace)))
		CHECK_FAIL("memtrace%s: says %s", run->words, live_stderr(run->memtrace));
	live_destroy(run->memtrace);
	check_state.checks += 2;
}

/* Two runs at a time: each waits for its reports. */
static void every_mode(void)
{
	const size_t count = sizeof(modes) / sizeof(*modes);
	struct live_process *other = oracle_start();
	struct run first, second;

	oracle_do(oracle, "run keep 100 1");
	oracle_do(other, "run keep 100 1");
	for (size_t i = 0; i < count; i += 2) {
		begin(modes[i], oracle, &first);
		if (i + 1 < count)
			begin(modes[i + 1], other, &second);
		check_end(&first);
		if (i + 1 < count)
			check_end(&second);
		check_state.checks++;
		if (!probes_gone(probes_before))
			CHECK_FAIL("memtrace%s or%s: probes are left", first.words,
				   i + 1 < count ? second.words : " none");
	}
	/* The targets are as before. */
	oracle_do(oracle, "run release 1 1");
	oracle_do(other, "run release 1 1");
	live_destroy(other);
}

/* A command is not ended with memtrace. */
static void command(void)
{
	static const char *const shell = "exec 3>&1 >/dev/null; sleep 1; echo lives >&2";
	const char *const argv[] = {memtrace_path, "-q", "-i0.2", "--",
				    "sh",          "-c", shell,   NULL};
	struct live_process *memtrace = live_start(argv);
	int status;

	live_close_stdout(memtrace);
	status = live_wait(memtrace, TIMEOUT_S);
	CHECK(!status || status == 128 + SIGPIPE);
	if (!live_wait_stderr(memtrace, "lives", TIMEOUT_S))
		CHECK_FAIL("the command has ended: %s", live_stderr(memtrace));
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

/* --live without a terminal says so, and then writes plain reports. */
static void screen_without_terminal(void)
{
	char pid[16];
	int status;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));

	const char *const argv[] = {memtrace_path, "-q",    "-i0.2", "-n3",
				    "--live",      "--pid", pid,     NULL};
	struct live_process *memtrace = live_start(argv);

	live_close_stdout(memtrace);
	status = live_wait(memtrace, TIMEOUT_S);
	CHECK(!status || status == 128 + SIGPIPE);
	CHECK_CONTAINS(live_stderr(memtrace), "must be a terminal; plain reports follow");
	CHECK_INT(live_count(live_skip_unfiltered(live_stderr(memtrace)), "\n"), 1);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	oracle = oracle_start();
	probes_before = probes_find();
	RUN(every_mode);
	RUN(command);
	RUN(screen_without_terminal);
	probes_destroy(probes_before);
	live_destroy(oracle);
	return check_done();
}
