/* SPDX-License-Identifier: Apache-2.0 */
#include "live/live.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "json_schema.h"
#include "live/trampoline.h"

/* Bytes of the longest report that is validated. */
#define SCHEMA_LINE_MAX (1 << 18)

struct text {
	char *bytes; /* NUL-terminated */
	size_t length, size;
};

struct live_process {
	pid_t pid;
	int in, out, err;     /* our ends of the pipes; -1: closed */
	struct text out_text; /* output that the test has not read yet */
	struct text err_text; /* all output */
	size_t scanned;       /* bytes of out_text known to hold no newline */
	bool ended;
	int status;
};

/* Returns through the trampoline, by this process and all its descendants. */
static struct {
	int fd; /* trampoline_open() */
	uint64_t count;
	bool are_allowed;
} returns = {.fd = -1};

void live_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("live: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

void live_require_root(void)
{
	static const char events[] = "/sys/kernel/tracing/uprobe_events";
	__u32 id;

	if (geteuid() != 0)
		check_skip("needs root");
	signal(SIGPIPE, SIG_IGN);
	if (access(events, F_OK) != 0)
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (bpf_prog_get_next_id(0, &id) && errno != ENOENT)
		live_fail("root, but bpf(2) does not work: %s", strerror(errno));
	returns.fd = trampoline_open(0);
}

static void check_returns(const char *when)
{
	uint64_t count = returns.fd >= 0 ? trampoline_returns(returns.fd) : 0;

	if (!returns.are_allowed && count != returns.count)
		CHECK_FAIL("%s: %" PRIu64 " functions returned through the trampoline",
			   when, count - returns.count);
	returns.count = count;
}

void live_allow_return_probes(void)
{
	check_returns("before return probes were allowed");
	returns.are_allowed = true;
}

/* Called by check.h after each test of RUN. */
void check_after_test(const char *test)
{
	check_returns(test);
	returns.are_allowed = false;
}

/* Does argv have an option that makes memtrace use return probes (docs/probes.md)? */
static bool asks_for_return_probes(const char *const argv[])
{
	static const char *const words[] = {"--mappings", "perf", "hashes"};
	bool asks = false;

	for (size_t i = 0; argv[i]; i++) {
		if (!strcmp(argv[i], "--no-return-probes"))
			return false;
		asks |= !strncmp(argv[i], "uretprobe:", strlen("uretprobe:"));
		for (size_t j = 0; j < sizeof(words) / sizeof(*words); j++)
			asks |= !strcmp(argv[i], words[j]);
	}
	return asks;
}

#define FOLDER "/tmp/memtrace-test-XXXXXX"

static char folder[] = FOLDER;
static pid_t folder_owner; /* the process that made it; 0: not made */

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

static void remove_folder(void)
{
	if (folder_owner == getpid())
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

char *live_path(const char *name)
{
	char *path;

	if (folder_owner != getpid()) {
		memcpy(folder, FOLDER, sizeof(FOLDER));
		if (!mkdtemp(folder))
			live_fail("cannot make %s: %s", folder, strerror(errno));
		if (!folder_owner)
			atexit(remove_folder);
		folder_owner = getpid();
	}
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		live_fail("out of memory");
	return path;
}

double live_now_s(void)
{
	return check_now_s();
}

void live_sleep(double seconds)
{
	struct timespec pause = {(time_t)seconds,
				 (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

static void __attribute__((noreturn))
run_child(const char *const argv[], uid_t uid, const int fds[3], pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	for (int fd = 0; fd < 3; fd++)
		dup2(fds[fd], fd);
	signal(SIGPIPE, SIG_DFL);

	/* Opened before setuid(): the build may be in a folder that only root can
	 * enter. */
	int binary = uid ? open(argv[0], O_RDONLY | O_CLOEXEC) : -1;

	if (uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
		_exit(126);
	if (binary >= 0)
		fexecve(binary, (char *const *)argv, environ);
	else
		execvp(argv[0], (char *const *)argv);
	dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

#define EXEC_TIMEOUT_MS 60000

/* Waits until no process has the other end of the pipe open. A child closes it when it
 * executes its program. */
static void await_end(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int n;

	while ((n = poll(&end, 1, EXEC_TIMEOUT_MS)) < 0 && errno == EINTR)
		;
	if (n != 1)
		live_fail("a program was not executed");
	close(fd);
}

struct live_process *live_start_as(const char *const argv[], uid_t uid)
{
	if (asks_for_return_probes(argv))
		live_allow_return_probes();

	struct live_process *process = calloc(1, sizeof(*process));
	int in[2], out[2], err[2], begun[2];
	pid_t parent = getpid();

	if (!process || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC) || pipe2(begun, O_CLOEXEC))
		live_fail("cannot make pipes: %s", strerror(errno));
	fflush(NULL);
	process->pid = fork();
	if (process->pid < 0)
		live_fail("cannot fork: %s", strerror(errno));
	if (process->pid == 0)
		run_child(argv, uid, (int[]){in[0], out[1], err[1]}, parent);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	close(begun[1]);
	await_end(begun[0]);
	process->in = in[1];
	process->out = out[0];
	process->err = err[0];
	return process;
}

struct live_process *live_start(const char *const argv[])
{
	return live_start_as(argv, 0);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool reap(struct live_process *process, int flags)
{
	int status;

	if (process->ended)
		return true;
	if (waitpid(process->pid, &status, flags) != process->pid)
		return false;
	process->ended = true;
	process->status =
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

void live_destroy(struct live_process *process)
{
	if (!process)
		return;
	if (!reap(process, WNOHANG)) {
		kill(process->pid, SIGKILL);
		reap(process, 0);
	}
	close_fd(&process->in);
	close_fd(&process->out);
	close_fd(&process->err);
	free(process->out_text.bytes);
	free(process->err_text.bytes);
	free(process);
}

pid_t live_pid(const struct live_process *process)
{
	return process->pid;
}

bool live_is_running(struct live_process *process)
{
	return !reap(process, WNOHANG);
}

void live_signal(struct live_process *process, int signal)
{
	/* Not after it was reaped: the pid may have been reused. */
	if (!reap(process, WNOHANG))
		kill(process->pid, signal);
}

bool live_wait_stdout(const struct live_process *process, double timeout_s)
{
	struct pollfd fd = {.fd = process->out, .events = POLLIN};

	return poll(&fd, 1, (int)(timeout_s * 1000)) == 1;
}

void live_close_stdout(struct live_process *process)
{
	close_fd(&process->out);
}

static void text_reserve(struct text *text, size_t more)
{
	size_t need = text->length + more + 1;

	if (need <= text->size)
		return;
	text->size = need > 2 * text->size ? need : 2 * text->size;
	text->bytes = realloc(text->bytes, text->size);
	if (!text->bytes)
		live_fail("out of memory");
}

static void drain(int *fd, struct text *text)
{
	const size_t chunk = 1 << 16;

	text_reserve(text, chunk);
	ssize_t n = read(*fd, text->bytes + text->length, chunk);
	if (n > 0)
		text->length += (size_t)n;
	else if (n == 0 || errno != EINTR)
		close_fd(fd);
	text->bytes[text->length] = '\0';
}

/* Reads what is in the two pipes, waiting for it until `until_s`. False if both have
 * ended. */
static bool pump(struct live_process *process, double until_s)
{
	struct pollfd fds[2] = {{.fd = process->out, .events = POLLIN},
				{.fd = process->err, .events = POLLIN}};
	double left_s = until_s - live_now_s();

	if (process->out < 0 && process->err < 0)
		return false;
	int n = poll(fds, 2, left_s > 0 ? (int)(left_s * 1000) + 1 : 0);
	if (n > 0 && fds[0].revents)
		drain(&process->out, &process->out_text);
	if (n > 0 && fds[1].revents)
		drain(&process->err, &process->err_text);
	return true;
}

void live_send(struct live_process *process, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line) - 1)
		live_fail("line too long");
	line[n++] = '\n';
	if (write(process->in, line, (size_t)n) != n)
		live_fail("process %d does not take input: %s", process->pid,
			  strerror(errno));
}

void live_close_stdin(struct live_process *process)
{
	close_fd(&process->in);
}

/* Takes the next complete line from out_text. NULL if no line is complete yet. */
static char *take_line(struct live_process *process)
{
	struct text *text = &process->out_text;

	if (process->scanned == text->length)
		return NULL;
	char *end = memchr(text->bytes + process->scanned, '\n',
			   text->length - process->scanned);
	if (!end) {
		process->scanned = text->length;
		return NULL;
	}
	size_t length = (size_t)(end - text->bytes);
	char *line = strndup(text->bytes, length);
	if (!line)
		live_fail("out of memory");
	text->length -= length + 1;
	memmove(text->bytes, end + 1, text->length + 1);
	process->scanned = 0;
	return line;
}

char *live_read_line(struct live_process *process, double timeout_s)
{
	double until_s = live_now_s() + timeout_s;

	for (;;) {
		char *line = take_line(process);

		if (line)
			return line;
		if (process->out < 0 || live_now_s() > until_s)
			return NULL;
		pump(process, until_s);
	}
}

/* Reports must be valid by the documented schema. Large ones take too long. */
static void check_schema(const json_t *root, const char *line)
{
	const char *name = json_string_value(json_object_get(root, "schema"));
	char why[JSON_SCHEMA_WHY_SIZE];
	json_t *schema;

	if (!name || strncmp(name, "memtrace-", strlen("memtrace-")) ||
	    strlen(line) > SCHEMA_LINE_MAX)
		return;
	schema = json_schema_read();
	if (!json_schema_accepts(schema, root, why))
		CHECK_FAIL("a report is not valid by docs/json-schema.json: %s", why);
	json_decref(schema);
}

json_t *live_read_json(struct live_process *process, double timeout_s)
{
	char *line = live_read_line(process, timeout_s);
	json_error_t error;

	if (!line)
		return NULL;
	json_t *root = json_loads(line, 0, &error);
	if (!root)
		live_fail("not JSON (%s at %d): %.300s", error.text, error.position,
			  line);
	check_schema(root, line);
	free(line);
	return root;
}

const char *live_stderr(struct live_process *process)
{
	double until_s = live_now_s() + 0.2;

	while (process->err >= 0 && live_now_s() < until_s) {
		struct pollfd fd = {.fd = process->err, .events = POLLIN};

		if (poll(&fd, 1, 0) <= 0)
			break;
		drain(&process->err, &process->err_text);
	}
	return process->err_text.bytes ? process->err_text.bytes : "";
}

bool live_wait_stderr(struct live_process *process, const char *text, double timeout_s)
{
	double until_s = live_now_s() + timeout_s;

	while (!strstr(live_stderr(process), text)) {
		if (process->err < 0 || live_now_s() > until_s)
			return false;
		pump(process, until_s);
	}
	return true;
}

int live_wait(struct live_process *process, double timeout_s)
{
	double until_s = live_now_s() + timeout_s;

	close_fd(&process->in);
	while (!reap(process, WNOHANG)) {
		if (live_now_s() > until_s) {
			kill(process->pid, SIGKILL);
			reap(process, 0);
			return -1;
		}
		if (!pump(process, live_now_s() + 0.01))
			live_sleep(0.005);
	}
	/* Its last output is still in the pipes. Bounded: a child of it may hold them
	 * open. */
	double end_s = live_now_s() + 0.5;
	while (live_now_s() < end_s && pump(process, end_s))
		;
	return process->status;
}

json_t *live_get(const json_t *root, const char *path)
{
	const json_t *at = root;
	const char *part = path;

	while (*part) {
		size_t length = strcspn(part, ".");
		char *key = strndup(part, length);
		const json_t *next = key ? json_object_get(at, key) : NULL;

		free(key);
		if (!next)
			live_fail("\"%s\" is missing in the JSON", path);
		at = next;
		part += length + (part[length] == '.');
	}
	return (json_t *)at;
}

int64_t live_int(const json_t *root, const char *path)
{
	const json_t *value = live_get(root, path);

	if (!json_is_integer(value))
		live_fail("\"%s\" is not an integer", path);
	return json_integer_value(value);
}

unsigned live_count(const char *text, const char *part)
{
	unsigned count = 0;

	while ((text = strstr(text, part))) {
		count++;
		text++;
	}
	return count;
}

const char *live_skip_unfiltered(const char *text)
{
	const char *end;

	while ((end = strchr(text, '\n'))) {
		const char *at = strstr(text, " in a process without a filter: ");

		if (!at || at > end)
			break;
		text = end + 1;
	}
	return text;
}
