// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/named.h"

#define FOUND_MAX 64

/* A child of this name, which waits to be killed. */
static pid_t start(const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_in(int pid, const int list[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == pid)
			return true;
	return false;
}

static void by_name(void)
{
	pid_t pid = start("mt-named-test");
	int found[FOUND_MAX];

	CHECK_INT(named_find("mt-named-test", found, FOUND_MAX), 1);
	CHECK_INT(found[0], pid);
	CHECK_INT(named_find("mt-named-tes", found, FOUND_MAX), 0);
	CHECK_INT(named_find("", found, FOUND_MAX), 0);
	CHECK_INT(named_find_containing("t-named-tes", found, FOUND_MAX), 1);
	CHECK_INT(found[0], pid);
	CHECK_INT(named_find_containing("mt-named-test", found, FOUND_MAX), 0);
	CHECK_INT(named_find_containing("", found, FOUND_MAX), 0);
	CHECK(named_has_program(pid));
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	/* It was not waited for. */
	CHECK_INT(named_find("mt-named-test", found, FOUND_MAX), 1);
	CHECK(!named_has_program(pid));
	stop(pid);
	CHECK_INT(named_find("mt-named-test", found, FOUND_MAX), 0);
	CHECK(!named_has_program(pid));
}

/* The name does not count, and neither does this process. */
static void by_program(void)
{
	char path[PATH_MAX + 1] = "", other[PATH_MAX + 8];
	pid_t pid = start("another-name");
	int found[FOUND_MAX];
	size_t count;

	REQUIRE(readlink("/proc/self/exe", path, PATH_MAX) > 0);
	count = named_find_executable(path, found, FOUND_MAX);
	CHECK(is_in(pid, found, count));
	CHECK(!is_in(getpid(), found, count));
	snprintf(other, sizeof(other), "%sx", path);
	CHECK_INT(named_find_executable(other, found, FOUND_MAX), 0);
	CHECK_INT(named_find_executable("", found, FOUND_MAX), 0);
	/* A process that has ended, but was not waited for, has no program. */
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	count = named_find_executable(path, found, FOUND_MAX);
	CHECK(!is_in(pid, found, count));
	stop(pid);
}

#define MANY 300

/* More than a list of fixed size would have room for. */
static void all_of_many(void)
{
	pid_t children[MANY];
	struct named_pids found;

	for (int i = 0; i < MANY; i++)
		children[i] = start("mt-named-many");
	kill(children[0], SIGKILL);
	waitid(P_PID, (id_t)children[0], &(siginfo_t){0}, WEXITED | WNOWAIT);
	named_find_programs("mt-named-many", &found);
	CHECK_INT(found.list.len, MANY - 1);
	for (int i = 1; i < MANY; i++)
		CHECK(is_in(children[i], found.list.data, found.list.len));
	for (size_t i = 1; i < found.list.len; i++)
		CHECK(found.list.data[i - 1] < found.list.data[i]);
	named_pids_deinit(&found);
	for (int i = 0; i < MANY; i++)
		stop(children[i]);
	named_find_programs("mt-named-many", &found);
	CHECK_INT(found.list.len, 0);
	named_pids_deinit(&found);
	named_find_programs("/mt-named/many", &found);
	CHECK_INT(found.list.len, 0);
	named_pids_deinit(&found);
}

int main(void)
{
	RUN(by_name);
	RUN(by_program);
	RUN(all_of_many);
	return check_done();
}
