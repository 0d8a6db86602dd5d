// SPDX-License-Identifier: Apache-2.0
/*
 * A second Ctrl-C or SIGTERM ends memtrace in every state: while its report is not read,
 * while a debuginfod server or a parser does not answer, and at each moment of the start.
 * No probe, breakpoint or child is left.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/cpu_wait.h"
#include "live/files.h"
#include "live/stop_checks.h"
#include "live/trace.h"

/* --- what is left ----------------------------------------------------------------- */

#define CHILDREN_MAX 16

struct children {
	int pids[CHILDREN_MAX];
	size_t count;
};

/* The processes that memtrace has started. */
static struct children children_of(const struct live_process *memtrace)
{
	struct children children = {.count = 0};
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)live_pid(memtrace),
		 (int)live_pid(memtrace));
	file = fopen(path, "re");
	while (file && children.count < CHILDREN_MAX &&
	       fscanf(file, "%d", &children.pids[children.count]) == 1)
		children.count++;
	if (file)
		fclose(file);
	return children;
}

/* A zombie counts as ended: it only waits to be reaped. */
static bool is_running(int pid)
{
	char path[32], text[256], state = 'Z';
	const char *rest;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (rest)
		sscanf(rest, ") %c", &state);
	fclose(file);
	return state != 'Z' && state != 'X';
}

static void check_children_gone(const struct children *children)
{
	double until_s = live_now_s() + END_BUSY_S;

	for (size_t i = 0; i < children->count; i++) {
		while (is_running(children->pids[i]) && live_now_s() < until_s)
			live_sleep(0.01);
		CHECK(!is_running(children->pids[i]));
	}
}

/* --- the end ---------------------------------------------------------------------- */

/* The reports fill the pipe, which is not read. */
static void nobody_reads(void)
{
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "-i 0.02 --unwind auto");

	oracle_do(oracle, "run keep 10 1");
	live_sleep(4);
	stop_twice(memtrace, SIGINT, "full pipe");

	/* Only the last report does not fit the pipe. */
	memtrace = memtrace_start(live_pid(oracle), "--show-allocs");
	oracle_do(oracle, "run keep 20000 1");
	stop_twice(memtrace, SIGTERM, "full pipe, last report");
	oracle_do(oracle, "run release 2 1");
}

/* --- names ------------------------------------------------------------------------ */

/* A server that accepts connections and never answers. Returns its port in *port. */
static int silent_server(unsigned *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0 &&
		!bind(fd, (const struct sockaddr *)&address, sizeof(address)) &&
		!listen(fd, 16) &&
		!getsockname(fd, (struct sockaddr *)&address, &length));
	*port = ntohs(address.sin_port);
	return fd;
}

static void set_server(unsigned port, const char *cache)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	setenv("DEBUGINFOD_TIMEOUT", "600", 1);
}

static void check_server_is_silent(int number, const char *options)
{
	unsigned port;
	int server = silent_server(&port);
	struct live_process *target = stripped_start();
	char *cache = live_path("cache");
	struct pollfd asked = {.fd = server, .events = POLLIN};
	struct live_process *memtrace;

	set_server(port, cache);
	memtrace = memtrace_start(live_pid(target), options);
	oracle_do(target, "run keep 10 1");
	/* The first report makes memtrace ask the server; with a long interval, the last
	 * one. */
	if (strstr(options, "3600"))
		live_signal(memtrace, SIGHUP);
	REQUIRE(poll(&asked, 1, TIMEOUT_S * 1000) == 1);
	if (strstr(options, "3600")) {
		live_signal(memtrace, number);
		check_gone(memtrace);
		CHECK_INT(live_wait(memtrace, 1), 128 + number);
		live_destroy(memtrace);
		check_untouched();
	} else {
		stop_twice(memtrace, number, "debuginfod is silent");
	}
	CHECK(live_is_running(target));
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	live_destroy(target);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
	free(cache);
}

static void debuginfod_does_not_answer(void)
{
	check_server_is_silent(SIGINT, "-i 0.3 --unwind auto --debuginfod");
	check_server_is_silent(SIGTERM, "-i 3600 --unwind auto --debuginfod");
}

/* After a first signal memtrace waits a few more seconds for the server, and then ends
 * with a report. */
