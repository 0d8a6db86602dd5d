// SPDX-License-Identifier: Apache-2.0
#include "output/debug_packages.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"

#define LISTS_MAX_BYTES ((size_t)64 << 20)
#define LIST_MAX_BYTES  ((off_t)8 << 20)
#define LISTS_MAX_NS    INT64_C(300000000)

/* More paths are not looked up. */
#define PATHS_MAX 8

#define SUFFIX    ".list"

#define NS_PER_S  INT64_C(1000000000)

struct lookup {
	const char *const *paths;
	size_t count;
	char **ret;
	size_t missing; /* paths without a package */
	char *bytes;    /* a list, with a newline before and behind it */
	size_t cap;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool is_directory(const char *root, const char *path)
{
	char full[512];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	return !stat(full, &st) && S_ISDIR(st.st_mode);
}

enum package_system packages_system(const char *root)
{
	if (is_directory(root, "var/lib/dpkg/info"))
		return PACKAGES_DPKG;
	if (is_directory(root, "var/lib/rpm") ||
	    is_directory(root, "usr/lib/sysimage/rpm"))
		return PACKAGES_RPM;
	return PACKAGES_UNKNOWN;
}

/* Is `path` one of the lines? */
static bool has_line(const struct lookup *l, size_t len, const char *path)
{
	size_t path_len = strlen(path);
	const char *at = l->bytes, *end = l->bytes + len;

	while ((at = memmem(at, (size_t)(end - at), path, path_len))) {
		if (at[-1] == '\n' && at[path_len] == '\n')
			return true;
		at++;
	}
	return false;
}

static bool owns(const struct lookup *l, size_t len, const char *path)
{
	static const char usr[] = "/usr/";

	return has_line(l, len, path) || (!strncmp(path, usr, strlen(usr)) &&
					  has_line(l, len, path + strlen(usr) - 1));
}

/* Read a list. Returns its length with the newlines; 0: it cannot be read. */
static size_t read_list(struct lookup *l, int dir, const char *name)
{
	_cleanup_(closep) int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	size_t size, len = 1;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size > LIST_MAX_BYTES)
		return 0;
	size = (size_t)st.st_size;
	if (size + 2 > l->cap) {
		char *bytes = realloc(l->bytes, size + 2);

		if (!bytes)
			return 0;
		l->bytes = bytes;
		l->cap = size + 2;
	}
	l->bytes[0] = '\n';
	while (len <= size && (got = read(fd, l->bytes + len, size + 1 - len)) > 0)
		len += (size_t)got;
	l->bytes[len] = '\n';
	return len + 1;
}

/* "libc6:amd64.list" is of the package libc6. */
static char *package_of(const char *name)
{
	size_t len = strlen(name) - strlen(SUFFIX), colon = strcspn(name, ":");

	return strndup(name, colon < len ? colon : len);
}

static void look_into(struct lookup *l, const char *name, size_t len)
{
	for (size_t i = 0; i < l->count; i++) {
		/* A path with a newline would be two lines. */
		if (l->ret[i] || strchr(l->paths[i], '\n') || l->paths[i][0] != '/' ||
		    !owns(l, len, l->paths[i]))
			continue;
		l->ret[i] = package_of(name);
		l->missing--;
	}
}

static bool is_list(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) && !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

void packages_find(const char *root, const char *const paths[], size_t count, char *ret[])
{
	struct lookup l = {.paths = paths, .ret = ret};
	int64_t until_ns = now_ns() + LISTS_MAX_NS;
	size_t read_bytes = 0;
	char path[512];
	struct dirent *entry;
	DIR *dir;

	for (size_t i = 0; i < count; i++)
		ret[i] = NULL;
	l.count = l.missing = count < PATHS_MAX ? count : PATHS_MAX;
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info", root);
	dir = l.count ? opendir(path) : NULL;
	while (dir && l.missing && read_bytes < LISTS_MAX_BYTES && now_ns() < until_ns &&
	       (entry = readdir(dir))) {
		size_t len = is_list(entry->d_name)
				     ? read_list(&l, dirfd(dir), entry->d_name)
				     : 0;

		read_bytes += len;
		if (len)
			look_into(&l, entry->d_name, len);
	}
	if (dir)
		closedir(dir);
	free(l.bytes);
}
