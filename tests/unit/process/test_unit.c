// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/named.h"
#include "process/unit.h"

static void names(void)
{
	CHECK(unit_is_name("redis-server.service"));
	CHECK(unit_is_name("redis@1.service"));
	CHECK(unit_is_name("docker-0a.scope"));
	CHECK(!unit_is_name("redis-server"));
	CHECK(!unit_is_name("system.slice"));
	CHECK(!unit_is_name(".service"));
	CHECK(!unit_is_name("/usr/bin/x.service"));
}

static void lines(void)
{
	static const char unit[] = "a.service";

	CHECK(unit_has(unit, "0::/system.slice/a.service\n"));
	CHECK(unit_has(unit, "0::/a.service"));
	CHECK(unit_has(unit, "12:pids:/\n1:name=systemd:/system.slice/a.service\n"));
	CHECK(unit_has(unit, "0::/system.slice/system-a.slice/a.service/workers\n"));
	CHECK(!unit_has(unit, ""));
	CHECK(!unit_has(unit, "\n"));
	CHECK(!unit_has(unit, "0::/\n"));
	CHECK(!unit_has(unit, "0:"));
	CHECK(!unit_has(unit, "a.service"));
	CHECK(!unit_has(unit, "0::/system.slice/b.service\n"));
	CHECK(!unit_has(unit, "0::/system.slice/aa.service\n"));
	CHECK(!unit_has(unit, "0::/system.slice/a.service2\n"));
	CHECK(!unit_has(unit, "0::/system.slice/a.services\n"));
	/* A hierarchy of a resource says nothing. */
	CHECK(!unit_has(unit, "4:memory:/system.slice/a.service\n"));
	CHECK(!unit_has(unit, "4:name=other:/system.slice/a.service\n"));
}

/* A user, or a process in a container, can have services of any name. */
static void units_in_units(void)
{
	CHECK(!unit_has("a.service", "0::/user.slice/user-1000.slice/user@1000.service/"
				     "app.slice/a.service\n"));
	CHECK(!unit_has("a.service", "0::/system.slice/c.scope/system.slice/a.service"));
	CHECK(unit_has("user@1000.service", "0::/user.slice/user-1000.slice/"
					    "user@1000.service/app.slice/a.service\n"));
}

/* --- a control group ---------------------------------------------------------------- */

static char top[] = "/tmp/memtrace-unit-XXXXXX", slice[64], service[96];

/* Mount version 2 for this process alone, and make a group. */
static void make_group(void)
{
	REQUIRE(mkdtemp(top));
	REQUIRE(!unshare(CLONE_NEWNS));
	REQUIRE(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	REQUIRE(!mount("cgroup2", top, "cgroup2", 0, NULL));
	snprintf(slice, sizeof(slice), "%s/mt%d.slice", top, getpid());
	snprintf(service, sizeof(service), "%s/mt%d.service", slice, getpid());
	REQUIRE(!mkdir(slice, 0755) && !mkdir(service, 0755));
}

static void remove_group(void)
{
	CHECK(!rmdir(service));
	CHECK(!rmdir(slice));
	CHECK(!umount(top));
	CHECK(!rmdir(top));
}

static void enter_group(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", service);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, "0", 1) == 1);
	close(fd);
}

/* A process in the group, which has a child there. Writes both pids. */
static void be_service(int out)
{
	pid_t pids[2] = {getpid()};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter_group();
	pids[1] = fork();
	if (!pids[1]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(1);
	}
	if (write(out, pids, sizeof(pids)) == sizeof(pids))
		pause();
	_exit(1);
}

static void main_process_of_a_unit(void)
{
	struct named_pids found;
	pid_t main_pid, pids[2];
	int ready[2], list[4];
	char unit[64];

	if (geteuid() != 0)
		check_skip("needs root");
	/* The child's child becomes ours at the end. */
	REQUIRE(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	make_group();
	snprintf(unit, sizeof(unit), "mt%d.service", getpid());
	CHECK_INT(unit_find(unit, list, 4), 0);
	REQUIRE(!pipe(ready));
	main_pid = fork();
	REQUIRE(main_pid >= 0);
	if (!main_pid)
		be_service(ready[1]);
	REQUIRE(read(ready[0], pids, sizeof(pids)) == sizeof(pids));
	CHECK_INT(pids[0], main_pid);
	CHECK_INT(unit_find(unit, list, 4), 1);
	CHECK_INT(list[0], main_pid);
	named_find_programs(unit, &found);
	CHECK_INT(found.list.len, 1);
	named_pids_deinit(&found);
	kill(pids[1], SIGKILL);
	kill(main_pid, SIGKILL);
	CHECK_INT(waitpid(main_pid, NULL, 0), main_pid);
	CHECK_INT(waitpid(pids[1], NULL, 0), pids[1]);
	CHECK_INT(unit_find(unit, list, 4), 0);
	close(ready[0]);
	close(ready[1]);
	remove_group();
}

int main(void)
{
	RUN(names);
	RUN(lines);
	RUN(units_in_units);
	RUN(main_process_of_a_unit);
	return check_done();
}
