// SPDX-License-Identifier: Apache-2.0
/* Which files a confined process may open: tests the policy with the paths that an
 * attacker would request. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/file_names.h"
#include "process/open_policy.h"
#include "process/stand_in.h"
#include "unit/process/child.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

DEFINE_CLEANUP(struct proc *, proc_close);

static struct mapped_files mapped_files;
static struct open_policy policy = {.mapped = &mapped_files};
static int pid;

static bool finds(const char *path)
{
	_cleanup_(closep) int place = open_policy_find(&policy, -1, path, false);

	return place >= 0;
}

/* Requests a path of the process whose turn it is. */
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
	CHECK(finds_own("/./proc/%d/maps"));
}

/* Each thread of a process has the same files. */
static void gives_them_by_threads(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/root/etc/passwd", pid, pid);
	CHECK(finds(path));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, pid);
	CHECK(finds(path));
	snprintf(path, sizeof(path), "/proc/%d/task/1/maps", pid);
	CHECK(!finds(path));
}

/* While the policy serves no process, only debug files and /dev/null can be opened. */
static void gives_debug_files_and_null_to_nobody(void)
{
	char dir[] = "/tmp/memtrace-policy-XXXXXX", file[64], up[64], beside[64];
	const char *const dirs[] = {dir, NULL};
	const struct open_policy no_process = {.debug_dirs = dirs}, kept = policy;
	_cleanup_(closep) int fd = -1;

	REQUIRE(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(up, sizeof(up), "%s/../../etc/passwd", dir);
	snprintf(beside, sizeof(beside), "%s-beside", dir);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && !link(file, beside));
	policy = no_process;
	CHECK(finds("/dev/null"));
	CHECK(finds(file));
	CHECK(!finds(up));
	CHECK(!finds(beside));
	CHECK(!finds("/etc/passwd"));
	CHECK(!finds_own("/proc/%d/maps"));
	policy = kept;
	unlink(file);
	unlink(beside);
	rmdir(dir);
}

/* The owner of a debug directory may put links there. */
static void follows_no_link_to_the_kernel(void)
{
	char dir[] = "/tmp/memtrace-policy-XXXXXX", to_memory[64], to_file[64];
	const char *const dirs[] = {dir, NULL};
	const struct open_policy kept = policy;

	REQUIRE(mkdtemp(dir));
	snprintf(to_memory, sizeof(to_memory), "%s/memory", dir);
	snprintf(to_file, sizeof(to_file), "%s/file", dir);
	REQUIRE(!symlink("/proc/1/mem", to_memory) && !symlink("/etc/passwd", to_file));
	policy.debug_dirs = dirs;
	CHECK(!finds(to_memory));
	CHECK(finds(to_file));
	policy = kept;
	unlink(to_memory);
	unlink(to_file);
	rmdir(dir);
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
	CHECK(!finds_own("/proc/%d/map_files/../../1/mem"));
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

	_cleanup_(closep) int place = open_policy_find(&policy, -1, path, true);
	struct stat st;

	/* The link itself, if that is requested. */
	REQUIRE(place >= 0 && !fstat(place, &st));
	CHECK(S_ISLNK(st.st_mode));
	unlink(path);
	rmdir(dir);
}

/* A directory that the child got may be the start of a path. */
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

/* A header of an ELF file without sections, but for its first bytes. */
static bool may_read_header(const char *magic)
{
	Elf64_Ehdr header = {
		.e_ident = {[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB}};
	_cleanup_(closep) int fd = memfd_create("header", MFD_CLOEXEC);

	memcpy(header.e_ident, magic, SELFMAG);
	REQUIRE(fd >= 0 && write(fd, &header, sizeof(header)) == sizeof(header));
	return open_policy_may_read(&policy, fd);
}

static void reads_elf_files_alone(void)
{
	CHECK(may_read("/proc/self/exe"));
	CHECK(may_read_header(ELFMAG));
	CHECK(!may_read_header("\177EL "));
	CHECK(may_read("/proc/self/maps"));
	CHECK(!may_read("/etc/passwd"));
	CHECK(!may_read("/dev/null"));
}

/* --- what is opened at all ---------------------------------------------------------- */

#define TARGET 12345 /* user and group of the target */
#define OTHER  12346 /* its supplementary group, and another user */

/* May the target's files be opened? `path` is what the child asked for. */
static bool may_open(const char *path)
{
	_cleanup_(closep) int place = open_policy_find(&policy, -1, path, false);

	return place >= 0 && open_policy_may_open(&policy, path, place);
}

static bool may_open_with(const char *path, mode_t mode, unsigned uid, unsigned gid)
{
	REQUIRE(!chown(path, uid, gid) && !chmod(path, mode));
	return may_open(path);
}

static void become_user(void *arg)
{
	const gid_t other = OTHER;
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	REQUIRE(!setgroups(1, &other));
	REQUIRE(fd >= 0 && !setresgid(TARGET, TARGET, TARGET) &&
		!setresuid(TARGET, TARGET, TARGET));
	REQUIRE(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) !=
		MAP_FAILED);
}

