// SPDX-License-Identifier: Apache-2.0
/*
 * A second Ctrl-C or SIGTERM ends memtrace in every state: while its report is not read,
 * while a debuginfod server, a file system or a parser does not answer, and at each
 * moment of the start. No probe, breakpoint or child is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/cpu_wait.h"
#include "live/files.h"
#include "live/hung_files.h"
#include "live/served_file.h"
#include "live/trace.h"

#define TIMEOUT_S 30

/* Longest time from the last signal to the end, s. The time that memtrace and its
 * children waited for a processor is added. */
#define END_S 1.0

/* The same if the kernel does not count the waiting time. */
#define END_BUSY_S 5.0

/* After the first signal memtrace must still hang for this time, s. */
#define HANGS_S 0.7

/* How long memtrace cleans up after a second signal before the kernel kills it, s. */
#define CLEAN_UP_S 0.6

/* The longest time from the first signal to the end while the main thread is stuck, s. */
#define STUCK_END_S 20.0

/* Calls of malloc() by the loader's command "sites". */
#define SITES 128

static struct live_process *oracle;
static struct probes *probes_before;

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

static void check_untouched(void)
{
	double until_s = live_now_s() + END_BUSY_S;

	CHECK(probes_gone(probes_before));
	/* The kernel frees the id of a link before it removes the breakpoints
	 * (bpf_link_free() in kernel/bpf/syscall.c). */
	while (breakpoints_count(live_pid(oracle)) && live_now_s() < until_s)
		live_sleep(0.01);
	CHECK_INT(breakpoints_count(live_pid(oracle)), 0);
	oracle_do(oracle, "run keep 10 1");
	oracle_do(oracle, "run release 1 1");
}

/* --- the end ---------------------------------------------------------------------- */

/* Has the process ended? It is not reaped: the kernel still knows how long it waited. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info.si_pid == pid;
}

/* Called after the last signal, while memtrace's output is not read: memtrace must end
 * within END_S. Returns the time until its end, s. */
static double check_gone(struct live_process *memtrace)
{
	struct cpu_wait waited;
	double begin_s = live_now_s();
	double took_s, bound_s;

	cpu_wait_begin(&waited, live_pid(memtrace));
	while (!has_ended(live_pid(memtrace)) && live_now_s() < begin_s + TIMEOUT_S) {
		cpu_wait_look(&waited);
		live_sleep(0.002);
	}
	took_s = live_now_s() - begin_s;
	cpu_wait_look(&waited);
	bound_s = waited.is_counted ? END_S + cpu_wait_s(&waited) : END_BUSY_S;
	if (took_s >= bound_s)
		CHECK_FAIL("gone after %.3f s, expected less than %.3f s", took_s,
			   bound_s);
	return took_s;
}

/* memtrace hangs: the first signal must not end it, the second must. Where removing the
 * probes takes longer than CLEAN_UP_S, on a busy machine, memtrace is killed. */
static void stop_twice(struct live_process *memtrace, int number, const char *when)
{
	double took_s;
	int status;

	live_signal(memtrace, number);
	live_sleep(HANGS_S);
	CHECK(live_is_running(memtrace));
	live_signal(memtrace, number);
	took_s = check_gone(memtrace);
	printf("%s: gone after %.3f s\n", when, took_s);
	status = live_wait(memtrace, 1);
	if (status != 128 + SIGKILL || took_s < CLEAN_UP_S)
		CHECK_INT(status, 128 + number);
	live_destroy(memtrace);
	check_untouched();
}

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

/* The oracle without debug info, so that memtrace looks for it elsewhere. */
static struct live_process *stripped_start(void)
{
	char *path = live_path("stripped");
	char command[600];
	struct live_process *target;

	snprintf(command, sizeof(command), "strip --strip-debug -o %s %s", path,
		 oracle_path);
	REQUIRE(!system(command));
	target = target_start(path);
	free(path);
	return target;
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

static struct live_process *start_with_hung_files(const struct hung_files *files,
						  struct live_process *target)
{
	char options[200];
	struct live_process *memtrace;

