// SPDX-License-Identifier: Apache-2.0
/* What a confined child may do, and what it may not. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confined/confined.h"
#include "confined/shed.h"
#include "process_state.h"
#include "unit/confined/confined_child.h"
#include "unit/confined/confined_parent.h"
#include "util/cleanup.h"
#include "util/sanitized.h"

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
	RUN(errors_and_questions);
	RUN(memory_is_bounded);
	return check_done();
}
