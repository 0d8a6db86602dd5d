// SPDX-License-Identifier: Apache-2.0
/* A confined child: allowed and forbidden operations, and its end. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/confined.h"
#include "confined/serve.h"
#include "confined/shed.h"
#include "process_state.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/sanitized.h"

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

/* --- the clock ---------------------------------------------------------------------- */

/* How much later it is than by the kernel's clock, ns, and what a wait without a message,
 * a message and a question add. */
static uint64_t passed_ns, per_wait_ns, per_message_ns, per_question_ns;

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ret);

	ret->tv_sec += (time_t)(passed_ns / 1000000000);
	return result;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	int n = (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &timeout,
			     NULL, 8);

	if (!n)
		passed_ns += per_wait_ns;
	return n;
}

/* --- in the child ------------------------------------------------------------------ */

static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int try_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int try_ptrace(void)
{
	return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static int try_kill(void)
{
	return kill(getppid(), 0);
}

static int try_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static int try_exec(void)
{
	return execl("/bin/true", "true", NULL);
}

static int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

static int try_bpf(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static int try_unlink(void)
{
	return unlink("/tmp/there-is-no-such-file");
}

static int try_prctl(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

static int try_io_uring(void)
{
	return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int try_process_memory(void)
{
	return (int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static int try_foreign_file(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static int try_write(void)
{
	return open("/dev/null", O_WRONLY) < 0 ? -1 : open("/proc/self/mem", O_RDWR);
}

/* Root's alone; made by the parent. */
static char private_path[64];

static int try_private_read(void)
{
	return open(private_path, O_RDONLY);
}

static int try_private_write(void)
{
	return open(private_path, O_WRONLY);
}

/* A directory that the parent may refuse. */
static char directory_path[64];

static int try_directory(void)
{
	return open(directory_path, O_PATH | O_DIRECTORY);
}

/* A directory of the child's user, in a directory where all users may create files; made
 * by the parent. */
static char own_path[64];

static int try_in(const char *format, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), format, own_path);
	return open(path, flags | O_CLOEXEC, 0600);
}

static int try_create(void)
{
	return try_in("%s/own/file", O_CREAT | O_RDWR | O_TRUNC);
}

static int try_rename(void)
{
	char from[96], to[96];

	snprintf(from, sizeof(from), "%s/own/file", own_path);
	snprintf(to, sizeof(to), "%s/own/other", own_path);
	return rename(from, to);
}

static int try_remove(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/own/other", own_path);
	return unlink(path);
}

static int try_create_above(void)
{
	return try_in("%s/file", O_CREAT | O_RDWR);
}

static int try_read_above(void)
{
	return try_in("%s/readable", O_RDONLY);
}

/* Writes behind the first MiB of a file. */
static int try_large(void)
{
	int fd = try_in("%s/own/large", O_CREAT | O_RDWR);

	return fd < 0 ? -1 : (int)pwrite(fd, "x", 1, 1 << 20);
}

/* The owner of a file needs no capability for this. */
static int try_private_mode(void)
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

static struct error *read_file(const char *path, struct strbuf *out)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY);
	char text[64] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return error_errno(ERROR_IO, errno, "%s", path);
	wire_put_text(out, text);
	return NULL;
}

static struct error *stat_file(const char *path, struct strbuf *out)
{
	struct stat st;

	if (stat(path, &st))
		return error_errno(ERROR_IO, errno, "%s", path);
	wire_put_u64(out, (uint64_t)st.st_size);
	return NULL;
}

static struct error *read_link(const char *path, struct strbuf *out)
{
	char text[256];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return error_errno(ERROR_IO, errno, "%s", path);
	text[n] = '\0';
	wire_put_text(out, text);
	return NULL;
}

static struct error *ask_back(struct confined_request *request)
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

static void work_ms(uint64_t ms)
{
	uint64_t until_ns = clock_thread_cpu_ns() + ms * 1000000;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

/* Begin a message and send the rest of it a byte at a time. */
_Noreturn static void drip(int socket)
{
	const struct message_head head = {MESSAGE_SAY, 0, 1 << 20};

	for (ssize_t n = write(socket, &head, sizeof(head)); n > 0;
	     n = write(socket, "a", 1))
		usleep(200000);
	_exit(0);
}

/* Begin a message that is larger than any may be. */
_Noreturn static void boast(int socket)
{
	const struct message_head head = {MESSAGE_SAY, 0, MESSAGE_MAX_BYTES + 1};

	if (write(socket, &head, sizeof(head)) != sizeof(head))
		_exit(1);
	for (;;)
		pause();
}

/* How many GiB it can map. They are not used, so they take no memory. */
static uint32_t map_all(void)
{
	uint32_t count = 0;

	while (count < 64 &&
	       mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		count++;
	return count;
}

static struct error *answer(void *state, struct confined_request *request)
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

/* --- the tests --------------------------------------------------------------------- */

static char allowed_path[64];
static unsigned finds;

/* Allows one file, by its path only. */
static int find(void *arg, int dir, const char *path, bool no_follow)
{
	(void)arg;
	finds++;
	if (dir < 0 && !strcmp(path, allowed_path))
		return open(path, O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0));
	if (dir < 0 && (!strcmp(path, "/dev/null") || !strcmp(path, directory_path)))
		return open(path, O_PATH | O_CLOEXEC);
	errno = EACCES;
	return -1;
}

static bool is_refused;

static bool may_open(void *arg, const char *path, int place)
{
	(void)arg;
	(void)place;
	return !is_refused || strcmp(path, directory_path);
}

static char heard[64];

static void hear(void *arg, const char *phase)
{
	(void)arg;
	passed_ns += per_message_ns;
	snprintf(heard, sizeof(heard), "%s", phase);
}

static int give_file(void *arg, struct wire *question)
{
	int fds[2];

	(void)arg;
	passed_ns += per_question_ns;
	if (wire_get_u32(question) != 42 || pipe2(fds, O_CLOEXEC))
		return -1;
	REQUIRE(write(fds[1], "given", 5) == 5);
	close(fds[1]);
	return fds[0];
}

/* When a signal asked for the end, CLOCK_MONOTONIC ns; 0: none has. */
static uint64_t stopped_ns;

static uint64_t stopping_ns(void *arg)
{
	(void)arg;
	return stopped_ns ? clock_now_ns() - stopped_ns : 0;
}

/* As if the signal had come so long ago. */
static void stop_before(uint64_t ns)
{
	stopped_ns = clock_now_ns() - ns;
}

/* The largest file that a client may write; 0: any. */
static uint64_t file_bytes;

static struct confined *start_with(enum confined_kind kind,
				   const struct landlock_files *files)
{
	static int state = 1;
	const struct confined_service service = {ATTEMPT, END - ATTEMPT, answer, &state};
	const struct confined_options options = {
		.kind = kind,
		.files = files,
		.file_bytes = file_bytes,
		.name = "test-confined",
		.services = &service,
		.service_count = 1,
		.policy = {.find = find, .may_open = may_open},
		.progress = hear,
		.question = give_file,
		.stopping_ns = stopping_ns,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	struct confined *confined = NULL;
	struct error *err = confined_start(&options, &confined, &why);

	if (err || why)
		fprintf(stderr, "%s\n", err ? err->message : why->message);
	REQUIRE(!err && !why);
	return confined;
}

static struct confined *start(enum confined_kind kind)
{
	return start_with(kind, NULL);
}

/* Returns the answer's text, or the error message; to be freed. */
static char *ask_text(struct confined *confined, enum request number, const char *text)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(error_destroyp) struct error *err = NULL;
	const char *got;
	struct wire wire;

	if (text)
		wire_put_text(&in, text);
	err = confined_call(confined, number, &in, -1, &out, NULL);
	if (err)
		return strdup(err->message);
	wire = wire_read(&out);
	got = wire_get_text(&wire);
	return strdup(got ? got : "(null)");
}

static void check_text(struct confined *confined, enum request number, const char *text,
		       const char *want)
{
	char *got = ask_text(confined, number, text);

	CHECK_CONTAINS(got, want);
	free(got);
}

static void check_line(int pid, const char *name, const char *want)
{
	char path[64], line[256], found[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), " %255[^\n]", found);
	}
	fclose(file);
	CHECK_STR(found, want);
}

/* Root's ids are gone: real, effective, saved, and for files. */
static void check_ids(int pid)
{
	char ids[64];

	if (geteuid())
		return;
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", SHED_USER, SHED_USER, SHED_USER,
		 SHED_USER);
	check_line(pid, "Uid:", ids);
	check_line(pid, "Gid:", ids);
	check_line(pid, "Groups:", "");
}

static void check_status(struct confined *confined)
{
	int pid = confined_pid(confined);

	check_line(pid, "Name:", "test-confined");
	check_line(pid, "CapEff:", "0000000000000000");
	check_line(pid, "CapPrm:", "0000000000000000");
	check_line(pid, "CapInh:", "0000000000000000");
	check_line(pid, "CapAmb:", "0000000000000000");
	if (!geteuid())
		check_line(pid, "CapBnd:", "0000000000000000");
	check_ids(pid);
	check_line(pid, "NoNewPrivs:", "1");
	check_line(pid, "Seccomp:", "2");
}

/* If memory is short, the kernel ends the child before others. */
static void check_gives_way(int pid)
{
	char path[64];
	int score = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	file = fopen(path, "re");
	REQUIRE(file && fscanf(file, "%d", &score) == 1);
	fclose(file);
	CHECK_INT(score, 1000);
}

/* The limit is 0, and it cannot raise it. */
static void check_limit(int pid, const char *name)
{
	struct process_limit limit = process_limit(pid, name);

	CHECK_STR(limit.soft, "0");
	CHECK_STR(limit.hard, "0");
}

static int count_descriptors(int pid)
{
	char path[64];
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		count += !lstat(path, &st);
	}
	return count;
}

