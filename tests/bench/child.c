// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* Large, so that the tracer does not wait for the reader while it writes a long
 * report. */
#define PIPE_BYTES (1 << 20)
#define READ_BYTES (1 << 18)

struct child child_start(const char *const argv[])
{
	struct child child;
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES);
	child.in = in[1];
	child.out = out[0];
	child.err = err[0];
	child.started_ns = now_ns();
	child.pid = fork();
	if (child.pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A shell lets what it starts in the background ignore it, and tracers
		 * that inherit this cannot be stopped by it. */
		signal(SIGINT, SIG_DFL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		/* execvp() does not write to the strings; its prototype is older than
		 * const. */
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	return child;
}

static void close_pipes(struct child *child)
{
	close(child->in);
	close(child->out);
	close(child->err);
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close_pipes(child);
}

uint64_t child_wait(struct child *child, unsigned timeout_s, struct rusage *usage)
{
	uint64_t until_ns = now_ns() + timeout_s * UINT64_C(1000000000);
	struct rusage ignored;
	int status;
	pid_t pid;

	while ((pid = wait4(child->pid, &status, WNOHANG, usage ? usage : &ignored)) ==
	       0) {
		if (now_ns() > until_ns)
			die("process %d does not end", (int)child->pid);
		usleep(200);
	}
	if (pid < 0)
		die("cannot wait for process %d: %s", (int)child->pid, strerror(errno));

	uint64_t end_ns = now_ns();

	close_pipes(child);
	return end_ns;
}

void child_send(struct child *child, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (vdprintf(child->in, format, ap) < 0 || write(child->in, "\n", 1) != 1)
		die("cannot write to process %d: %s", (int)child->pid, strerror(errno));
	va_end(ap);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0;
}

void child_read_line(struct child *child, unsigned timeout_s, char *line, size_t size)
{
	size_t len = 0;

	for (;;) {
		if (!is_readable(child->out, (int)timeout_s * 1000) ||
		    read(child->out, line + len, 1) != 1)
			die("process %d gave no answer", (int)child->pid);
		if (line[len] == '\n')
			break;
		if (len + 2 < size)
			len++;
	}
	line[len] = '\0';
}

struct text child_read_burst(struct child *child, unsigned timeout_s, unsigned quiet_ms)
{
	struct text text = {NULL, 0, now_ns()};
	int wait_ms = (int)timeout_s * 1000;
	size_t size = 0;

	for (;;) {
		if (!is_readable(child->out, wait_ms)) {
			if (!text.len)
				die("process %d wrote nothing", (int)child->pid);
			break;
		}
		if (size - text.len < READ_BYTES + 1) {
			size = 2 * size + READ_BYTES + 1;
			text.data = realloc(text.data, size);
			if (!text.data)
				die("out of memory");
		}

		ssize_t n = read(child->out, text.data + text.len, READ_BYTES);

		if (n <= 0)
			break;
		text.len += (size_t)n;
		text.last_ns = now_ns();
		wait_ms = (int)quiet_ms;
	}
	if (!text.data)
		die("process %d wrote nothing", (int)child->pid);
	text.data[text.len] = '\0';
	return text;
}

void text_deinit(struct text *text)
{
	free(text->data);
	text->data = NULL;
}

double text_sum_between(const char *text, const char *before, const char *after)
{
	double sum = 0;
	char *end;

	while ((text = strstr(text, before))) {
		double number = strtod(text + strlen(before), &end);

		if (!strncmp(end, after, strlen(after)))
			sum += number;
		text = end;
	}
	return sum;
}

void child_discard(struct child *child)
{
	char buf[4096];

	while (is_readable(child->out, 0))
		if (read(child->out, buf, sizeof(buf)) <= 0)
			break;
}

double child_status_kib(const struct child *child, const char *name)
{
	char path[64], line[256];
	double kib = -1;
	size_t len = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)child->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		die("cannot read %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ':')
			kib = strtod(line + len + 1, NULL);
	fclose(file);
	if (kib < 0)
		die("%s has no %s", path, name);
	return kib;
}

double child_mapped_kib(const struct child *child, const char *name)
{
	char path[64], line[512];
	bool is_named = false;
	double kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)child->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		die("cannot read %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		/* Fields begin with a capital letter, mappings with an address. */
		if (line[0] < 'A' || line[0] > 'Z')
			is_named = strstr(line, name);
		else if (is_named && !strncmp(line, "Rss:", 4))
			kib += strtod(line + 4, NULL);
	}
	fclose(file);
	return kib;
}
