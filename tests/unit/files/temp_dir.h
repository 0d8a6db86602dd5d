/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for one test. */
#ifndef TESTS_CLI_TEMP_DIR_H
#define TESTS_CLI_TEMP_DIR_H

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "util/cleanup.h"

struct temp_dir {
	char path[64];
	char entry[128]; /* result of temp_dir_path() */
};

static inline struct temp_dir temp_dir_create(void)
{
	struct temp_dir p = {.path = "/tmp/memtrace-test-XXXXXX"};

	REQUIRE(mkdtemp(p.path));
	return p;
}

/* The path of `name`, valid until the next call. */
static inline const char *temp_dir_path(struct temp_dir *p, const char *name)
{
	snprintf(p->entry, sizeof(p->entry), "%s/%s", p->path, name);
	return p->entry;
}

/* Counts all entries, also hidden ones. `remove`: removes them, too. */
static inline int temp_dir_count(struct temp_dir *p, bool remove)
{
	DIR *dir = opendir(p->path);
	int count = 0;

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		count++;
		if (remove && unlinkat(dirfd(dir), entry->d_name, 0))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
	return count;
}

static inline void temp_dir_destroy(struct temp_dir *p)
{
	temp_dir_count(p, true);
	CHECK(!rmdir(p->path));
}

static inline void temp_dir_write(struct temp_dir *p, const char *name, const char *text)
{
	_cleanup_(fclosep) FILE *file = fopen(temp_dir_path(p, name), "we");

	REQUIRE(file && fputs(text, file) >= 0);
}

/* The content of the file; "" if it does not exist. */
static inline const char *temp_dir_read(struct temp_dir *p, const char *name, char *buf,
					size_t size)
{
	_cleanup_(fclosep) FILE *file = fopen(temp_dir_path(p, name), "re");

	buf[file ? fread(buf, 1, size - 1, file) : 0] = '\0';
	return buf;
}

#endif