static void reader_may_not(void)
{
	/* One of memtrace's own descriptors, which the child must not have. */
	int own = fcntl(0, F_DUPFD_CLOEXEC, 100);
	struct confined *confined = start(CONFINED_READER);

	REQUIRE(own >= 100 && !close(own));
	check_status(confined);
	check_gives_way(confined_pid(confined));
	/* It writes no file, and leaves none if it crashes. */
	check_limit(confined_pid(confined), "Max file size");
	check_limit(confined_pid(confined), "Max core file size");
	for (uint32_t i = 0; i < ATTEMPTS; i++) {
		_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
		struct wire wire;
		uint32_t errnum;

		wire_put_u32(&in, i);
		REQUIRE(!confined_call(confined, ATTEMPT, &in, -1, &out, NULL));
		wire = wire_read(&out);
		errnum = wire_get_u32(&wire);
		if (errnum != EPERM && errnum != EACCES)
			CHECK_FAIL("attempt %u: %s", i, strerror((int)errnum));
		CHECK(wire_is_done(&wire));
	}
	/* Three descriptors of /dev/null, the socket, and the file of the last
	 * attempt. */
	CHECK_INT(count_descriptors(confined_pid(confined)), 5);
	confined_destroy(confined);
}

/* What an attempt fails with; 0: it succeeds. */
static int attempt(struct confined *confined, int (*try)(void))
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	uint32_t number = 0;
	struct wire wire;

	while (attempts[number] != try)
		number++;
	wire_put_u32(&in, number);
	REQUIRE(!confined_call(confined, ATTEMPT, &in, -1, &out, NULL));
	wire = wire_read(&out);
	return (int)wire_get_u32(&wire);
}

