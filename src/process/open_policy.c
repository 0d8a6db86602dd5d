// SPDX-License-Identifier: Apache-2.0
#include "process/open_policy.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/debug_file.h"
#include "elf/elf_tables.h"
#include "process/file_user.h"
#include "process/stand_in.h"
#include "process/timed_read.h"
#include "util/cleanup.h"
#include "util/file_system.h"
#include "util/open_helper.h"
#include "util/path.h"
#include "util/regular_file.h"

static int refuse(int err)
{
	errno = err;
	return -1;
}

/* Copy the path without empty components and ".", so that prefixes can be compared.
 * `ret` has at least the size of `path`. */
static void simplify(const char *path, char *ret)
{
	char *end = ret;

	while (*path) {
		size_t size = strcspn(path, "/");

		if (size && !(size == 1 && *path == '.')) {
			*end++ = '/';
			memcpy(end, path, size);
			end += size;
		}
		path += size + (path[size] == '/');
	}
	if (end == ret)
		*end++ = '/';
	*end = '\0';
}

/* The rest of the path after `prefix`: "" or starting with "/". NULL: the path is not
 * below `prefix`. */
static const char *below(const char *path, const char *prefix)
{
	size_t size = strlen(prefix);

	while (size && prefix[size - 1] == '/')
		size--;
	if (strncmp(path, prefix, size) != 0 || (path[size] && path[size] != '/'))
		return NULL;
	return path + size;
}

static bool is_debug_path(const struct open_policy *policy, const char *path)
{
	const char *const *dir = policy->debug_dirs;

	if (path_leads_up(path))
		return false;
	if (below(path, DEBUG_SYSTEM_DIR))
		return true;
	for (; dir && *dir; dir++)
		if (below(path, *dir))
			return true;
	return false;
}

/* A perf map of any owner. libbcc would read it whole, and again for each of its
 * caches. Instead symbol/perf_map.c reads it, from the target's root directory. */
static bool is_perf_map(const char *path)
{
	const char *name = strstr(path, "tmp/perf-");

	return name && (name == path || name[-1] == '/') &&
	       !strchr(name + strlen("tmp/"), '/');
}

/* --- /proc/PID --------------------------------------------------------------------- */

/* Find an entry of the process's /proc directory, without following magic links
 * (proc_pid_link(5)). */
static int find_plain(int directory, const char *name, bool no_follow)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, directory, *name ? name : ".", &how,
			    sizeof(how));
}

/* Find a file below the target's root directory. Refused if a link or a mount leads
 * from there to a file system of the kernel: the child may see only its target's
 * /proc/PID. */
static int find_file(int root, const char *path, uint64_t flags)
{
	int place = place_find(root, path, flags);

	if (place < 0 || !file_system_is_of_kernel(place))
		return place;
	close(place);
	return refuse(EACCES);
}

/* From the child's view its root directory is "/", wherever it is: open our own
 * /proc/self/root, whose link says "/". */
static int find_own_root(void)
{
	return open("/proc/self/root", O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static int find_below_root(int directory, const char *path, bool no_follow)
{
	int root, place;

	if (!*path && no_follow)
		return find_own_root();
	root = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !*path)
		return root;
	place = find_file(root, path, no_follow ? O_NOFOLLOW : 0);
	close(root);
	return place;
}

static bool is_magic(const char *name)
{
	return !strcmp(name, "exe") || below(name, "map_files");
}

/* `rest` is the part of the path after the pid: "" or starting with "/". */
static int find_in(int directory, const char *rest, bool no_follow)
{
	const char *name = rest + strspn(rest, "/");
	const char *root = below(name, "root"), *slash;

	if (root)
		return find_below_root(directory, root, no_follow);
	if (is_magic(name) && !path_leads_up(name))
		return openat(directory, name,
			      O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0));
	/* A thread's directory has the same entries. */
	slash = below(name, "task");
	if (slash && *slash && (slash = strchr(slash + 1, '/'))) {
		_cleanup_(freep) char *task = strndup(name, (size_t)(slash - name));
		_cleanup_(closep) int thread =
			task ? find_plain(directory, task, false) : -1;

		return thread < 0 ? -1 : find_in(thread, slash, no_follow);
	}
	return find_plain(directory, name, no_follow);
}