static void a_first_signal_waits_for_servers_no_longer(void)
{
	unsigned port;
	int server = silent_server(&port);
	struct live_process *target = stripped_start(), *memtrace;
	char *cache = live_path("cache");
	struct pollfd asked = {.fd = server, .events = POLLIN};
	json_t *report;
	double begin_s;

	set_server(port, cache);
	memtrace = memtrace_start(live_pid(target), "-i 1 --unwind auto --debuginfod");
	oracle_do(target, "run keep 10 1");
	REQUIRE(poll(&asked, 1, TIMEOUT_S * 1000) == 1);
	live_signal(memtrace, SIGINT);
	begin_s = live_now_s();
	do {
		report = live_read_json(memtrace, TIMEOUT_S);
		REQUIRE(report);
		if (json_is_true(live_get(report, "final")))
			break;
		json_decref(report);
	} while (true);
	printf("debuginfod is silent: the final report after %.3f s\n",
	       live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < 15);
	CHECK_INT(live_int(report, "heap.live_blocks"), 10);
	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_CONTAINS(live_stderr(memtrace), "could not be fetched");
	live_destroy(memtrace);
	live_destroy(target);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
	free(cache);
	check_untouched();
}

/* --- a parser that was taken over --------------------------------------------------- */

/* The child of memtrace with this name. */
static int child_named(const struct live_process *memtrace, const char *name)
{
	struct children children = children_of(memtrace);

	for (size_t i = 0; i < children.count; i++) {
		char *comm = files_read_if_any("/proc/%d/comm", children.pids[i]);
		bool is_it = comm && !strncmp(comm, name, strlen(name));

		free(comm);
		if (is_it)
			return children.pids[i];
	}
	return 0;
}

/* Makes the process continue with this code when its system call returns, as a hostile
 * file may do. */