static void reader_opens_what_it_may(void)
{
	struct confined *confined;
	FILE *file;

	snprintf(allowed_path, sizeof(allowed_path), "/tmp/test-confined-%d", getpid());
	snprintf(private_path, sizeof(private_path), "%s", allowed_path);
	confined = start(CONFINED_READER);
	private_path[0] = '\0';
	file = fopen(allowed_path, "w");
	REQUIRE(file && fputs("contents", file) >= 0 && !fclose(file));
	finds = 0;
	check_text(confined, READ_FILE, allowed_path, "contents");
	CHECK(finds > 0);
	check_text(confined, READ_FILE, "/etc/passwd", "/etc/passwd: Permission denied");
	check_text(confined, READ_FILE, "/dev/null", "");
	/* Only for reading. */
	CHECK_INT(attempt(confined, try_private_write), EACCES);
	check_text(confined, READ_LINK, "/proc/self/fd/0", "/dev/null");
	check_text(confined, READ_LINK, "/proc/self/fd/77", "No such file");

	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct wire wire;

	wire_put_text(&in, allowed_path);
	REQUIRE(!confined_call(confined, STAT_FILE, &in, -1, &out, NULL));
	wire = wire_read(&out);
	CHECK_INT(wire_get_u64(&wire), 8);
	unlink(allowed_path);
	check_text(confined, READ_FILE, allowed_path, "No such file");

	/* A FIFO in its place is not opened: opening it would block. */
	REQUIRE(!mkfifo(allowed_path, 0600));
	check_text(confined, READ_FILE, allowed_path, allowed_path);
	unlink(allowed_path);
	confined_destroy(confined);
}