/* A child is the target of `policy` and `pid` meanwhile. */
struct other_target {
	struct open_policy policy; /* before */
	int pid;                   /* likewise */
	struct proc *proc;
	struct child child;
};

static struct other_target target_begin(void (*body)(void *), void *arg)
{
	struct other_target t = {.policy = policy, .pid = pid};

	mapped_files_deinit(&mapped_files);
	t.child = child_fork(body, arg);
	pid = t.child.pid;
	REQUIRE(!proc_open(pid, &t.proc));
	policy.proc = t.proc;
	return t;
}

static void target_end(struct other_target *t)
{
	policy = t->policy;
	pid = t->pid;
	child_end(&t->child);
	proc_close(t->proc);
	mapped_files_deinit(&mapped_files);
}

/* A target without privileges, and files; it may read some of them. */
static void opens_what_the_target_may_read(void)
{
	char dir[] = "/tmp/memtrace-policy-XXXXXX", file[64], mapped[64], debug[64];
	const char *const dirs[] = {debug, NULL};
	struct other_target target;

	if (geteuid())
		return;
	REQUIRE(mkdtemp(dir) && !chmod(dir, 0755));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(mapped, sizeof(mapped), "%s/mapped", dir);
	snprintf(debug, sizeof(debug), "%s/", dir);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(open(mapped, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	target = target_begin(become_user, mapped);

	CHECK(may_open_with(file, 0644, 0, 0));
	CHECK(!may_open_with(file, 0600, 0, 0));
	CHECK(may_open_with(file, 0600, TARGET, 0));
	CHECK(!may_open_with(file, 0044, TARGET, 0));
	CHECK(may_open_with(file, 0640, 0, TARGET));
	CHECK(may_open_with(file, 0640, 0, OTHER));
	CHECK(!may_open_with(file, 0604, 0, OTHER));
	CHECK(!may_open_with(file, 0600, OTHER, 0));
	/* A mapped file, even if the target may not read it. */
	CHECK(may_open(mapped));
	/* Files of its /proc/PID, and debug files of the machine. */
	snprintf(mapped, sizeof(mapped), "/proc/%d/maps", pid);
	CHECK(may_open(mapped));
	policy.debug_dirs = dirs;
	CHECK(may_open_with(file, 0600, 0, 0));
	/* Not from a directory that the child has open. */
	{
		_cleanup_(closep) int place = open(file, O_PATH | O_CLOEXEC);

		CHECK(!open_policy_may_open(&policy, NULL, place));
		policy.proc = NULL;
		CHECK(!open_policy_may_open(&policy, NULL, place));
	}
	target_end(&target);
	snprintf(mapped, sizeof(mapped), "%s/mapped", dir);
	unlink(file);
	unlink(mapped);
	rmdir(dir);
}

/* The child could list a directory that it gets. */
static void opens_directories_that_the_target_may_list(void)
{
	char program[] = "/bin/true", dir[] = "/tmp/memtrace-policy-XXXXXX";
	const char *const dirs[] = {dir, NULL};
	struct other_target target;

	if (geteuid())
		return;
	REQUIRE(mkdtemp(dir));
	target = target_begin(become_user, program);

	CHECK(may_open_with(dir, 0755, 0, 0));
	CHECK(!may_open_with(dir, 0700, 0, 0));
	CHECK(!may_open_with(dir, 0711, 0, 0));
	CHECK(may_open_with(dir, 0700, TARGET, TARGET));
	CHECK(may_open("/"));
	/* A link in a debug directory may lead to it. */
	policy.debug_dirs = dirs;
	CHECK(!may_open_with(dir, 0700, 0, 0));
	target_end(&target);
	rmdir(dir);
}

static void enter_private_root(void *dir)
{
	REQUIRE(!chroot(dir) && !chdir("/"));
	REQUIRE(!setresgid(TARGET, TARGET, TARGET) && !setresuid(TARGET, TARGET, TARGET));
}

/* All of the target's files are found from its root directory. */
static void opens_the_root_directory(void)
{
	char dir[] = "/tmp/memtrace-policy-XXXXXX";
	struct other_target target;

	if (geteuid())
		return;
	REQUIRE(mkdtemp(dir) && !chmod(dir, 0711));
	target = target_begin(enter_private_root, dir);
	CHECK(may_open("/"));
	target_end(&target);
	rmdir(dir);
}

/* A name like a perf map's, for a file that only root may read, as by a bind mount. */
static void opens_no_perf_map_that_its_user_may_not_read(void)
{
	const struct open_policy kept = policy;
	_cleanup_(proc_closep) struct proc *proc = NULL;
	_cleanup_(closep) int fd = -1;
	struct child child;
	char path[64];

	if (geteuid())
		return;
	child = child_fork(become_user, "/dev/zero");
	REQUIRE(!proc_open(child.pid, &proc));
	policy.proc = proc;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child.pid);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0640);
	REQUIRE(fd >= 0);
	CHECK(!open_policy_may_open(&policy, NULL, fd));
	REQUIRE(!fchmod(fd, 0644));
	CHECK(open_policy_may_open(&policy, NULL, fd));
	REQUIRE(!fchmod(fd, 0600) && !fchown(fd, TARGET, TARGET));
	CHECK(open_policy_may_open(&policy, NULL, fd));
	policy = kept;
	child_end(&child);
	unlink(path);
}

