// SPDX-License-Identifier: Apache-2.0
/* Which files a confined process gets: the policy itself, asked with the paths that an
 * attacker would ask for. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "target/open_policy.h"
#include "unit/target/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

static struct open_policy policy;
static int pid;

static bool finds(const char *path)
{
	_cleanup_(closep) int place = open_policy_find(&policy, -1, path, false);

	return place >= 0;
}

/* Own: the process whose turn it is. */
static bool finds_own(const char *format)
{
	char path[128];

	snprintf(path, sizeof(path), format, pid);
	return finds(path);
}

static void gives_what_names_are_read_from(void)
{
	CHECK(finds_own("/proc/%d/maps"));
	CHECK(finds_own("/proc/%d/root/etc/passwd"));
	CHECK(finds_own("/proc/%d/root"));
	CHECK(finds_own("/proc/%d/exe"));
	CHECK(finds("/etc/passwd"));
	CHECK(finds("/usr/../etc//./passwd"));
	CHECK(finds("/dev/null"));
}

static void keeps_other_processes(void)
{
	static const char *const paths[] = {
		"/proc/1/mem",
		"//proc/1/mem",
		"/./proc/1/mem",
		"/proc//1/mem",
		"/etc/../proc/1/mem",
		"/proc/self/../1/mem",
		"/proc/self/mem",
		"/proc/kcore",
		"/proc",
		"/proc/sysrq-trigger",
		"/sys/kernel/btf/vmlinux",
		"//sys/kernel/tracing/trace",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (finds(paths[i]))
			CHECK_FAIL("%s is found", paths[i]);
	CHECK(!finds_own("/proc/%d/../1/mem"));
	CHECK(!finds_own("/proc/%d/root/proc/1/mem"));
	CHECK(!finds_own("/proc/%d/cwd/."));
	CHECK(!finds_own("/proc/%d/fd/0"));
}

static void follows_no_link_there(void)
{
	char dir[] = "/tmp/memtrace-policy-XXXXXX", path[64];

	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/link", dir);
	REQUIRE(!symlink("/proc/1/mem", path));
	CHECK(!finds(path));
	unlink(path);
	REQUIRE(!symlink("/etc/passwd", path));
	CHECK(finds(path));
	unlink(path);
	rmdir(dir);
}

/* A directory that it was given is a place to start from. */
static void keeps_them_from_directories(void)
{
	_cleanup_(closep) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int place = -1, own = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(root >= 0 && own >= 0);
	CHECK(open_policy_find(&policy, root, "proc/1/mem", false) < 0);
	CHECK(open_policy_find(&policy, root, "proc", false) < 0);
	CHECK(open_policy_find(&policy, own, "root/etc/passwd", false) < 0);
	CHECK(open_policy_find(&policy, own, "../1/mem", false) < 0);
	place = open_policy_find(&policy, own, "maps", false);
	CHECK(place >= 0);
}

static bool may_read(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	return open_policy_may_read(&policy, fd);
}

static void reads_elf_files_alone(void)
{
	CHECK(may_read("/proc/self/exe"));
	CHECK(may_read("/proc/self/maps"));
	CHECK(!may_read("/etc/passwd"));
	CHECK(!may_read("/dev/null"));
}

int main(void)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;

	struct child child = child_fork(NULL, NULL);

	pid = child.pid;
	REQUIRE(!proc_open(pid, &proc));
	policy.proc = proc;
	RUN(gives_what_names_are_read_from);
	RUN(keeps_other_processes);
	RUN(follows_no_link_there);
	RUN(keeps_them_from_directories);
	RUN(reads_elf_files_alone);
	child_end(&child);
	return check_done();
}