/* The reader could list a directory that it has open. */
static void reader_opens_directories_that_it_may(void)
{
	struct confined *confined;

	snprintf(directory_path, sizeof(directory_path), "/tmp/test-directory-%d",
		 getpid());
	REQUIRE(!mkdir(directory_path, 0700));
	confined = start(CONFINED_READER);
	CHECK_INT(attempt(confined, try_directory), 0);
	is_refused = true;
	CHECK_INT(attempt(confined, try_directory), EACCES);
	is_refused = false;
	confined_destroy(confined);
	rmdir(directory_path);
	directory_path[0] = '\0';
}

static void client_keeps_the_network(void)
{
	struct confined *confined = start(CONFINED_CLIENT);

	check_status(confined);
	CHECK_INT(attempt(confined, try_socket), 0);
	CHECK_INT(attempt(confined, try_unix_socket), 0);
	CHECK_INT(attempt(confined, try_ptrace), EPERM);
	CHECK_INT(attempt(confined, try_kill), EPERM);
	CHECK_INT(attempt(confined, try_exec), EPERM);
	CHECK_INT(attempt(confined, try_bpf), EPERM);
	CHECK_INT(attempt(confined, try_io_uring), EPERM);
	CHECK_INT(attempt(confined, try_process_memory), EPERM);
	confined_destroy(confined);
}

static void client_cannot_use_files_of_root(void)
{
	struct confined *confined;
	int fd;

	if (geteuid())
		return;
	snprintf(private_path, sizeof(private_path), "/tmp/test-private-%d", getpid());
	fd = open(private_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	close(fd);
	confined = start(CONFINED_CLIENT);
	CHECK_INT(attempt(confined, try_foreign_file), 0);
	CHECK_INT(attempt(confined, try_private_read), EACCES);
	CHECK_INT(attempt(confined, try_private_write), EACCES);
	CHECK_INT(attempt(confined, try_private_mode), EPERM);
	confined_destroy(confined);
	unlink(private_path);
}

/* A directory `own` for the child, and a file that all may read beside it. */
static int make_own(void)
{
	char path[96];
	int fd;

	snprintf(own_path, sizeof(own_path), "/tmp/test-own-%d", getpid());
	snprintf(path, sizeof(path), "%s/readable", own_path);
	REQUIRE(!mkdir(own_path, 0700) && !chmod(own_path, 01777));
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	REQUIRE(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/own", own_path);
	REQUIRE(!mkdir(path, 0700) && !chown(path, shed_user(), shed_user()));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	return fd;
}

/* With Landlock a client writes to one directory, and reads what it needs. */
static void client_has_few_files(void)
{
	static const char *const readable[] = {"/etc", "/no/such/path", NULL};
	struct landlock_files files = {.readable = readable};
	bool is_checked = syscall(444, NULL, 0, 1) > 0;
	struct confined *confined;
	char command[96];

	if (geteuid())
		return;
	files.writable = make_own();
	for (int i = 0; i < 2; i++) {
		confined = start_with(CONFINED_CLIENT, i ? &files : NULL);
		CHECK_INT(attempt(confined, try_foreign_file), 0);
		CHECK_INT(attempt(confined, try_create), 0);
		CHECK_INT(attempt(confined, try_rename), 0);
		CHECK_INT(attempt(confined, try_remove), 0);
		CHECK_INT(attempt(confined, try_create_above),
			  i && is_checked ? EACCES : 0);
		CHECK_INT(attempt(confined, try_read_above),
			  i && is_checked ? EACCES : 0);
		CHECK_INT(attempt(confined, try_exec), EPERM);
		confined_destroy(confined);
	}
	close(files.writable);
	snprintf(command, sizeof(command), "rm -r %s", own_path);
	REQUIRE(!system(command));
	if (!is_checked)
		CHECK_NOT_FOR_KERNEL("no Landlock");
}

static void client_writes_no_large_file(void)
{
	struct confined *confined;
	char command[96];

	if (geteuid())
		return;
	close(make_own());
	for (int i = 0; i < 2; i++) {
		file_bytes = i ? 1 << 20 : 0;
		confined = start(CONFINED_CLIENT);
		CHECK_INT(attempt(confined, try_large), i ? EFBIG : 0);
		confined_destroy(confined);
	}
	file_bytes = 0;
	snprintf(command, sizeof(command), "rm -r %s", own_path);
	REQUIRE(!system(command));
}

/* A child that has given up root's id still ends with its parent. */
static void a_child_ends_with_its_parent(void)
{
	struct pollfd end = {.events = POLLIN};
	int fds[2], child;
	pid_t pid;

	REQUIRE(!pipe2(fds, O_CLOEXEC));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		child = confined_pid(start(CONFINED_READER));
		REQUIRE(write(fds[1], &child, sizeof(child)) == sizeof(child));
		/* It would end at the end of its socket, if it read. */
		kill(child, SIGSTOP);
		_exit(0);
	}
	REQUIRE(read(fds[0], &child, sizeof(child)) == sizeof(child));
	end.fd = (int)syscall(SYS_pidfd_open, child, 0);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	if (end.fd < 0)
		CHECK_INT(errno, ESRCH);
	else
		CHECK_INT(poll(&end, 1, 10000), 1);
	closep(&end.fd);
	close(fds[0]);
	close(fds[1]);
}

static void errors_and_questions(void)
{
	struct confined *confined = start(CONFINED_READER);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err = confined_call(confined, FAIL, NULL, -1, &out, NULL);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_INT(err->saved_errno, ENOENT);
	CHECK_CONTAINS(err->message, "as asked");
	error_destroy(err);
	check_text(confined, QUESTION, NULL, "given");
	CHECK_STR(heard, "asking");
	err = confined_call(confined, 1000, NULL, -1, &out, NULL);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_UNSUPPORTED);
	error_destroy(err);
	confined_destroy(confined);
}

