/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of confined children: what the child does when it is asked. It tries what it
 * may and may not do, works, hangs, crashes, and sends what it should not.
 */
#ifndef TESTS_UNIT_CONFINED_CONFINED_CHILD_H
#define TESTS_UNIT_CONFINED_CONFINED_CHILD_H

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined/confined.h"
#include "confined/serve.h"
#include "util/cleanup.h"
#include "util/clock.h"

enum request {
	ATTEMPT = 1, /* the index of an attempt; answers its errno, 0: it succeeded */
	READ_FILE,   /* a path; answers the file's first bytes as text */
	STAT_FILE,   /* a path; answers the file's size */
	READ_LINK,
	FAIL,
	NO_MEMORY,
	WAITING,
	LOOPING,
	WORKING,  /* uses 1 s of processor time */
	TALKING,  /* uses 1 s of processor time, and reports progress */
	CHATTING, /* reports progress for ever */
	MAP_ALL,
	CRASH,
	LEAVE,
	QUESTION,
	DRIPPING, /* takes for ever to send a message */
	FLOODING, /* asks and does not read the replies */
	BOASTING, /* begins a message over 256 MiB */
	ASKING,   /* asks for ever */
	END,
};

static inline int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static inline int try_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static inline int try_ptrace(void)
{
	return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static inline int try_kill(void)
{
	return kill(getppid(), 0);
}

static inline int try_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static inline int try_exec(void)
{
	return execl("/bin/true", "true", NULL);
}

static inline int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

static inline int try_bpf(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static inline int try_unlink(void)
{
	return unlink("/tmp/there-is-no-such-file");
}

static inline int try_prctl(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

static inline int try_io_uring(void)
{
	return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static inline int try_process_memory(void)
{
	return (int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static inline int try_foreign_file(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static inline int try_write(void)
{
	return open("/dev/null", O_WRONLY) < 0 ? -1 : open("/proc/self/mem", O_RDWR);
}

/* Root's alone; made by the parent. */
static char private_path[64];

static inline int try_private_read(void)
{
	return open(private_path, O_RDONLY);
}

static inline int try_private_write(void)
{
	return open(private_path, O_WRONLY);
}

/* A directory that the parent may refuse. */
static char directory_path[64];

static inline int try_directory(void)
{
	return open(directory_path, O_PATH | O_DIRECTORY);
}

/* A directory of the child's user, in a directory where all users may create files; made
 * by the parent. */
static char own_path[64];

static inline int try_in(const char *format, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), format, own_path);
	return open(path, flags | O_CLOEXEC, 0600);
}

static inline int try_create(void)
{
	return try_in("%s/own/file", O_CREAT | O_RDWR | O_TRUNC);
}

static inline int try_rename(void)
{
	char from[96], to[96];

	snprintf(from, sizeof(from), "%s/own/file", own_path);
	snprintf(to, sizeof(to), "%s/own/other", own_path);
	return rename(from, to);
}

static inline int try_remove(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/own/other", own_path);
	return unlink(path);
}

static inline int try_create_above(void)
{
	return try_in("%s/file", O_CREAT | O_RDWR);
}

static inline int try_read_above(void)
{
	return try_in("%s/readable", O_RDONLY);
}

/* Writes behind the first MiB of a file. */
static inline int try_large(void)
{
	int fd = try_in("%s/own/large", O_CREAT | O_RDWR);

	return fd < 0 ? -1 : (int)pwrite(fd, "x", 1, 1 << 20);
}

/* The owner of a file needs no capability for this. */
static inline int try_private_mode(void)
{
	return chmod(private_path, 0666);
}

static int (*const attempts[])(void) = {
	try_socket,       try_unix_socket, try_ptrace,       try_kill,
	try_fork,         try_exec,        try_code,         try_bpf,
	try_unlink,       try_prctl,       try_io_uring,     try_process_memory,
	try_foreign_file, try_write,       try_private_read, try_private_write,
	try_private_mode, try_create,      try_rename,       try_remove,
	try_create_above, try_read_above,  try_large,        try_directory,
};

#define ATTEMPTS (sizeof(attempts) / sizeof(*attempts))

static inline struct error *read_file(const char *path, struct strbuf *out)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY);
	char text[64] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return error_errno(ERROR_IO, errno, "%s", path);
	wire_put_text(out, text);
	return NULL;
}

static inline struct error *stat_file(const char *path, struct strbuf *out)
{
	struct stat st;

	if (stat(path, &st))
		return error_errno(ERROR_IO, errno, "%s", path);
	wire_put_u64(out, (uint64_t)st.st_size);
	return NULL;
}

static inline struct error *read_link(const char *path, struct strbuf *out)
{
	char text[256];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return error_errno(ERROR_IO, errno, "%s", path);
	text[n] = '\0';
	wire_put_text(out, text);
	return NULL;
}

static inline struct error *ask_back(struct confined_request *request)
{
	_cleanup_(strbuf_deinit) struct strbuf question = {0};
	_cleanup_(closep) int fd = -1;
	char text[8] = "";

	confined_say(request->server, "asking");
	wire_put_u32(&question, 42);
	fd = confined_ask(request->server, &question);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return error_errno(ERROR_IO, errno, "no answer");
	wire_put_text(request->out, text);
	return NULL;
}

static inline void work_ms(uint64_t ms)
{
	uint64_t until_ns = clock_thread_cpu_ns() + ms * 1000000;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

/* Begin a message and send the rest of it a byte at a time. */
_Noreturn static inline void drip(int socket)
{
	const struct message_head head = {MESSAGE_SAY, 0, 1 << 20};

	for (ssize_t n = write(socket, &head, sizeof(head)); n > 0;
	     n = write(socket, "a", 1))
		usleep(200000);
	_exit(0);
}

/* Begin a message that is larger than any may be. */
_Noreturn static inline void boast(int socket)
{
	const struct message_head head = {MESSAGE_SAY, 0, MESSAGE_MAX_BYTES + 1};

	if (write(socket, &head, sizeof(head)) != sizeof(head))
		_exit(1);
	for (;;)
		pause();
}

/* How many GiB it can map. They are not used, so they take no memory. */
static inline uint32_t map_all(void)
{
	uint32_t count = 0;

	while (count < 64 &&
	       mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		count++;
	return count;
}

static inline struct error *answer(void *state, struct confined_request *request)
{
	const char *path;
	uint32_t number;

	CHECK_INT(*(int *)state, 1);
	switch (request->number) {
	case ATTEMPT:
		number = wire_get_u32(&request->in);
		wire_put_u32(request->out, attempts[number]() < 0 ? (uint32_t)errno : 0);
		return NULL;
	case READ_FILE:
		path = wire_get_text(&request->in);
		return read_file(path, request->out);
	case STAT_FILE:
		path = wire_get_text(&request->in);
		return stat_file(path, request->out);
	case READ_LINK:
		path = wire_get_text(&request->in);
		return read_link(path, request->out);
	case FAIL:
		return error_errno(ERROR_NOT_FOUND, ENOENT, "as asked");
	case NO_MEMORY:
		return error_no_memory();
	case WAITING: /* hangs like a request to a file system that does not answer */
		for (;;)
			sleep(60);
	case LOOPING:
		for (;;)
			__asm__ volatile("");
	case WORKING:
		work_ms(1000);
		return NULL;
	case TALKING:
		for (int i = 0; i < 4; i++) {
			work_ms(250);
			confined_say(request->server, "talking");
		}
		return NULL;
	case CHATTING:
		for (;;)
			confined_say(request->server, "talking");
	case DRIPPING:
		drip(request->server->socket);
	case BOASTING:
		boast(request->server->socket);
	case ASKING:
		for (;;)
			error_destroy(ask_back(request));
	case FLOODING:
		for (;;)
			message_put(request->server->socket, NULL, MESSAGE_QUESTION, 0,
				    NULL, -1);
	case MAP_ALL:
		wire_put_u32(request->out, map_all());
		return NULL;
	case CRASH:
		__builtin_trap();
	case LEAVE:
		_exit(7);
	default:
		return ask_back(request);
	}
}

#endif
