// SPDX-License-Identifier: Apache-2.0
#include "process/unit.h"

#include <string.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/ends_with.h"

/* Other units, such as slices, are groups of units. */
static bool has_processes(const char *name, size_t len)
{
	return ends_with(name, len, ".service") || ends_with(name, len, ".scope");
}

bool unit_is_name(const char *name)
{
	return !strchr(name, '/') && has_processes(name, strlen(name));
}

/* Is the first service or scope of the path, which ends at `end`, the unit? */
static bool path_leads_to(const char *path, const char *end, const char *unit)
{
	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t len = (size_t)((slash ? slash : end) - path);

		if (has_processes(path, len))
			return len == strlen(unit) && !memcmp(path, unit, len);
		path += len + 1;
	}
	return false;
}

/* The path in the hierarchy of the service manager: of version 2, or the one named
 * systemd. NULL: another hierarchy. */
static const char *managed_path(const char *line, const char *end)
{
	static const char named[] = ":name=systemd:";
	const char *colon = memchr(line, ':', (size_t)(end - line));

	if (!colon)
		return NULL;
	if (end - colon >= 2 && colon[1] == ':')
		return colon + 2;
	return (size_t)(end - colon) >= strlen(named) &&
			       !memcmp(colon, named, strlen(named))
		       ? colon + strlen(named)
		       : NULL;
}

bool unit_has(const char *unit, const char *cgroups)
{
	while (*cgroups) {
		const char *end = strchrnul(cgroups, '\n');
		const char *path = managed_path(cgroups, end);

		if (path && path_leads_to(path, end, unit))
			return true;
		cgroups = *end ? end + 1 : end;
	}
	return false;
}

static bool is_in(const char *unit, int pid)
{
	_cleanup_(freep) char *cgroups = NULL;
	size_t size;

	return !procfs_read(pid, "cgroup", PROCFS_SMALL_BYTES, &cgroups, &size) &&
	       unit_has(unit, cgroups);
}

static int parent_of(int pid)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat stat;
	size_t size;

	return !procfs_read(pid, "stat", PROCFS_SMALL_BYTES, &text, &size) &&
			       procfs_parse_stat(text, &stat)
		       ? stat.parent
		       : 0;
}

size_t unit_find(const char *unit, int ret[], size_t max)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	size_t count = 0;

	if (!dir)
		return 0;
	for (int pid; count < max && (pid = proc_next(dir));)
		if (pid != getpid() && is_in(unit, pid) && !is_in(unit, parent_of(pid)))
			ret[count++] = pid;
	return count;
}