static void take_over(int pid, const char *code, size_t size)
{
	double until_s = live_now_s() + TIMEOUT_S;
	uint64_t pc = 0;
	char path[64];
	int fd;

	/* While the process runs, the file says only this. */
	while (!pc && live_now_s() < until_s) {
		char *text = files_read("/proc/%d/syscall", pid);
		char *last = strrchr(text, ' ');

		pc = last ? strtoull(last, NULL, 16) : 0;
		free(text);
		live_sleep(pc ? 0 : 0.01);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE(pc && fd >= 0);
	REQUIRE(pwrite(fd, code, size, (off_t)pc) == (ssize_t)size);
	close(fd);
}

static void let_loop(int pid)
{
	take_over(pid, "\xeb\xfe", 2);
}

/* Sends messages for ever. */
static void let_chat(int pid)
{
	static const char code[] = "\x48\x8d\x35\x13\0\0\0" /* lea rsi, [rip + 0x13] */
				   "\xbf\3\0\0\0"           /* mov edi, 3: the socket */
				   "\xba\14\0\0\0"          /* mov edx, 12: bytes */
				   "\xb8\1\0\0\0"           /* mov eax, SYS_write */
				   "\x0f\x05"               /* syscall */
				   "\xeb\xe6"               /* jmp to the beginning */
				   /* A message (confined/serve.h): MESSAGE_SAY, empty. */
				   "\3\0\0\0\0\0\0\0\0\0\0";

	take_over(pid, code, sizeof(code));
}

static void let_hang(int pid)
{
	REQUIRE(!kill(pid, SIGSTOP));
}

/* What a parser does, and when a first signal must have ended the run at the latest, s,
 * if memtrace never waits for a processor. A loop must end sooner than messages. */
static const struct taken {
	const char *name;
	void (*take)(int pid);
	double end_s;
} taken[] = {
	{"a parser loops", let_loop, 8},
	{"a parser hangs", let_hang, 8},
	{"a parser sends messages", let_chat, 12},
};

#define TAKEN (sizeof(taken) / sizeof(*taken))

/* A run whose parser was taken over. */
struct stopping {
	struct live_process *oracle, *memtrace;
	struct cpu_wait waited;
	double begin_s, took_s; /* from the signal to the report; 0: not yet */
};

static void begin_to_stop(const struct taken *t, struct stopping *ret)
{
	int parser;

	ret->took_s = 0;
	ret->oracle = oracle_start();
	ret->memtrace = memtrace_start(live_pid(ret->oracle), "--unwind auto");
	parser = child_named(ret->memtrace, "memtrace-read");
	REQUIRE(parser);
	oracle_do(ret->oracle, "run keep 10 1");
	t->take(parser);
	live_signal(ret->memtrace, SIGINT);
	ret->begin_s = live_now_s();
	cpu_wait_begin(&ret->waited, live_pid(ret->memtrace));
}

/* Waits until each run writes its report. */
static void await_reports(struct stopping runs[TAKEN])
{
	double until_s = live_now_s() + 2 * TIMEOUT_S;
	size_t ready;

	do {
		ready = 0;
		for (size_t i = 0; i < TAKEN; i++) {
			struct stopping *run = &runs[i];

			if (!run->took_s && live_wait_stdout(run->memtrace, 0.007))
				run->took_s = live_now_s() - run->begin_s;
			if (!run->took_s)
				cpu_wait_look(&run->waited);
			ready += run->took_s > 0;
		}
	} while (ready < TAKEN && live_now_s() < until_s);
}

/* The report has the stacks, but no new symbols. */
static void check_stopped(const struct taken *t, struct stopping *run)
{
	double waited_s = cpu_wait_s(&run->waited);
	json_t *report = live_read_json(run->memtrace, TIMEOUT_S);

	REQUIRE(report && run->took_s > 0);
	printf("%s: the final report after %.3f s, including a wait of %.3f s for a "
	       "processor\n",
	       t->name, run->took_s, waited_s);
	CHECK(run->took_s < t->end_s + waited_s);
	CHECK_INT(live_int(report, "heap.live_blocks"), 10);
	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	CHECK(json_array_size(live_get(report, "heap.stacks")) > 0);
	json_decref(report);
	CHECK_INT(live_wait(run->memtrace, TIMEOUT_S), 0);
	CHECK_INT(live_count(live_stderr(run->memtrace), "the wait was given up"), 1);
	live_destroy(run->memtrace);
}

/* At the same time, because each run waits for seconds. */
static void a_first_signal_ends_while_a_parser_is_taken_over(void)
{
	struct live_process *first = oracle;
	struct stopping runs[TAKEN];

	for (size_t i = 0; i < TAKEN; i++)
		begin_to_stop(&taken[i], &runs[i]);
	await_reports(runs);
	for (size_t i = 0; i < TAKEN; i++)
		check_stopped(&taken[i], &runs[i]);
	for (size_t i = 0; i < TAKEN; i++) {
		oracle = runs[i].oracle;
		check_untouched();
		live_destroy(oracle);
	}
	oracle = first;
}

static void a_second_signal_does_not_wait_for_a_parser(void)
{
	for (size_t i = 0; i < TAKEN; i++) {
		struct live_process *memtrace =
			memtrace_start(live_pid(oracle), "--unwind auto");
		int parser = child_named(memtrace, "memtrace-read");

		REQUIRE(parser);
		oracle_do(oracle, "run keep 10 1");
		taken[i].take(parser);
		stop_twice(memtrace, SIGTERM, taken[i].name);
		oracle_do(oracle, "run release 1 1");
	}
}

/* --- the start -------------------------------------------------------------------- */

#define MOMENTS (live_is_long() ? 12 : 6)

/* A way to start memtrace, which is interrupted at one of MOMENTS moments in this time.
 */
static const struct start {
	const char *options;
	double duration_s;
} starts[] = {
	{"-i 3600 -q --unwind auto --no-cache", 0.84},
	{"-i 3600 -q --unwind auto", 0.24},
};

/* Two signals in quick succession, at each moment of this start. */
static void at_each_moment_of(const struct start *start)
{
	double longest_s = 0;

	for (int k = 0; k < MOMENTS; k++) {
		struct live_process *memtrace =
			memtrace_start_plain(live_pid(oracle), start->options);
		struct children children;
		double took_s;

		live_sleep(k * start->duration_s / MOMENTS);
		children = children_of(memtrace);
		live_signal(memtrace, SIGINT);
		live_sleep(0.005);
		live_signal(memtrace, SIGINT);
		took_s = check_gone(memtrace);
		longest_s = took_s > longest_s ? took_s : longest_s;

		int status = live_wait(memtrace, 1);

		/* memtrace may have ended between the two signals. */
		CHECK(status == 0 || status == 128 + SIGINT);
		live_destroy(memtrace);
		check_children_gone(&children);
		check_untouched();
	}
	printf("at each moment: gone after %.3f s at most\n", longest_s);
}

static void at_each_moment(void)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		at_each_moment_of(&starts[i]);
}

/* The command ends, too: memtrace has not started it yet, or passes the signal on. */
static void with_a_command(void)
{
	const char *const argv[] = {memtrace_path, "-q", "-i", "3600", "--", "cat", NULL};

	for (int k = 0; k < MOMENTS; k++) {
		struct live_process *memtrace = live_start(argv);
		struct children children;

		live_sleep(k * starts[1].duration_s / MOMENTS);
		children = children_of(memtrace);
		live_signal(memtrace, SIGTERM);
		live_sleep(0.005);
		live_signal(memtrace, SIGTERM);
		check_gone(memtrace);
		CHECK_INT(live_wait(memtrace, 1), 128 + SIGTERM);
		check_children_gone(&children);
		live_destroy(memtrace);
	}
	check_untouched();
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	oracle = oracle_start();
	RUN(nobody_reads);
	RUN(debuginfod_does_not_answer);
	RUN(a_first_signal_waits_for_servers_no_longer);
	RUN(a_first_signal_ends_while_a_parser_is_taken_over);
	RUN(a_second_signal_does_not_wait_for_a_parser);
	RUN(at_each_moment);
	RUN(with_a_command);
	live_destroy(oracle);
	probes_destroy(probes_before);
	return check_done();
}
