// SPDX-License-Identifier: Apache-2.0
#include "target/open_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/debug_file.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

static int refuse(int err)
{
	errno = err;
	return -1;
}

/* What follows `prefix` in the path, from its "/" on or ""; NULL: it lies elsewhere. */
static const char *below(const char *path, const char *prefix)
{
	size_t size = strlen(prefix);

	while (size && prefix[size - 1] == '/')
		size--;
	if (strncmp(path, prefix, size) != 0 || (path[size] && path[size] != '/'))
		return NULL;
	return path + size;
}

static bool leads_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2) {
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	}
	return false;
}

static bool is_debug_path(const struct open_policy *policy, const char *path)
{
	const char *const *dir = policy->debug_dirs;

	if (leads_up(path))
		return false;
	if (below(path, DEBUG_SYSTEM_DIR))
		return true;
	for (; dir && *dir; dir++)
		if (below(path, *dir))
			return true;
	return false;
}

/* libbcc reads the whole of such a file, whoever has made it, and again for each of its
 * caches. symbol/perf_map.c reads it in its own way, from the target's root directory. */
static bool is_perf_map(const char *path)
{
	const char *name = strstr(path, "/tmp/perf-");

	return name && !strchr(name + strlen("/tmp/"), '/');
}

/* --- /proc/PID ------------------------------------------------------------------------
 */

/* An entry of the process's directory that is no magic link (proc_pid_link(5)). */
static int find_plain(int directory, const char *name, bool no_follow)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, directory, *name ? name : ".", &how,
			    sizeof(how));
}

static int find_below_root(int directory, const char *path, bool no_follow)
{
	int root, place;

	/* To the child its root directory is "/", wherever it lies. So says ours. */
	if (!*path && no_follow)
		return open("/proc/self/root", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	root = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !*path)
		return root;
	place = place_find(root, path, no_follow ? O_NOFOLLOW : 0);
	close(root);
	return place;
}

static bool is_magic(const char *name)
{
	return !strcmp(name, "exe") || below(name, "map_files");
}

/* `rest` is what follows the number: "" or from a "/" on. */
static int find_in(int directory, const char *rest, bool no_follow)
{
	const char *name = rest + strspn(rest, "/");
	const char *root = below(name, "root"), *slash;

	if (root)
		return find_below_root(directory, root, no_follow);
	if (is_magic(name) && !leads_up(name))
		return openat(directory, name,
			      O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0));
	/* A thread's directory has the same. */
	slash = below(name, "task");
	if (slash && *slash && (slash = strchr(slash + 1, '/'))) {
		_cleanup_(freep) char *task = strndup(name, (size_t)(slash - name));
		_cleanup_(closep) int thread =
			task ? find_plain(directory, task, false) : -1;

		return thread < 0 ? -1 : find_in(thread, slash, no_follow);
	}
	return find_plain(directory, name, no_follow);
}

/* The number is that of the process or of a thread of it. */
static int find_in_proc(const struct proc *proc, const char *path, bool no_follow)
{
	char name[64], *rest;
	unsigned long number = strtoul(path, &rest, 10);
	int place;

	if (rest == path || number > INT_MAX || (*rest && *rest != '/'))
		return refuse(EACCES);
	if ((int)number != proc->pid && !proc_has_thread(proc->pid, (uint32_t)number))
		return refuse(EACCES);
	snprintf(name, sizeof(name), "/proc/%lu", number);

	_cleanup_(closep) int directory = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return -1;
	place = find_in(directory, rest, no_follow);
	/* Else the number may be another process's by now. */
	if (place >= 0 && proc_has_exited(proc)) {
		close(place);
		return refuse(ESRCH);
	}
	return place;
}

int open_policy_find(void *arg, int dir, const char *path, bool no_follow)
{
	const struct open_policy *policy = arg;
	uint64_t flags = no_follow ? O_NOFOLLOW : 0;
	const char *in_proc = below(path, "/proc");

	/* A directory that it has got from here. */
	if (dir >= 0)
		return place_find(dir, path, flags);
	if (!strcmp(path, "/dev/null") || is_debug_path(policy, path))
		return open(path, O_PATH | O_CLOEXEC | (int)flags);
	if (!policy->proc)
		return refuse(EACCES);
	if (is_perf_map(path))
		return refuse(ENOENT);
	if (in_proc)
		return *in_proc ? find_in_proc(policy->proc, in_proc + 1, no_follow)
				: refuse(EACCES);
	return place_find(proc_root_fd(policy->proc), path, flags);
}