	snprintf(options, sizeof(options), "-i 0.3 --unwind auto --debug-dir %s",
		 files->path);
	memtrace = memtrace_start(live_pid(target), options);
	oracle_do(target, "run keep 10 1");
	REQUIRE(hung_files_wait(files, TIMEOUT_S));
	return memtrace;
}

/* Reads reports up to the final one. */
static json_t *final_report(struct live_process *memtrace)
{
	for (;;) {
		json_t *report = live_read_json(memtrace, TIMEOUT_S);

		if (!report || json_is_true(live_get(report, "final")))
			return report;
		json_decref(report);
	}
}

/* One signal is enough, and one line says what hung. `taken`: the kernel does not let the
 * waiting task end even if it is killed. */
static void check_hangs(bool taken)
{
	struct live_process *target = stripped_start(), *memtrace;
	struct hung_files files;
	json_t *report;

	if (!hung_files_mount(&files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		live_destroy(target);
		return;
	}
	memtrace = start_with_hung_files(&files, target);
	if (taken)
		hung_files_take(&files);
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report) {
		CHECK_INT(live_int(report, "heap.live_blocks"), 10);
		CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	} else {
		CHECK_FAIL("no final report");
		live_signal(memtrace, SIGINT);
	}
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_INT(live_count(live_stderr(memtrace), "the file system does not answer"),
		  1);
	CHECK_CONTAINS(live_stderr(memtrace), files.path);
	CHECK_CONTAINS(live_stderr(memtrace), "as a file system did not answer\n");
	live_destroy(memtrace);
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	hung_files_unmount(&files);
	live_destroy(target);
	check_untouched();
}

static void a_first_signal_ends_while_a_file_system_hangs(void)
{
	check_hangs(false);
}

static void a_first_signal_ends_while_a_server_holds_a_request(void)
{
	check_hangs(true);
}

/* The directory of many libraries hangs. memtrace tries one file there, and then opens
 * the target's files by their mappings. */
#define HUNG_LIBRARIES 20

static void a_file_system_of_the_target_hangs(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char dir[] = "/tmp/memtrace-library-XXXXXX", library[64];
	struct hung_files files;
	json_t *report;

	REQUIRE(mkdtemp(dir));
	snprintf(library, sizeof(library), "%s/library.so", dir);
	files_copy(LOADED_MALLOC, library);
	oracle_do(loader, "hold %s %d", library, HUNG_LIBRARIES);
	oracle_do(loader, "keep %s 1", library);
	if (!hung_files_mount_on(dir, &files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
	} else {
		memtrace = memtrace_start_plain(live_pid(loader),
						"--format json -i 3600 --unwind auto");
		REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
		oracle_do(loader, "again - 10");
		CHECK_INT(live_count(live_stderr(memtrace),
				     "the file system does not answer"),
			  1);
		/* One request for the file, and one for its directory. */
		CHECK(hung_files_take_all(&files) <= 2);
		live_signal(memtrace, SIGTERM);
		report = final_report(memtrace);
		REQUIRE(report);
		CHECK_INT(live_int(report, "heap.totals.allocations"), 10);
		json_decref(report);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		live_destroy(memtrace);
		hung_files_unmount(&files);
	}
	check_untouched();
	live_destroy(loader);
	unlink(library);
	rmdir(dir);
}

/* Two signals end memtrace at once while it waits, even if the file system keeps a
 * request. */
static void a_second_signal_does_not_wait_for_a_file_system(void)
{
	struct live_process *target = stripped_start(), *memtrace;
	struct hung_files files;
	int status;

	if (!hung_files_mount(&files)) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		live_destroy(target);
		return;
	}
	memtrace = start_with_hung_files(&files, target);
	hung_files_take(&files);
	CHECK(probes_new(probes_before) > 0);
	live_signal(memtrace, SIGTERM);
	live_sleep(0.005);
	live_signal(memtrace, SIGTERM);
	printf("a second signal: gone after %.3f s\n", check_gone(memtrace));
	status = live_wait(memtrace, 1);
	/* The final report may be written before the second signal. */
	CHECK(status == 0 || status == 128 + SIGTERM);
	CHECK_INT(breakpoints_count(live_pid(target)), 0);
	live_destroy(memtrace);
	hung_files_unmount(&files);
	live_destroy(target);
	check_untouched();
}

/* memtrace-open reads the first 64 MiB of a file from a server ahead. The section headers
 * of this library come later. */
static struct served_file *serve_large_library(void)
{
	struct served_file *file;
	char *large = live_path("large.so"), *filler = live_path("filler");
	char command[1000];

