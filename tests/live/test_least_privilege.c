// SPDX-License-Identifier: Apache-2.0
/*
 * The privileges of memtrace and its children while it traces and while it reads a
 * snapshot. A command that memtrace starts keeps all privileges.
 */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/shed.h"
#include "live/inject.h"
#include "live/privileges.h"
#include "live/trace.h"
#include "no_filters.h"

static void while_it_traces(void)
{
	struct live_process *target = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	int pid = live_pid(memtrace);

	/* At least two: one thread waits for signals. */
	CHECK(check_threads(pid, 0, FOR_TRACING) >= 2);
	check_children(pid);
	oracle_do(target, "run keep 500 1");
	json_decref(memtrace_report(memtrace));
	CHECK(check_threads(pid, 0, FOR_TRACING) >= 2);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* Reads what the command prints about itself. */
static void read_command(struct live_process *process, struct status *ret)
{
	char *line, path[64];
	int pid;

	line = live_read_line(process, TIMEOUT_S);
	REQUIRE(line && sscanf(line, "%d", &pid) == 1);
	free(line);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	REQUIRE(read_status(path, ret));
}

/* --- debug files from a server --------------------------------------------------------
 */

/* What a command prints, without the newline; owned. */
static char *output_of(const char *command)
{
	char *line = NULL;
	size_t size = 0;
	FILE *pipe = popen(command, "re");

	REQUIRE(pipe && getline(&line, &size, pipe) > 0);
	pclose(pipe);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void shell(const char *command)
{
	if (system(command) != 0)
		CHECK_FAIL("%s", command);
}

/* A directory that all users can read, as a server, with the oracle's debug info; and the
 * oracle without it at `stripped`. The path of the debug file below a cache; owned. */
static char *make_server(const char *server, const char *stripped)
{
	char command[2000], *id, *path;

	snprintf(command, sizeof(command), "strip --strip-debug -o %s %s", stripped,
		 oracle_path);
	shell(command);
	snprintf(command, sizeof(command), "readelf -n %s | sed -n 's/.*Build ID: //p'",
		 stripped);
	id = output_of(command);
	snprintf(command, sizeof(command),
		 "mkdir -p -m 755 %s/buildid/%s && "
		 "objcopy --only-keep-debug %s %s/buildid/%s/debuginfo && "
		 "chmod -R a+rX %s",
		 server, id, oracle_path, server, id, server);
	shell(command);
	REQUIRE(asprintf(&path, "%s/debuginfo", id) > 0);
	free(id);
	return path;
}

static bool has_lines(const json_t *report)
{
	char *text = json_dumps(report, 0);
	bool found = strstr(text, "oracle") && strstr(text, ".c\"");

	free(text);
	return found;
}

/* memtrace-fetch has given up root's user id, and still keeps the files it fetches. */
static void check_fetched(const char *stripped, const char *cache, const char *file)
{
	struct live_process *target = target_start(stripped);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--unwind auto --debuginfod");
	char path[600];
	struct stat st;
	json_t *report;
	int child;

	REQUIRE(find_child(live_pid(memtrace), "memtrace-fetch", &child));
	check_threads(child, SHED_USER, NONE);
	check_files_of_root(child, true);
	oracle_do(target, "run keep 10 1");
	report = memtrace_stop(memtrace);
	CHECK(has_lines(report));
	json_decref(report);
	live_destroy(target);
	snprintf(path, sizeof(path), "%s/%s", cache, file);
	REQUIRE(!stat(path, &st));
	CHECK_INT(st.st_uid, SHED_USER);
	REQUIRE(!stat(cache, &st));
	CHECK_INT(st.st_uid, SHED_USER);
	CHECK_INT(st.st_mode & 07777, 0700);
}

static void while_it_fetches_debug_files(void)
{
	char server[] = "/tmp/memtrace-server-XXXXXX", url[64], command[64];
	char *stripped = live_path("stripped"), *own = live_path("cache");
	char *named = live_path("named"), path[600], *file;

	REQUIRE(mkdtemp(server) && !chmod(server, 0755));
	file = make_server(server, stripped);
	snprintf(url, sizeof(url), "file://%s", server);
	setenv("DEBUGINFOD_URLS", url, 1);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	setenv("MEMTRACE_CACHE", own, 1);
	snprintf(path, sizeof(path), "%s/debuginfod", own);
	check_fetched(stripped, path, file);
	unsetenv("MEMTRACE_CACHE");
	setenv("DEBUGINFOD_CACHE_PATH", named, 1);
	snprintf(path, sizeof(path), "%s/memtrace-debuginfod", named);
	check_fetched(stripped, path, file);
	/* Once more: the file is in the cache, and the server is gone. */
	snprintf(command, sizeof(command), "rm -r %s", server);
	shell(command);
	check_fetched(stripped, path, file);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("DEBUGINFOD_URLS");
	free(stripped);
	free(own);
	free(named);
	free(file);
}

/* --- others ----------------------------------------------------------------------------
 */

static void a_command_is_left_alone(void)
{
	static const char script[] = "echo $$; read go";
	const char *const plain[] = {"/bin/sh", "-c", script, NULL};
	const char *const traced[] = {memtrace_path, "-q", "-o",   "/dev/null", "--",
				      "/bin/sh",     "-c", script, NULL};
	struct live_process *one = live_start(plain), *other = live_start(traced);
	struct status want, got;

	read_command(one, &want);
	read_command(other, &got);
	CHECK_STR(got.permitted, want.permitted);
	CHECK_STR(got.effective, want.effective);
	CHECK_STR(got.inheritable, want.inheritable);
	CHECK_STR(got.bounding, want.bounding);
	CHECK_STR(got.ambient, want.ambient);
	CHECK_STR(got.no_new_privs, want.no_new_privs);
	CHECK_STR(got.filtered, want.filtered);
	CHECK_STR(got.uids, want.uids);
	CHECK_STR(got.gids, want.gids);
	CHECK_STR(got.groups, want.groups);
	CHECK(check_threads(live_pid(other), 0, FOR_TRACING) >= 2);
	live_send(one, "go");
	live_send(other, "go");
	CHECK_INT(live_wait(one, TIMEOUT_S), 0);
	CHECK_INT(live_wait(other, TIMEOUT_S), 0);
	live_destroy(one);
	live_destroy(other);
}

/* Records a snapshot to read. */
static char *record(void)
{
	struct live_process *target = oracle_start();
	char *path = live_path("shed.mts"), option[256];
	struct live_process *memtrace;

	snprintf(option, sizeof(option), "--save %s", path);
	memtrace = memtrace_start(live_pid(target), option);
	oracle_do(target, "run keep 500 1");
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
	return path;
}

/* Starts memtrace with a full pipe as stdout. It blocks until the pipe is read from
 * *from. */
static pid_t start_reader(const char *const argv[], int *from)
{
	static const char page[4096];
	int fds[2];
	pid_t pid;

	REQUIRE(!pipe2(fds, O_CLOEXEC));
	REQUIRE(fcntl(fds[1], F_SETPIPE_SZ, sizeof(page)) == sizeof(page));
	REQUIRE(write(fds[1], page, sizeof(page)) == sizeof(page));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		execv(memtrace_path, (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	*from = fds[0];
	return pid;
}

/* Wait until it writes to the full pipe, with its snapshot read. */
static void await_write(int pid)
{
	double until_s = live_now_s() + TIMEOUT_S;
	char path[64], line[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	do {
		FILE *file = fopen(path, "re");

		REQUIRE(file && live_now_s() < until_s);
		if (!fgets(line, sizeof(line), file))
			line[0] = '\0';
		fclose(file);
		live_sleep(0.01);
		/* write(1, ...) */
	} while (strncmp(line, "1 0x1 ", 6) != 0);
}

/* The child that creates files; it has nothing to do with snapshots. */
static void check_writer(int pid)
{
	int writer;

	REQUIRE(find_child(pid, "memtrace-write", &writer));
	check_threads(writer, 0, FOR_FILES);
	CHECK_INT(inject(writer, SYS_execve, "/bin/true", 0, 0), -EPERM);
}

static void check_reader(const char *const argv[], bool has_writer)
{
	char bytes[4096];
	int from, result, writer;
	pid_t pid = start_reader(argv, &from);

	await_write(pid);
	check_threads(pid, SHED_USER, NONE);
	check_files_of_root(pid, true);
	if (has_writer)
		check_writer(pid);
	else
		CHECK(!find_child(pid, "memtrace-write", &writer));
	while (read(from, bytes, sizeof(bytes)) > 0)
		;
	close(from);
	REQUIRE(waitpid(pid, &result, 0) == pid);
	CHECK(WIFEXITED(result) && !WEXITSTATUS(result));
}

/* An output file: complete, and root's alone. */
static void check_output(const char *directory, const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	REQUIRE(!stat(path, &st));
	CHECK(st.st_size > 0);
	CHECK_INT(st.st_uid, 0);
	CHECK_INT(st.st_mode, S_IFREG | 0600);
}

/* Some files belong to root alone, some directories to another user. */
static void while_it_reads_a_snapshot(void)
{
	char *snapshot = record(), *mine = live_path("mine"), *other = live_path("other");
	char page[512], saved[512];
	const char *const plain[] = {"memtrace", "--replay", snapshot, "--format",
				     "json",     "--top",    "0",      NULL};
	const char *const diff[] = {"memtrace", "--diff", snapshot, snapshot, "--format",
				    "json",     "--top",  "0",      NULL};
	const char *const files[] = {"memtrace", "--replay", snapshot, "--format",
				     "json",     "--top",    "0",      "--html",
				     page,       "--save",   saved,    NULL};

	REQUIRE(!mkdir(mine, 0700) && !mkdir(other, 0755));
	REQUIRE(!chown(other, 12345, 12345));
	REQUIRE(!chmod(snapshot, 0600) && !chown(snapshot, 12345, 12345));
	snprintf(page, sizeof(page), "%s/page.html", mine);
	snprintf(saved, sizeof(saved), "%s/saved.mts", other);
	check_reader(plain, false);
	check_reader(diff, false);
	check_reader(files, true);
	check_output(mine, "page.html");
	check_output(other, "saved.mts");
	free(snapshot);
	free(mine);
	free(other);
}

/* How many files there are. */
static unsigned count_files(const char *directory)
{
	unsigned count = 0;
	struct dirent *entry;
	DIR *dir = opendir(directory);

	REQUIRE(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return count;
}

/* Run memtrace in a directory of root alone; its exit status. */
static int run_in(const char *directory, const char *options)
{
	char command[1200];
	int result;

	snprintf(command, sizeof(command), "cd %s && %s %s 2>stderr", directory,
		 memtrace_path, options);
	result = system(command);
	return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static void check_said(const char *directory, const char *text)
{
	char path[512], said[4096] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/stderr", directory);
	file = fopen(path, "re");
	REQUIRE(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	CHECK_CONTAINS(said, text);
}

/* Output files of --replay and --diff, which another process creates. */
static void files_of_a_snapshot(void)
{
	char *snapshot = live_path("shed.mts"), *dir = live_path("work");
	char options[1000], limited[300];

	REQUIRE(!mkdir(dir, 0700));
	/* Relative names, and those with sequences. */
	snprintf(options, sizeof(options), "--replay %s -o report --csv './%%n-%%%%.csv'",
		 snapshot);
	CHECK_INT(run_in(dir, options), 0);
	check_output(dir, "report");
	check_output(dir, "1-%.csv");
	CHECK_INT(count_files(dir), 3);
	/* Nothing is overwritten unasked. */
	CHECK_INT(run_in(dir, options), 1);
	check_said(dir, "--output report exists");
	strcat(options, " --force");
	CHECK_INT(run_in(dir, options), 0);
	/* One that cannot be created, or has no room. */
	snprintf(options, sizeof(options), "--diff %s %s --json no/where", snapshot,
		 snapshot);
	CHECK_INT(run_in(dir, options), 1);
	check_said(dir, "cannot write --json no/where: No such file or directory");
	snprintf(options, sizeof(options), "--replay %s --json full", snapshot);
	snprintf(limited, sizeof(limited), "%s && ulimit -f 1", dir);
	CHECK_INT(run_in(limited, options), 1);
	check_said(dir, "cannot write --json full: File too large");
	/* "report", "1-%.csv" and "stderr". */
	CHECK_INT(count_files(dir), 3);
	free(snapshot);
	free(dir);
}

/* --- where no filter can be loaded -----------------------------------------------------
 */

/* Runs memtrace there; its exit status. */
static int run_without_filters(const char *directory, const char *options)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		make_filters_fail(EPERM);
		_exit(run_in(directory, options));
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Every process says that it has no filter, and has given up the rest. */
static void in_a_sandbox(void)
{
	struct live_process *target = oracle_start();
	char *snapshot = live_path("shed.mts"), *dir = live_path("sandbox");
	char options[1000];

	REQUIRE(!mkdir(dir, 0700));
	snprintf(options, sizeof(options), "--replay %s -o report", snapshot);
	CHECK_INT(run_without_filters(dir, options), 0);
	check_output(dir, "report");
	check_said(dir, "memtrace: warning: files are created in a process without a "
			"filter: no seccomp filter can be loaded");
	check_said(dir, "memtrace: warning: some privileges were kept: no seccomp filter "
			"can be loaded");
	snprintf(options, sizeof(options), "-v -d 0.1 -p %d -o traced",
		 (int)live_pid(target));
	CHECK_INT(run_without_filters(dir, options), 0);
	check_output(dir, "traced");
	check_said(dir, "memtrace: some privileges were kept: no seccomp filter can be "
			"loaded");
	free(snapshot);
	free(dir);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(while_it_traces);
	RUN(while_it_fetches_debug_files);
	RUN(a_command_is_left_alone);
	RUN(while_it_reads_a_snapshot);
	RUN(files_of_a_snapshot);
	RUN(in_a_sandbox);
	return check_done();
}