/* Find a file below the root directory of the process. If the process has exited, the
 * path of a mapped file may now lead to another file, which is refused. */
static int find_of_target(const struct proc *proc, const char *path, uint64_t flags)
{
	int place = find_file(proc_root_fd(proc), path, flags);

	if (place < 0 || !proc->stand_in ||
	    !stand_in_is_other(proc->stand_in, path, place))
		return place;
	close(place);
	return refuse(ENOENT);
}

/* Find an entry in the substitute for the /proc/PID of an exited process. The directory
 * of its only thread has the same entries. */
static int find_in_stand_in(const struct proc *proc, unsigned long number,
			    const char *rest, bool no_follow)
{
	const char *name = rest + strspn(rest, "/"), *root = below(name, "root");
	char task[32];
	const char *of_task;

	if (number != (unsigned long)proc->pid)
		return refuse(EACCES);
	snprintf(task, sizeof(task), "task/%d", proc->pid);
	of_task = below(name, task);
	if (of_task && *of_task)
		return find_in_stand_in(proc, number, of_task, no_follow);
	if (!root)
		return stand_in_find(proc->stand_in, name);
	if (!*root && no_follow)
		return find_own_root();
	return *root ? find_of_target(proc, root, no_follow ? O_NOFOLLOW : 0)
		     : fcntl(proc_root_fd(proc), F_DUPFD_CLOEXEC, 0);
}

/* Would the child wait for the lock of the process's address space when it reads the
 * file? Not asked for other threads: they may live for milliseconds, and end meanwhile.
 */
static bool would_wait(const struct proc *proc, int tid, const char *rest)
{
	return tid == proc->pid &&
	       (!strcmp(path_base_name(rest), "maps") || strstr(rest, "/map_files")) &&
	       timed_read_would_wait(proc->pid, tid);
}

/* Find a path below /proc/N, where N is the process or one of its threads. */
static int find_in_proc(const struct proc *proc, const char *path, bool no_follow)
{
	char name[64], *rest;
	unsigned long number = strtoul(path, &rest, 10);
	int place;

	if (rest == path || number > INT_MAX || (*rest && *rest != '/'))
		return refuse(EACCES);
	if (proc->stand_in)
		return find_in_stand_in(proc, number, rest, no_follow);
	if ((int)number != proc->pid && !proc_has_thread(proc->pid, (uint32_t)number))
		return refuse(EACCES);
	if (would_wait(proc, (int)number, rest))
		return refuse(EIO);
	snprintf(name, sizeof(name), "/proc/%lu", number);

	_cleanup_(closep) int directory = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return -1;
	place = find_in(directory, rest, no_follow);
	/* If it has exited, another process may have its pid by now. */
	if (place >= 0 && proc_has_exited(proc)) {
		close(place);
		return refuse(ESRCH);
	}
	return place;
}

/* Find a path relative to a directory that the child has open. No link leads out of a
 * directory of /proc, because RESOLVE_IN_ROOT does not follow magic links
 * (openat2(2)). */
static int find_from(int dir, const char *path, uint64_t flags)
{
	/* symbol/perf_map.c follows no link to it; libbcc would. */
	if (is_perf_map(path) && !(flags & O_NOFOLLOW))
		return refuse(ENOENT);
	return file_system_is_proc(dir) ? place_find(dir, path, flags)
					: find_file(dir, path, flags);
}

/* A link there may lead anywhere, but the kernel's file systems have no debug files. */
static int find_debug(const char *path, uint64_t flags)
{
	int place = place_open(path, flags);

	if (place < 0 || !file_system_is_of_kernel(place))
		return place;
	close(place);
	return refuse(EACCES);
}