/* The perf map must belong to root or to the target's user. */
static void opens_perf_maps_of_the_target(void)
{
	char path[64];
	_cleanup_(closep) int fd = -1;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	CHECK(open_policy_may_open(&policy, NULL, fd));
	if (!geteuid()) {
		REQUIRE(!fchown(fd, OTHER, OTHER) && !fchmod(fd, 0644));
		CHECK(!open_policy_may_open(&policy, NULL, fd));
	}
	unlink(path);
}

/* symbol/perf_map.c requests such a file by a descriptor of its directory. */
static void keeps_perf_maps_from_paths(void)
{
	char path[64], below[128];
	_cleanup_(closep) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int fd = -1;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	snprintf(below, sizeof(below), "/proc/%d/root%s", pid, path);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	CHECK(!finds(path));
	CHECK(!finds(below));
	CHECK(open_policy_may_read(&policy, fd));
	for (int no_follow = 0; no_follow < 2; no_follow++) {
		_cleanup_(closep) int place =
			open_policy_find(&policy, root, path + 1, no_follow);

		CHECK_INT(place >= 0, no_follow);
	}
	unlink(path);
}

/* The pid may already be another process's. Here the child has ended and keeps it. */
static void keeps_what_has_exited(void)
{
	siginfo_t info;

	CHECK(finds_own("/proc/%d/status"));
	REQUIRE(!kill(pid, SIGKILL));
	REQUIRE(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	CHECK(!finds_own("/proc/%d/status"));
}

/* --- stand-ins for processes that are gone ---------------------------------------- */

/* Like the kernel's, these paths lead through no link. */
#define LS  "/usr/bin/ls"
#define CAT "/usr/bin/cat"

static struct proc_mapping mapping_of(const char *path, uint64_t start)
{
	struct proc_mapping m = {
		.start = start, .end = start + 4096, .path = (char *)path};
	struct file_names names;

	REQUIRE(file_names_of_path(path, &names));
	m.inode = names.listed.inode;
	m.dev_major = names.listed.dev_major;
	m.dev_minor = names.listed.dev_minor;
	return m;
}

/* A stand-in with a program and a library. The library's path now leads to another
 * file. */
static struct proc *make_stand_in(int number)
{
	struct proc_mapping listed[] = {mapping_of(LS, 0x1000), mapping_of(CAT, 0x9000)};
	struct proc_maps maps = {.mappings = {listed, 2, 2}};
	_cleanup_(closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stand_in *stand_in;
	struct proc *ret;

	listed[0].inode++;
	REQUIRE(root >= 0);
	REQUIRE(!stand_in_create(&maps, &listed[1], root, &stand_in));
	REQUIRE(!proc_adopt_stand_in(number, "gone", stand_in, &ret));
	return ret;
}

/* If the pid now belongs to another process, no file of that process is opened. */
static void gives_what_stands_for_one_that_is_gone(void)
{
	_cleanup_(proc_closep) struct proc *gone = make_stand_in(getpid());
	const struct proc *kept = policy.proc;
	int kept_pid = pid;
	char text[512] = "", want[160];
	struct proc_maps maps;
	int place, fd;

	policy.proc = gone;
	pid = getpid();
	CHECK(!proc_has_exited(gone));
	CHECK(finds_own("/proc/%d/exe"));
	CHECK(finds_own("/proc/%d/map_files/9000-a000"));
	CHECK(finds_own("/proc/%d/root" CAT));
	CHECK(finds(CAT));
	CHECK(finds("/etc/passwd"));
	/* Its user is unknown now. */
	CHECK(may_open(CAT) && may_open("/etc/passwd"));
	CHECK(!may_open("/etc/shadow"));
	/* Another file than the mapped one. */
	CHECK(!finds_own("/proc/%d/map_files/1000-2000"));
	CHECK(!finds_own("/proc/%d/root" LS));
	CHECK(!finds(LS));
	CHECK(!finds_own("/proc/%d/map_files/9000-b000"));
	CHECK(!finds_own("/proc/%d/map_files/9000-a000x"));
	CHECK(!finds_own("/proc/%d/map_files/../mem"));
	CHECK(!finds_own("/proc/%d/status"));
	CHECK(!finds_own("/proc/%d/mem"));
	CHECK(!finds_own("/proc/%d/cwd"));
	CHECK(!finds_own("/proc/%d/root/proc/1/mem"));
	CHECK(!finds("/proc/1/maps"));
	CHECK(!finds("/proc/self/maps"));

	snprintf(text, sizeof(text), "/proc/%d/task/%d/maps", pid, pid);
	CHECK(finds(text));
	snprintf(text, sizeof(text), "/proc/%d/maps", pid);
	place = open_policy_find(&policy, -1, text, false);
	fd = regular_file_reopen(place);
	REQUIRE(fd >= 0);
	CHECK(open_policy_may_read(&policy, fd));
	memset(text, 0, sizeof(text));
	REQUIRE(read(fd, text, sizeof(text) - 1) > 0);
	REQUIRE(!proc_read_maps(gone, &maps));
	snprintf(want, sizeof(want), "9000-a000 r-xp 00000000 %02x:%02x %llu " CAT "\n",
		 maps.mappings.data[1].dev_major, maps.mappings.data[1].dev_minor,
		 (unsigned long long)maps.mappings.data[1].inode);
	CHECK(strstr(text, want));
	/* The file is read-only. */
	CHECK(pwrite(fd, "x", 1, 0) < 0);
	policy.proc = kept;
	pid = kept_pid;
	CHECK(!open_policy_may_read(&policy, fd));
	proc_maps_deinit(&maps);
	close(place);
	close(fd);
}

int main(void)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;

	struct child child = child_fork(NULL, NULL);

	pid = child.pid;
	REQUIRE(!proc_open(pid, &proc));
	policy.proc = proc;
	RUN(gives_what_names_are_read_from);
	RUN(gives_them_by_threads);
	RUN(gives_debug_files_and_null_to_nobody);
	RUN(follows_no_link_to_the_kernel);
	RUN(keeps_other_processes);
	RUN(follows_no_link_there);
	RUN(keeps_them_from_directories);
	RUN(reads_elf_files_alone);
	RUN(keeps_perf_maps_from_paths);
	RUN(opens_what_the_target_may_read);
	RUN(opens_directories_that_the_target_may_list);
	RUN(opens_the_root_directory);
	RUN(opens_perf_maps_of_the_target);
	RUN(opens_no_perf_map_that_its_user_may_not_read);
	RUN(gives_what_stands_for_one_that_is_gone);
	RUN(keeps_what_has_exited);
	child_end(&child);
	mapped_files_deinit(&mapped_files);
	return check_done();
}
