// SPDX-License-Identifier: Apache-2.0
/* Which files a process maps: asked often, read seldom. */
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/mapped_files.h"
#include "util/cleanup.h"

static struct proc *self; /* a process with our mappings */

/* A new file, open. */
static int make(struct stat *st)
{
	char path[] = "/tmp/memtrace-mapped-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	REQUIRE(fd >= 0 && !ftruncate(fd, 4096) && !fstat(fd, st));
	unlink(path);
	return fd;
}

static void *map(int fd)
{
	void *ret = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	REQUIRE(ret != MAP_FAILED);
	return ret;
}

static void knows_what_is_mapped(void)
{
	struct mapped_files files = {.read_ns = 0};
	struct stat mapped, other;
	_cleanup_(closep) int a = make(&mapped);
	_cleanup_(closep) int b = make(&other);
	void *at = map(a);

	/* It stays open, so that no other file gets its number. */
	CHECK(b >= 0);
	CHECK(mapped_files_have(&files, self, &mapped));
	CHECK(!mapped_files_have(&files, self, &other));
	mapped_files_deinit(&files);
	munmap(at, 4096);
}

/* A file that is not there is looked for again only after a while, and then found. */
static void reads_the_mappings_now_and_then(void)
{
	struct mapped_files files = {.read_ns = 0};
	struct stat first, later;
	_cleanup_(closep) int a = make(&first), b = make(&later);
	void *at = map(a), *after;
	uint64_t read_ns;

	CHECK(mapped_files_have(&files, self, &first));
	after = map(b);
	read_ns = files.read_ns;
	files.cost_ns = UINT64_C(3600) * 1000000000;
	CHECK(!mapped_files_have(&files, self, &later));
	CHECK(files.read_ns == read_ns);
	files.cost_ns = 1;
	CHECK(mapped_files_have(&files, self, &later));
	CHECK(files.read_ns > read_ns);
	mapped_files_deinit(&files);
	munmap(at, 4096);
	munmap(after, 4096);
}

/* A file that is mapped by many ranges is one file. */
static void keeps_each_file_once(void)
{
	struct mapped_files files = {.read_ns = 0};
	struct stat st;
	_cleanup_(closep) int fd = make(&st);
	void *at[64];
	unsigned found = 0;

	for (int i = 0; i < 64; i++)
		at[i] = map(fd);
	CHECK(mapped_files_have(&files, self, &st));
	vec_foreach (file, &files.list)
		found += file->inode == st.st_ino;
	CHECK_INT(found, 1);
	CHECK(files.cost_ns > 0);
	for (int i = 0; i < 64; i++)
		munmap(at[i], 4096);
	mapped_files_deinit(&files);
}

_Noreturn static int wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	/* Another process, because a process does not open itself, with our memory. */
	pid_t pid = clone(wait_for_ever, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	REQUIRE(pid > 0 && !proc_open(pid, &self));
	RUN(knows_what_is_mapped);
	RUN(reads_the_mappings_now_and_then);
	RUN(keeps_each_file_once);
	proc_close(self);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return check_done();
}