static int find_absolute(const struct open_policy *policy, const char *path,
			 bool no_follow)
{
	uint64_t flags = no_follow ? O_NOFOLLOW : 0;
	const char *in_proc = below(path, "/proc");

	if (!strcmp(path, "/dev/null"))
		return place_open(path, flags);
	if (is_debug_path(policy, path))
		return find_debug(path, flags);
	if (!policy->proc)
		return refuse(EACCES);
	if (is_perf_map(path))
		return refuse(ENOENT);
	if (in_proc)
		return *in_proc ? find_in_proc(policy->proc, in_proc + 1, no_follow)
				: refuse(EACCES);
	return find_of_target(policy->proc, path, flags);
}

int open_policy_find(void *arg, int dir, const char *path, bool no_follow)
{
	char simple[PATH_MAX + 1];

	if (strlen(path) >= PATH_MAX)
		return refuse(ENAMETOOLONG);
	if (dir >= 0)
		return find_from(dir, path, no_follow ? O_NOFOLLOW : 0);
	simplify(path, simple);
	return find_absolute(arg, simple, no_follow);
}

/* The file's present name, whatever path led to it; "": unreadable. */
static void read_name(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
}

static bool is_open_perf_map(int fd)
{
	char path[PATH_MAX];

	read_name(fd, path);
	return is_perf_map(path);
}

/* Is `fd` the list of mappings of an exited process? */
static bool is_open_maps(const struct open_policy *policy, int fd)
{
	return policy->proc && policy->proc->stand_in &&
	       stand_in_is_maps(policy->proc->stand_in, fd);
}

/* --- which files are opened -----------------------------------------------------------
 */

/* The way to all other files of the target. */
static bool is_root(const struct proc *proc, const struct stat *st)
{
	struct stat root;

	return S_ISDIR(st->st_mode) && !open_helper_stat(proc_root_fd(proc), "", &root) &&
	       st->st_dev == root.st_dev && st->st_ino == root.st_ino;
}

/* An exited process has no user any more: others' files are then those that all may
 * read. */
static bool is_targets(const struct open_policy *policy, int place, const struct stat *st)
{
	const struct proc *proc = policy->proc;
	struct file_user user = {.uid = UINT_MAX, .gid = UINT_MAX};

	if (!proc->stand_in &&
	    (!file_user_read(proc->pid, &user) || proc_has_exited(proc)))
		return false;
	if (is_open_perf_map(place))
		return file_user_trusts(user.uid, st);
	return is_root(proc, st) || file_user_may_read(&user, st) ||
	       mapped_files_have(policy->mapped, proc, st);
}

bool open_policy_may_open(void *arg, const char *path, int place)
{
	const struct open_policy *policy = arg;
	char simple[PATH_MAX + 1];
	struct stat st;

	if (file_system_is_proc(place) || is_open_maps(policy, place))
		return true;
	if (policy->avoids_servers && open_helper_may_hang(place))
		return false;
	if (open_helper_stat(place, "", &st))
		return false;
	/* Nobody needs a debug directory itself, and a link there may lead anywhere. */
	if (path && !S_ISDIR(st.st_mode)) {
		simplify(path, simple);
		if (is_debug_path(policy, simple))
			return true;
	}
	return policy->proc && is_targets(policy, place, &st);
}

/* Remember the first file that is too large. */
static void note_too_large(struct open_policy *policy, int fd)
{
	char path[PATH_MAX];

	if (policy->too_large)
		return;
	read_name(fd, path);
	policy->too_large = strdup(path);
}

bool open_policy_may_read(void *arg, int fd)
{
	const struct open_policy *policy = arg;
	char magic[SELFMAG];
	enum elf_table_sizes tables;

	if (file_system_is_proc(fd) || is_open_perf_map(fd) || is_open_maps(policy, fd))
		return true;
	if (pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG))
		return false;
	tables = elf_tables_look(fd);
	if (tables == ELF_TABLES_TOO_LARGE)
		note_too_large(arg, fd);
	return tables == ELF_TABLES_MODERATE;
}
