// SPDX-License-Identifier: Apache-2.0
#include "bpf/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/compiler_child.h"
#include "util/cleanup.h"
#include "util/memory_limit.h"

/* Compiling takes a third of a second; a child that says nothing for this long hangs. */
#define CHILD_TIMEOUT_MS 60000

/* How much of a long log is kept: its end, where verifier and clang say what is wrong. */
#define LOG_KEEP_BYTES 16384

struct compiler {
	pid_t child; /* 0: none */
	int socket;
	int log_fd;
	size_t map_count;
	struct {
		char name[MESSAGE_NAME_MAX];
		int fd;
	} maps[MESSAGE_MAX_FDS];
};

DEFINE_CLEANUP(struct compiler *, compiler_destroy);

struct error *compiler_start(const struct source *source, const struct headers *headers,
			     struct compiler **ret)
{
	_cleanup_(compiler_destroyp) struct compiler *c = calloc(1, sizeof(*c));
	int pair[2];

	if (!c)
		return error_no_memory();
	c->socket = -1;
	c->log_fd = memfd_create("memtrace-log", MFD_CLOEXEC);
	if (c->log_fd < 0)
		return error_errno(ERROR_IO, errno, "cannot make a memory file");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_IO, errno, "cannot make a socket pair");
	/* Nothing buffered may be printed twice. */
	fflush(NULL);

	pid_t self = getpid();

	c->child = fork();
	if (c->child < 0) {
		int err = errno;

		c->child = 0;
		close(pair[0]);
		close(pair[1]);
		return error_errno(ERROR_IO, err, "cannot fork the compiler");
	}
	if (c->child == 0) {
		close(pair[0]);
		compiler_child_run(self, pair[1], c->log_fd, source, headers);
	}
	close(pair[1]);
	c->socket = pair[0];
	*ret = take(c);
	return NULL;
}

/* The end of what the child has printed; owned, or NULL. */
static char *read_log(const struct compiler *c)
{
	struct stat st;

	if (fstat(c->log_fd, &st) || st.st_size <= 0)
		return NULL;

	size_t size =
		(size_t)st.st_size < LOG_KEEP_BYTES ? (size_t)st.st_size : LOG_KEEP_BYTES;
	char *text = malloc(size + 1);

	if (!text)
		return NULL;

	ssize_t n = pread(c->log_fd, text, size, st.st_size - (off_t)size);

	text[n > 0 ? n : 0] = 0;
	return text;
}

static struct error *with_log(struct error *err, const struct compiler *c)
{
	_cleanup_(freep) char *log = read_log(c);

	return error_with_detail(err, log);
}

/* The child is gone without a word: say how. */
static struct error *child_died(struct compiler *c)
{
	int status = 0;

	if (c->child && waitpid(c->child, &status, 0) == c->child)
		c->child = 0;
	if (WIFSIGNALED(status))
		return error_create(ERROR_COMPILE,
				    "the BPF compiler died of signal %d (%s)%s",
				    WTERMSIG(status), strsignal(WTERMSIG(status)),
				    memory_limit_hint());
	return error_create(ERROR_COMPILE, "the BPF compiler gave up (status %d)",
			    WEXITSTATUS(status));
}

static struct error *receive(struct compiler *c, struct message *m, int fds[],
			     size_t *fd_count)
{
	struct pollfd poll_fd = {.fd = c->socket, .events = POLLIN};
	int n;

	do
		n = poll(&poll_fd, 1, CHILD_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	/* Which is no refusal, after which another program would be tried. */
	if (n == 0)
		return error_create(ERROR_IO,
				    "the BPF compiler does not answer: try again, "
				    "or with --kernel-headers embedded");

	int err = message_receive(c->socket, m, fds, fd_count);

	if (err == EMFILE)
		return error_errno(ERROR_IO, err,
				   "cannot take programs from the BPF compiler");
	if (err)
		return with_log(child_died(c), c);
	if (m->kind == MESSAGE_FAILED) {
		m->text[sizeof(m->text) - 1] = 0;
		return with_log(error_create(ERROR_COMPILE, "%s", m->text), c);
	}
	return NULL;
}

/* The child has the maps of another from now on. */
static struct error *send_maps(struct compiler *c, const struct compiler *maps_of)
{
	struct message m = {.kind = MESSAGE_MAPS, .count = (uint32_t)maps_of->map_count};
	int fds[MESSAGE_MAX_FDS];

	for (size_t i = 0; i < maps_of->map_count; i++) {
		memcpy(m.name[i], maps_of->maps[i].name, MESSAGE_NAME_MAX);
		fds[i] = maps_of->maps[i].fd;
	}
	return message_send(c->socket, &m, fds, maps_of->map_count)
		       ? with_log(child_died(c), c)
		       : NULL;
}

struct error *compiler_wait(struct compiler *c, const struct compiler *maps_of)
{
	struct message m;
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;
	struct error *err = receive(c, &m, fds, &fd_count);

	if (err)
		return err;
	if (maps_of) {
		for (size_t i = 0; i < fd_count; i++)
			close(fds[i]);
		return send_maps(c, maps_of);
	}
	c->map_count = fd_count;
	for (size_t i = 0; i < fd_count; i++) {
		memcpy(c->maps[i].name, m.name[i], MESSAGE_NAME_MAX);
		c->maps[i].name[MESSAGE_NAME_MAX - 1] = 0;
		c->maps[i].fd = fds[i];
	}
	return NULL;
}

int compiler_map(const struct compiler *c, const char *name)
{
	for (size_t i = 0; i < c->map_count; i++) {
		if (!strcmp(c->maps[i].name, name))
			return c->maps[i].fd;
	}
	return -1;
}

static struct error *load_batch(struct compiler *c, const char *const names[],
				size_t count, struct program_kind kind, int ret[])
{
	struct message m = {.kind = MESSAGE_LOAD, .program_kind = kind};
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;

	for (size_t i = 0; i < count; i++)
		snprintf(m.name[m.count++], MESSAGE_NAME_MAX, "%s", names[i]);
	if (message_send(c->socket, &m, NULL, 0))
		return with_log(child_died(c), c);

	struct error *err = receive(c, &m, fds, &fd_count);

	if (err)
		return err;
	if (fd_count != count) {
		for (size_t i = 0; i < fd_count; i++)
			close(fds[i]);
		return error_create(ERROR_COMPILE,
				    "the compiler gave %zu programs of %zu", fd_count,
				    count);
	}
	memcpy(ret, fds, count * sizeof(*fds));
	return NULL;
}

struct error *compiler_load(struct compiler *c, const char *const names[], size_t count,
			    struct program_kind kind, int ret[])
{
	for (size_t i = 0; i < count; i += MESSAGE_MAX_FDS) {
		size_t n = count - i < MESSAGE_MAX_FDS ? count - i : MESSAGE_MAX_FDS;
		struct error *err = load_batch(c, names + i, n, kind, ret + i);

		if (err) {
			while (i-- > 0)
				close(ret[i]);
			return err;
		}
	}
	return NULL;
}

void compiler_release_child(struct compiler *c)
{
	if (c->socket >= 0)
		close(c->socket);
	c->socket = -1;
	if (c->child) {
		/* It has nothing left to do, and its exit would take a while. */
		kill(c->child, SIGKILL);
		waitpid(c->child, NULL, 0);
	}
	c->child = 0;
}

void compiler_destroy(struct compiler *c)
{
	if (!c)
		return;
	compiler_release_child(c);
	for (size_t i = 0; i < c->map_count; i++)
		close(c->maps[i].fd);
	if (c->log_fd >= 0)
		close(c->log_fd);
	free(c);
}
