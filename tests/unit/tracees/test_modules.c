// SPDX-License-Identifier: Apache-2.0
/* Executable mappings and the build-ids of their files, also if there are many files. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracees/modules.h"
#include "elf/elf.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define FILES 300

static char *folder;

static int open_file(int number)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", folder, number);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Maps each file twice, in another order than by inode. Also maps one file without
 * PROT_EXEC. */
static void map_files(void *arg)
{
	_cleanup_(closep) int data = open_file(FILES);

	(void)arg;
	if (data < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, data, 0) == MAP_FAILED)
		_exit(1);
	for (int i = 0; i < 2 * FILES; i++) {
		_cleanup_(closep) int fd = open_file(i * 7 % FILES);

		if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				   0) == MAP_FAILED)
			_exit(1);
	}
}

static void make_files(void)
{
	for (int i = 0; i <= FILES; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%d", folder, i);
		_cleanup_(closep) int fd = open(path, O_CREAT | O_WRONLY, 0600);

		REQUIRE(fd >= 0 && write(fd, "no ELF file", 11) == 11);
	}
}

static void remove_files(void)
{
	for (int i = 0; i <= FILES; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%d", folder, i);
		unlink(path);
	}
	rmdir(folder);
}

static void refresh(struct modules *modules, const struct child *child)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;

	REQUIRE(!proc_open(child->pid, &proc));
	REQUIRE(!modules_refresh(modules, proc));
}

/* The build-id in the mappings whose path ends with `name`, from a copy; "" if one has
 * none. *count: the number of mappings. Owned. */
static char *id_of(const struct modules *modules, const char *name, unsigned *count)
{
	struct snapshot_process process = {0};
	char *id = NULL;

	REQUIRE(!modules_copy(modules, &process));
	*count = 0;
	vec_foreach (m, &process.modules) {
		if (strstr(m->path, name)) {
			free(id);
			id = strdup(m->build_id ? m->build_id : "");
			++*count;
		}
		free(m->path);
		free(m->build_id);
	}
	vec_deinit(&process.modules);
	return id;
}

static void has_build_ids(void)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct modules modules;
	unsigned count;

	REQUIRE(!elf_file_open("/bin/cat", &file));
	modules_init(&modules);
	/* The second time it is cached. */
	for (int i = 0; i < 2; i++) {
		refresh(&modules, &child);

		char *id = id_of(&modules, "/cat", &count);

		CHECK_STR(id, elf_file_build_id(file));
		CHECK(count >= 1);
		free(id);
	}
	modules_deinit(&modules);
	child_end(&child);
}

static void lists_each_file_once(void)
{
	struct child many, few;
	struct modules modules;
	unsigned count;
	size_t others;
	char *id;

	folder = child_tmpdir();
	make_files();
	few = child_fork(NULL, NULL);
	many = child_fork(map_files, NULL);
	modules_init(&modules);
	refresh(&modules, &few);
	others = modules.files.len;
	refresh(&modules, &many);
	CHECK_INT(modules.files.len, others + FILES);
	id = id_of(&modules, folder, &count);
	CHECK_STR(id, "");
	CHECK_INT(count, 2 * FILES);
	free(id);
	/* Unmapped files are dropped. */
	refresh(&modules, &few);
	CHECK_INT(modules.files.len, others);
	modules_deinit(&modules);
	child_end(&many);
	child_end(&few);
	remove_files();
}

/* Mappings from the kernel's events are added to those that were read from /proc. They
 * may know build-ids that could not be read. */
static void adds_reported_mappings(void)
{
	const struct proc_mapping reported[] = {
		{.start = 0x5000,
		 .end = 0x6000,
		 .inode = 7,
		 .executable = true,
		 .path = (char *)"/b"},
		{.start = 0x1000,
		 .end = 0x2000,
		 .inode = 5,
		 .executable = true,
		 .path = (char *)"/a"},
		/* Overlaps the first one. */
		{.start = 0x5800,
		 .end = 0x7000,
		 .inode = 9,
		 .executable = true,
		 .path = (char *)"/c"},
		{.start = 0x5000,
		 .end = 0x6000,
		 .inode = 7,
		 .executable = true,
		 .path = (char *)"/b"},
	};
	const char *const ids[] = {NULL, "aa", "cc", "bb"};
	const bool want[] = {true, true, false, false};
	struct proc_mapping data = {
		.start = 0x1000, .end = 0x9000, .path = strdup("/data")};
	struct modules modules;
	unsigned count;
	bool added;
	char *id;

	modules_init(&modules);
	/* A file that was mapped without PROT_EXEC when the list was read hides
	 * nothing. */
	REQUIRE(vec_push(&modules.maps.mappings, data));
	for (int i = 0; i < 4; i++) {
		REQUIRE(!modules_add(&modules, &reported[i], ids[i], &added));
		CHECK_INT(added, want[i]);
	}
	id = id_of(&modules, "/a", &count);
	CHECK_STR(id, "aa");
	free(id);
	id = id_of(&modules, "/b", &count);
	CHECK_STR(id, "bb");
	CHECK_INT(count, 1);
	free(id);
	id = id_of(&modules, "/", &count);
	CHECK_INT(count, 2);
	free(id);
	modules_deinit(&modules);
}

int main(void)
{
	RUN(has_build_ids);
	RUN(adds_reported_mappings);
	RUN(lists_each_file_once);
	return check_done();
}