	snprintf(command, sizeof(command),
		 "head -c 70000000 /dev/zero > %s && objcopy --add-section .filler=%s %s "
		 "%s",
		 filler, filler, LOADED_MALLOC, large);
	REQUIRE(!system(command));
	file = served_file_create(large, "library.so");
	unlink(filler);
	unlink(large);
	free(filler);
	free(large);
	return file;
}

/* What is known is the calls before, with their stacks and names. */
static void check_known(const json_t *report)
{
	char *text = json_dumps(report, 0);

	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	CHECK(live_int(report, "heap.totals.allocations") >= SITES);
	CHECK(live_int(report, "heap.live_blocks") >= SITES);
	CHECK(json_array_size(live_get(report, "heap.stacks")) > 0);
	CHECK(strstr(text, "call_from_many_sites"));
	free(text);
}

/* The server of a library's file does not answer memtrace's own reads. Returns memtrace,
 * or NULL: this kernel has no FUSE. */
static struct live_process *start_reading(struct served_file **file,
					  struct live_process **loader)
{
	double until_s = live_now_s() + TIMEOUT_S;
	struct live_process *memtrace;

	*file = serve_large_library();
	if (!*file) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		return NULL;
	}
	*loader = target_start(LOADER_BINARY);
	memtrace = memtrace_start_plain(live_pid(*loader),
					"--format json -i 3600 --unwind auto");
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	served_file_hold(*file, (int)live_pid(memtrace));
	oracle_do(*loader, "sites - 1");
	oracle_do(*loader, "keep %s 1", served_file_path(*file));
	while (!served_file_held(*file) && live_now_s() < until_s)
		live_sleep(0.02);
	CHECK(served_file_held(*file) > 0);
	live_sleep(0.5);
	return memtrace;
}

/* A first signal is enough for a report. */
static void a_first_signal_ends_while_reads_hang(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);
	double begin_s = live_now_s();
	json_t *report;

	if (!memtrace)
		return;
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report)
		check_known(report);
	else
		CHECK_FAIL("no final report");
	json_decref(report);
	while (!has_ended(live_pid(memtrace)) && live_now_s() < begin_s + TIMEOUT_S)
		live_sleep(0.02);
	printf("reads hang: gone after %.3f s\n", live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < STUCK_END_S);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGINT);
	CHECK_CONTAINS(live_stderr(memtrace),
		       "takes too long, because a file system does not answer");
	live_destroy(memtrace);
	served_file_destroy(file);
	check_untouched();
	live_destroy(loader);
}

/* A line says so before any signal, once, and names the file. */
static void a_read_that_hangs_is_said(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);
	json_t *report;

	if (!memtrace)
		return;
	CHECK(live_wait_stderr(memtrace, "takes long", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), served_file_path(file));
	live_signal(memtrace, SIGINT);
	report = final_report(memtrace);
	if (report)
		check_known(report);
	else
		CHECK_FAIL("no final report");
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGINT);
	CHECK_INT(live_count(live_stderr(memtrace), "takes long"), 1);
	live_destroy(memtrace);
	served_file_destroy(file);
	check_untouched();
	live_destroy(loader);
}

static void a_second_signal_does_not_wait_for_reads(void)
{
	struct served_file *file;
	struct live_process *loader, *memtrace = start_reading(&file, &loader);

	if (!memtrace)
		return;
	stop_twice(memtrace, SIGTERM, "reads hang, twice");
	served_file_destroy(file);
	live_destroy(loader);
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
	RUN(a_first_signal_ends_while_a_file_system_hangs);
	RUN(a_first_signal_ends_while_a_server_holds_a_request);
	RUN_WITH_RETURN_PROBES(a_file_system_of_the_target_hangs);
	RUN(a_second_signal_does_not_wait_for_a_file_system);
	RUN(a_first_signal_ends_while_reads_hang);
	RUN(a_read_that_hangs_is_said);
	RUN(a_second_signal_does_not_wait_for_reads);
	RUN(a_first_signal_ends_while_a_parser_is_taken_over);
	RUN(a_second_signal_does_not_wait_for_a_parser);
	RUN(at_each_moment);
	RUN(with_a_command);
	live_destroy(oracle);
	probes_destroy(probes_before);
	return check_done();
}