/* If the child ends during one request, later requests fail with the same reason. */
static void check_gone(enum request number, const char *how)
{
	struct confined *confined = start(CONFINED_READER);

	for (int i = 0; i < 2; i++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};
		struct error *err =
			confined_call(confined, i ? FAIL : number, NULL, -1, &out, NULL);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_GONE);
		CHECK_CONTAINS(err->message, how);
		error_destroy(err);
	}
	CHECK_INT(confined_pid(confined), 0);
	/* It was reaped. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	confined_destroy(confined);
}

static void ends_are_told(void)
{
	check_gone(LEAVE, "test-confined ended with status 7");
	check_gone(CRASH, "test-confined was ended by signal 4");
	check_gone(NO_MEMORY, "test-confined was ended: it has no memory left");
	check_gone(DRIPPING, "test-confined was ended: it did not finish a message");
	/* It is not waited for. */
	check_gone(BOASTING, "test-confined was ended by signal 9");
	check_gone(FLOODING, "test-confined was ended: it did not take a reply");
	stop_before(CONFINED_LATE_NS);
	check_gone(WAITING, "test-confined was ended: the wait was given up");
	stopped_ns = 0;
}

/* The child is ended after so many seconds, by the clock that was moved. */
static void check_no_answer(enum request number, double min_s, double max_s)
{
	double s;

	check_gone(number, "test-confined was ended: it gave no answer");
	s = (double)passed_ns * 1e-9;
	CHECK(s >= min_s && s <= max_s);
	passed_ns = per_wait_ns = per_message_ns = per_question_ns = 0;
}

/* A child in a loop is ended after a minute, and one that sends messages after five. Time
 * that this process takes to answer is counted apart, up to five minutes as well. */
static void work_without_end(void)
{
	const uint64_t s_ns = 1000000000;

	per_wait_ns = 30 * s_ns;
	check_no_answer(LOOPING, 30, 90);
	per_message_ns = 20 * s_ns;
	check_no_answer(CHATTING, 280, 340);
	per_question_ns = 20 * s_ns;
	check_no_answer(ASKING, 280, 340);
}

