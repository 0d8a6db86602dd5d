// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/compiler_child.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/whole_io.h"

struct error *compiler_process_start(struct compiler_process *ret)
{
	_cleanup_(compiler_process_deinit) struct compiler_process p =
		COMPILER_PROCESS_NONE;
	_cleanup_(closep) int other = -1;
	pid_t self = getpid();
	int pair[2];

	*ret = COMPILER_PROCESS_NONE;
	p.log_fd = memfd_create("memtrace-log", MFD_CLOEXEC);
	if (p.log_fd < 0)
		return error_errno(ERROR_IO, errno, "cannot make a memory file");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_IO, errno, "cannot make a socket pair");
	p.socket = pair[0];
	other = pair[1];
	/* Otherwise buffered output would be printed twice. */
	fflush(NULL);
	p.pid = fork();
	if (p.pid < 0) {
		p.pid = 0;
		return error_errno(ERROR_IO, errno, "cannot fork the compiler");
	}
	if (p.pid == 0) {
		close(p.socket);
		compiler_child_run(self, other, p.log_fd);
	}
	*ret = p;
	p = COMPILER_PROCESS_NONE;
	return NULL;
}

static bool append_string(struct strbuf *text, const char *string)
{
	strbuf_append_bytes(text, string, strlen(string) + 1);
	return !text->failed;
}

/* The content of a request's file (compile/compiler_child.h). */
static bool pack(const struct source *source, const struct headers *headers,
		 struct strbuf *ret)
{
	bool is_packed =
		append_string(ret, headers->path) && append_string(ret, source->text);

	for (size_t i = 0; i < source->flags.count; i++)
		is_packed &= append_string(ret, source->flags.list[i]);
	for (size_t i = 0; i < headers->flag_count; i++)
		is_packed &= append_string(ret, headers->flags[i]);
	return is_packed;
}

struct error *compiler_process_ask(const struct compiler_process *process,
				   const struct source *source,
				   const struct headers *headers)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(closep) int file = memfd_create("memtrace-source", MFD_CLOEXEC);
	const struct message m = {.kind = MESSAGE_COMPILE};
	const int fds[] = {file, headers->mount_fd};
	int err;

	if (file < 0)
		return error_errno(ERROR_IO, errno, "cannot make a memory file");
	if (!pack(source, headers, &text))
		return error_no_memory();
	if (!whole_write(file, strbuf_text(&text), text.len))
		return error_errno(ERROR_IO, errno, "cannot write to a memory file");
	err = message_send(process->socket, &m, fds, headers->mount_fd >= 0 ? 2 : 1);
	/* If it has ended, the wait for its answer says why. */
	return err && err != EPIPE ? error_errno(ERROR_IO, err, "cannot ask the compiler")
				   : NULL;
}

void compiler_process_end(struct compiler_process *process)
{
	closep(&process->socket);
	process->socket = -1;
	if (process->pid) {
		/* It has nothing left to do, and a regular exit would take a while. */
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	process->pid = 0;
}

void compiler_process_deinit(struct compiler_process *process)
{
	compiler_process_end(process);
	closep(&process->log_fd);
	process->log_fd = -1;
}

void compiler_pool_init(struct compiler_pool *pool, size_t count)
{
	pool->count = 0;
	while (pool->count < count && pool->count < COMPILER_POOL_MAX) {
		struct error *err = compiler_process_start(&pool->processes[pool->count]);

		if (err) {
			error_destroy(err);
			return;
		}
		pool->count++;
	}
}

void compiler_pool_deinit(struct compiler_pool *pool)
{
	while (pool->count)
		compiler_process_deinit(&pool->processes[--pool->count]);
}

struct error *compiler_pool_take(struct compiler_pool *pool, struct compiler_process *ret)
{
	if (!pool || !pool->count)
		return compiler_process_start(ret);
	*ret = pool->processes[--pool->count];
	return NULL;
}
