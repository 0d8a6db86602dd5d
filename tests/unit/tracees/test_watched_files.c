// SPDX-License-Identifier: Apache-2.0
/* Files of mappings that the kernel reported: opened by path, if they are unchanged. */
#include "check.h"
#include "decoy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracees/watched_files.h"
#include "elf/elf.h"
#include "unit/process/child.h"
#include "util/cleanup.h"
#include "util/clock.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

static char *folder, path[128];

static void copy_program(void)
{
	_cleanup_(closep) int from = open("/bin/cat", O_RDONLY | O_CLOEXEC);
	_cleanup_(closep) int to = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	char buffer[65536];
	ssize_t n;

	REQUIRE(from >= 0 && to >= 0);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		REQUIRE(write(to, buffer, (size_t)n) == n);
}

/* A mapping of the file as it is now. */
static struct watched_mapping mapped_now(void)
{
	struct file_names names;
	struct watched_mapping m = {.start = 0x1000, .end = 0x2000, .path = path};

	REQUIRE(file_names_of_path(path, &names));
	m.name = names.reported;
	m.time_ns = clock_now_ns();
	return m;
}

static const struct watched_file *get(struct watched_files *files,
				      const struct watched_mapping *m)
{
	static int root = -1;

	if (root < 0)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(root >= 0);
	watched_files_deinit(files);
	watched_files_init(files, root, NULL);
	return watched_files_get(files, m);
}

static void one_that_is_there(void)
{
	_cleanup_(elf_file_closep) struct elf_file *elf = NULL;
	struct watched_files files = {.root_fd = -1};
	struct watched_mapping m = mapped_now();
	const struct watched_file *file = get(&files, &m);
	struct stat st;

	REQUIRE(!elf_file_open("/bin/cat", &elf) && !stat(path, &st));
	REQUIRE(file);
	CHECK_STR(file->build_id, elf_file_build_id(elf));
	CHECK(file->is_found);
	/* The second time the path is not opened: the file is cached. */
	unlink(path);
	CHECK(watched_files_get(&files, &m) == file);
	copy_program();
	watched_files_deinit(&files);
}

/* Another file at the path, or the file after a change: the content at the time of the
 * mapping is unknown. */
static void changed_or_unknown_files_are_not_given(void)
{
	struct watched_files files = {.root_fd = -1};
	struct watched_mapping m = mapped_now(), other = m;

	other.name.inode++;
	CHECK(!get(&files, &other));
	other = m;
	other.name.dev_minor++;
	CHECK(!get(&files, &other));
	usleep(20000);
	REQUIRE(!chmod(path, 0755));
	CHECK(!get(&files, &m));
	usleep(20000);
	m = mapped_now();
	CHECK(get(&files, &m));
	m.time_ns -= 1000000000;
	CHECK(!get(&files, &m));
	m = mapped_now();
	m.path = "/no/such/file";
	CHECK(!get(&files, &m));
	m.path = "/dev/null";
	CHECK(!get(&files, &m));
	m.path = "//anon";
	CHECK(!get(&files, &m));
	watched_files_deinit(&files);
}

/* Another file at the path, also by a link, is not opened. */
static void others_stay_closed(void)
{
	struct watched_files files = {.root_fd = -1};
	struct watched_mapping m = {.start = 0x1000, .end = 0x2000};
	char file[] = "/dev/shm/memtrace-reported-XXXXXX", link[64];
	_cleanup_(closep) int fd = mkstemp(file);
	struct decoy decoy;
	struct file_names names;

	snprintf(link, sizeof(link), "%s.link", file);
	REQUIRE(fd >= 0 && !symlink(file, link) && file_names_of_path(file, &names));
	usleep(20000);
	m.time_ns = clock_now_ns();
	m.name = names.reported;
	decoy = decoy_watch(file);
	m.path = link;
	CHECK(!get(&files, &m));
	m.path = file;
	m.name.inode++;
	CHECK(!get(&files, &m));
	decoy_check(&decoy, file);
	m.name.inode--;
	CHECK(get(&files, &m));
	watched_files_deinit(&files);
	unlink(link);
	unlink(file);
}

/* The number of opened files is bounded: the target chooses how many there are. */
static void no_more_than_are_looked_for(void)
{
	struct watched_files files = {.root_fd = -1};
	struct watched_mapping m = mapped_now(), missing = m;

	missing.path = "/no/such/file";
	REQUIRE(get(&files, &m));
	for (unsigned i = 1; i < WATCHED_FILES_MAX; i++) {
		missing.name.inode = i;
		CHECK(!watched_files_get(&files, &missing));
	}
	CHECK(watched_files_get(&files, &m));
	CHECK_INT(files.list.len, WATCHED_FILES_MAX);
	missing.name.inode = 0;
	CHECK(!watched_files_get(&files, &missing));
	CHECK_INT(files.list.len, WATCHED_FILES_MAX);
	watched_files_deinit(&files);
}

static void one_without_a_build_id(void)
{
	struct watched_files files = {.root_fd = -1};
	struct watched_mapping m;
	const struct watched_file *file;

	REQUIRE(!truncate(path, 10));
	usleep(20000);
	m = mapped_now();
	file = get(&files, &m);
	REQUIRE(file);
	CHECK(!file->build_id);
	watched_files_deinit(&files);
}

int main(void)
{
	folder = child_tmpdir();
	snprintf(path, sizeof(path), "%s/program", folder);
	copy_program();
	usleep(20000);
	RUN(one_that_is_there);
	usleep(20000);
	RUN(changed_or_unknown_files_are_not_given);
	RUN(others_stay_closed);
	RUN(no_more_than_are_looked_for);
	RUN(one_without_a_build_id);
	unlink(path);
	rmdir(folder);
	return check_done();
}