/* Seconds until the child is ended, if the signal came `before_ns` ago. */
static double check_given_up(enum request number, uint64_t before_ns)
{
	uint64_t begin_ns = clock_now_ns();

	stop_before(before_ns);
	check_gone(number, "test-confined was ended: the wait was given up");
	stopped_ns = 0;
	return (double)(clock_now_ns() - begin_ns) * 1e-9;
}

/* At the end of a run a looping child is killed soon, and one that sends messages not
 * much later. Children that work may go on until then. */
static void work_at_the_end_of_the_run(void)
{
	const double left_s = (double)(CONFINED_END_NS - CONFINED_LATE_NS) * 1e-9;
	struct confined *confined;
	double took_s;

	CHECK(check_given_up(LOOPING, CONFINED_LATE_NS) < left_s + 2);
	took_s = check_given_up(CHATTING, CONFINED_LATE_NS);
	CHECK(took_s >= left_s && took_s < left_s + 2);
	/* In the middle of a message, and of replies. */
	CHECK(check_given_up(DRIPPING, CONFINED_END_NS - 1000000000) < 3);
	CHECK(check_given_up(FLOODING, CONFINED_END_NS - 1000000000) < 3);
	confined = start(CONFINED_READER);
	for (enum request request = WORKING; request <= TALKING; request++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};

		stop_before(CONFINED_LATE_NS);
		CHECK(!confined_call(confined, request, NULL, -1, &out, NULL));
	}
	confined_destroy(confined);
	stopped_ns = 0;
}

/* The time is one for all requests. */
static void slow_answers_at_the_end_of_the_run(void)
{
	struct confined *confined = start(CONFINED_READER);
	uint64_t begin_ns = clock_now_ns();
	struct error *err = NULL;

	stop_before(CONFINED_LATE_NS);
	for (int i = 0; i < 12 && !err; i++) {
		_cleanup_(strbuf_deinit) struct strbuf out = {0};

		err = confined_call(confined, WORKING, NULL, -1, &out, NULL);
	}
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK(clock_now_ns() - begin_ns <
	      CONFINED_END_NS - CONFINED_LATE_NS + UINT64_C(2) * 1000000000);
	error_destroy(err);
	confined_destroy(confined);
	stopped_ns = 0;
}

/* A client is not waited for. */
static void client_at_the_end_of_the_run(void)
{
	struct confined *confined = start(CONFINED_CLIENT);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	uint64_t begin_ns = clock_now_ns();
	struct error *err;

	stop_before(CONFINED_LATE_NS - 1);
	err = confined_call(confined, CHATTING, NULL, -1, &out, NULL);
	REQUIRE(err);
	CHECK_CONTAINS(err->message, "the wait was given up");
	CHECK(clock_now_ns() - begin_ns < UINT64_C(2) * 1000000000);
	error_destroy(err);
	confined_destroy(confined);
	stopped_ns = 0;
}

static void killed_while_idle(void)
{
	struct confined *confined = start(CONFINED_READER);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err;

	REQUIRE(!kill(confined_pid(confined), SIGKILL));
	err = confined_call(confined, FAIL, NULL, -1, &out, NULL);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK_CONTAINS(err->message, "signal 9");
	error_destroy(err);
	confined_destroy(confined);
}

/* A reader can have 6 GiB of data. It has mapped some memory already. */
static void memory_is_bounded(void)
{
	struct confined *confined = start(CONFINED_READER);
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct wire wire;

	REQUIRE(!confined_call(confined, MAP_ALL, NULL, -1, &out, NULL));
	wire = wire_read(&out);
	CHECK_INT(wire_get_u32(&wire), IS_SANITIZED ? 64 : 5);
	confined_destroy(confined);
}

int main(void)
{
	RUN(reader_may_not);
	RUN(reader_opens_what_it_may);
	RUN(reader_opens_directories_that_it_may);
	RUN(client_keeps_the_network);
	RUN(client_cannot_use_files_of_root);
	RUN(client_has_few_files);
	RUN(client_writes_no_large_file);
	RUN(a_child_ends_with_its_parent);
	RUN(errors_and_questions);
	RUN(ends_are_told);
	RUN(work_without_end);
	RUN(work_at_the_end_of_the_run);
	RUN(slow_answers_at_the_end_of_the_run);
	RUN(client_at_the_end_of_the_run);
	RUN(killed_while_idle);
	RUN(memory_is_bounded);
	return check_done();
}
