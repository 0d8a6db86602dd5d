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

/* What the child gets. */
static struct error *open_ends(struct compiler_process *process, struct compiler_end *end)
{
	int pair[2];

	process->log_fd = memfd_create("memtrace-log", MFD_CLOEXEC);
	if (process->log_fd < 0)
		return error_errno(
			ERROR_IO, errno,
			"cannot make a memory file for the BPF compiler (memfd_create)");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_IO, errno, "cannot make a socket pair");
	process->socket = pair[0];
	*end = (struct compiler_end){pair[1], process->log_fd};
	return NULL;
}

/* Fork the first child, which forks the others. processes[0].pid becomes its id. */
static struct error *start(struct compiler_process processes[], size_t count)
{
	struct compiler_end ends[COMPILER_POOL_MAX];
	struct error *err = NULL;
	pid_t self = getpid();
	size_t opened = 0;

	for (; opened < count && !err; opened += !err)
		err = open_ends(&processes[opened], &ends[opened]);
	if (!err) {
		/* Otherwise buffered output would be printed twice. */
		fflush(NULL);
		processes[0].pid = fork();
		if (processes[0].pid < 0) {
			processes[0].pid = 0;
			err = error_errno(ERROR_IO, errno, "cannot fork the compiler");
		} else if (processes[0].pid == 0) {
			for (size_t i = 0; i < count; i++)
				close(processes[i].socket);
			compiler_child_run(self, ends, count);
		}
	}
	while (opened > 0)
		close(ends[--opened].socket);
	return err;
}

struct error *compiler_process_start(struct compiler_process *ret)
{
	struct error *err;

	*ret = COMPILER_PROCESS_NONE;
	err = start(ret, 1);
	if (err)
		compiler_process_deinit(ret);
	return err;
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
		return error_errno(
			ERROR_IO, errno,
			"cannot make a memory file for the BPF compiler (memfd_create)");
	if (!pack(source, headers, &text))
		return error_no_memory();
	if (!whole_write(file, strbuf_text(&text), text.len))
		return error_errno(ERROR_IO, errno,
				   "cannot write to a memory file for the BPF compiler");
	err = message_send(process->socket, &m, fds, headers->mount_fd >= 0 ? 2 : 1);
	/* If it has ended, the wait for its answer says why. */
	return err && err != EPIPE ? error_errno(ERROR_IO, err,
						 "cannot send the source of the probes "
						 "to the BPF compiler")
				   : NULL;
}

/* Wait until it is known which process it is. Returns false if it does not exist. */
static bool await_pid(struct compiler_process *process)
{
	struct message m;
	int fds[MESSAGE_MAX_FDS];
	size_t count;

	if (process->pid)
		return true;
	if (process->socket < 0 || message_receive(process->socket, &m, fds, &count))
		return false;
	while (count > 0)
		close(fds[--count]);
	if (m.kind == MESSAGE_STARTED && m.pid > 0)
		process->pid = m.pid;
	return process->pid;
}

void compiler_process_end(struct compiler_process *process)
{
	if (await_pid(process)) {
		/* It has nothing left to do, and a regular exit would take a while. */
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	closep(&process->socket);
	process->socket = -1;
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
	struct error *err;

	*pool = (struct compiler_pool){
		.count = count < COMPILER_POOL_MAX ? count : COMPILER_POOL_MAX};
	for (size_t i = 0; i < COMPILER_POOL_MAX; i++)
		pool->processes[i] = COMPILER_PROCESS_NONE;
	err = start(pool->processes, pool->count);
	if (err)
		compiler_pool_deinit(pool);
	error_destroy(err);
}

void compiler_pool_deinit(struct compiler_pool *pool)
{
	/* The first is killed before it forks the others, or has forked them. */
	for (size_t i = 0; i < pool->count; i++)
		compiler_process_deinit(&pool->processes[i]);
	pool->count = 0;
}

struct error *compiler_pool_take(struct compiler_pool *pool, struct compiler_process *ret)
{
	if (!pool || !pool->count)
		return compiler_process_start(ret);
	*ret = pool->processes[--pool->count];
	if (await_pid(ret))
		return NULL;
	compiler_process_deinit(ret);
	return compiler_process_start(ret);
}
