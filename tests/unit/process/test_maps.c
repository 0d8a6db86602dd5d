// SPDX-License-Identifier: Apache-2.0
/* Parses /proc/PID/maps, also hostile lines, and opens the files of real mappings. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "process/maps_files.h"
#include "process/target_file.h"
#include "util/cleanup.h"
#include "unit/process/child.h"

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

static enum error_code parse(const char *text, size_t size, struct proc_maps *maps)
{
	_cleanup_(error_destroyp) struct error *err = NULL;

	/* A copy of exactly this size, so that a sanitizer notices reads beyond it. */
	char *copy = malloc(size ? size : 1);

	REQUIRE(copy);
	memcpy(copy, text, size);
	*maps = (struct proc_maps){0};
	err = maps_parse(copy, size, maps);
	free(copy);
	return err ? err->code : 0;
}

static void whole_lines(void)
{
	static const char text[] =
		"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n"
		"00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
		"35b1800000-35b1820000 r--s 00000000 fd:1f 4294967297 /a\\012b\\134c\n"
		"7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 -w-p ffffffffff000 103:00005 9 "
		"/x (deleted) (deleted)\n"
		"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 [a] (deleted)\n"
		"7f0000003000-7f0000004000 rw-p 00000000 00:00 0\n"
		"7f0000004000-7f0000005000 r-xp 00000000 00:01 7 / (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
	struct proc_maps maps;

	CHECK_INT(parse(text, sizeof(text) - 1, &maps), 0);
	REQUIRE(maps.mappings.len == 9);

	const struct proc_mapping *m = maps.mappings.data;

	CHECK_INT(m[0].start, 0x400000);
	CHECK_INT(m[0].end, 0x452000);
	CHECK(m[0].readable && !m[0].writable && m[0].executable && !m[0].deleted);
	CHECK_INT(m[0].file_offset, 0x1000);
	CHECK_INT(m[0].dev_major, 8);
	CHECK_INT(m[0].dev_minor, 2);
	CHECK_INT(m[0].inode, 173521);
	CHECK_STR(m[0].path, "/usr/bin/dbus daemon");
	CHECK_STR(m[1].path, "[heap]");
	CHECK_INT(m[2].dev_minor, 0x1f);
	CHECK_INT(m[2].inode, 4294967297);
	/* The kernel escapes only newlines: other octal numbers are part of the file's
	 * name. */
	CHECK_STR(m[2].path, "/a\nb\\134c");
	CHECK_STR(m[3].path, "");
	CHECK(!m[3].readable && !m[3].executable);
	CHECK_INT(m[4].file_offset, 0xffffffffff000);
	CHECK_INT(m[4].dev_major, 0x103);
	CHECK_STR(m[4].path, "/x (deleted)");
	CHECK(m[4].deleted && m[4].writable);
	CHECK_STR(m[5].path, "[a] (deleted)");
	CHECK(!m[5].deleted);
	CHECK_STR(m[6].path, "");
	CHECK_STR(m[7].path, "/");
	CHECK(m[7].deleted);
	CHECK(m[8].start == 0xffffffffff600000 && m[8].executable && !m[8].readable);
	proc_maps_deinit(&maps);
	CHECK(!maps.mappings.data);
}

static void hostile_lines(void)
{
	static const char *const lines[] = {
		"\n",
		"00400000\n",
		"00400000-\n",
		"-00400000 r-xp 0 0:0 0\n",
		"00400000-00452000\n",
		"00400000-00452000 \n",
		"00400000-00452000 r-x\n",
		"00400000-00452000 r-xq 0 0:0 0\n",
		"00400000-00452000 rrxp 0 0:0 0\n",
		"00400000-00452000 r-xp\n",
		"00400000-00452000 r-xp 0\n",
		"00400000-00452000 r-xp 0 08\n",
		"00400000-00452000 r-xp 0 08: 1\n",
		"00400000-00452000 r-xp 0 08:02\n",
		"00400000-00452000 r-xp 0 08:02 x\n",
		"00400000-00452000 r-xp 0 08:02 1/a\n",
		"00400000-00452000 r-xp 0 08:02 -1 /a\n",
		"00400000-00452000 r-xp 0 08:02 18446744073709551616 /a\n",
		"00400000-00452000 r-xp 0 100000000:02 1 /a\n",
		"00400000-00452000 r-xp 10000000000000000 08:02 1 /a\n",
		"0x400000-00452000 r-xp 0 08:02 1 /a\n",
		"00452000-00400000 r-xp 0 08:02 1 /a\n",
		"00400000-00400000 r-xp 0 08:02 1 /a\n",
		"10000000000000000-00400000 r-xp 0 08:02 1 /a\n",
		"00400000-00452000 r-xp 0 08:02 1 /unfinished",
		" 00400000-00452000 r-xp 0 08:02 1 /a\n",
		"00400000-00452000\tr-xp 0 08:02 1 /a\n",
		"g0400000-00452000 r-xp 0 08:02 1 /a\n",
		"00400000-00452000 r-xp 0 08:02 1 /a\n\n",
	};
	static const char nul[] = "00400000-00452000 r-xp 0 08:02 1 /a\0b\n";
	static const char good[] = "00400000-00452000 r-xp 0 08:02 1 /a (deleted)\n";
	struct proc_maps maps;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parse(lines[i], strlen(lines[i]), &maps) != ERROR_MALFORMED)
			CHECK_FAIL("accepted: %s", lines[i]);
		check_state.checks++;
		proc_maps_deinit(&maps);
	}
	CHECK_INT(parse(nul, sizeof(nul) - 1, &maps), ERROR_MALFORMED);
	proc_maps_deinit(&maps);
	/* A line is malformed wherever it is cut, and not read beyond its end. */
	for (size_t size = 1; size < sizeof(good) - 1; size++) {
		CHECK_INT(parse(good, size, &maps), ERROR_MALFORMED);
		proc_maps_deinit(&maps);
	}
	CHECK_INT(parse("", 0, &maps), 0);
	CHECK_INT(maps.mappings.len, 0);
	proc_maps_deinit(&maps);
}

static void overlaps_are_left_out(void)
{
	static const char text[] = "2000-4000 r-xp 0 0:0 0 first\n"
				   "3000-5000 r-xp 0 0:0 0 second\n"
				   "1000-2000 r-xp 0 0:0 0 third\n"
				   "4000-5000 r-xp 0 0:0 0 fourth\n";
	struct proc_maps maps;

	CHECK_INT(parse(text, sizeof(text) - 1, &maps), 0);
	REQUIRE(maps.mappings.len == 2);
	CHECK_STR(maps.mappings.data[0].path, "first");
	CHECK_STR(maps.mappings.data[1].path, "fourth");
	proc_maps_deinit(&maps);
}

static void error_names_the_line(void)
{
	static const char text[] =
		"1000-2000 r-xp 0 0:0 0\n2000-3000 r-xp 0 0:0 0\nbad\n";
	struct proc_maps maps = {0};
	_cleanup_(error_destroyp) struct error *err =
		maps_parse(text, sizeof(text) - 1, &maps);

	REQUIRE(err);
	CHECK_CONTAINS(err->message, "line 3 ");
	proc_maps_deinit(&maps);
}

/* --- files behind mappings ---------------------------------------------------------- */

enum {
	DIR_DEPTH = 20,
	DIR_LENGTH = 250,
	FILES = 8
};

/* The name of each file, and what happens to it after it is mapped. */
static const struct {
	const char *name, *shown;
	bool unlinked, replaced;
} files[FILES] = {
	{"plain name", "plain name", false, false},
	{"gone", "gone", true, false},
	{"replaced", "replaced", true, true},
	{"literal (deleted)", "literal (deleted)", false, false},
	{"new\nline", "new\nline", false, false},
	{"new\\012line", "new\\012line", false, false},
	{"back\\134slash \x1b[31m", "back\\134slash \x1b[31m", false, false},
	{"odd\\012name (deleted)", "odd\\012name (deleted)", false, false},
};

struct mapped {
	const char *dir;
	void **addresses; /* shared with the child */
};

static void *map_file(const char *name, char content)
{
	int fd = open(name, O_CREAT | O_RDWR, 0600);
	char page[4096];

	memset(page, content, sizeof(page));
	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		_exit(1);

	void *p = mmap(NULL, sizeof(page), PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

static void enter(const char *dir, bool create)
{
	if (create && mkdir(dir, 0700) < 0)
		_exit(1);
	if (chdir(dir) < 0)
		_exit(1);
}

static void map_all(void *argument)
{
	struct mapped *mapped = argument;
	char dir[DIR_LENGTH + 1];

	enter(mapped->dir, false);
	for (int i = 0; i < FILES; i++) {
		mapped->addresses[i] = map_file(files[i].name, (char)('a' + i));
		if (files[i].unlinked)
			unlink(files[i].name);
		if (files[i].replaced)
			munmap(map_file(files[i].name, '!'), 4096);
	}

	/* A path that is longer than open(2) accepts. */
	memset(dir, 'd', DIR_LENGTH);
	dir[DIR_LENGTH] = '\0';
	for (int i = 0; i < DIR_DEPTH; i++)
		enter(dir, true);
	mapped->addresses[FILES] = map_file("deep", 'a' + FILES);
}

static void remove_all(const char *top)
{
	char dir[DIR_LENGTH + 1];

	memset(dir, 'd', DIR_LENGTH);
	dir[DIR_LENGTH] = '\0';
	REQUIRE(chdir(top) == 0);
	for (int i = 0; i < FILES; i++)
		unlink(files[i].name);
	for (int i = 0; i < DIR_DEPTH; i++)
		REQUIRE(chdir(dir) == 0);
	unlink("deep");
	for (int i = 0; i < DIR_DEPTH; i++)
		REQUIRE(chdir("..") == 0 && rmdir(dir) == 0);
	REQUIRE(chdir("/") == 0 && rmdir(top) == 0);
}

static const struct proc_mapping *find(const struct proc_maps *maps, const void *address)
{
	for (size_t i = 0; i < maps->mappings.len; i++)
		if (maps->mappings.data[i].start == (uintptr_t)address)
			return &maps->mappings.data[i];
	return NULL;
}

static char first_byte(const char *path)
{
	char byte = '?';
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &byte, 1) != 1)
		CHECK_FAIL("cannot read %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return byte;
}

static void real_files(void)
{
	void **addresses = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct mapped mapped = {child_tmpdir(), addresses};

	REQUIRE(addresses != MAP_FAILED);

	struct child child = child_fork(map_all, &mapped);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	for (int i = 0; i <= FILES; i++) {
		const struct proc_mapping *m = find(&maps, addresses[i]);
		_cleanup_(target_file_releasep) struct target_file *file = NULL;

		REQUIRE(m);

		_cleanup_(error_destroyp) struct error *err =
			target_file_of_mapping(proc, m, &file);

		/* Following map_files requires CAP_SYS_ADMIN in the initial user
		 * namespace. */
		if (err && err->code == ERROR_PERMISSION && geteuid()) {
			CHECK_CONTAINS(err->message, "CAP_SYS_ADMIN");
			continue;
		}
		REQUIRE(!err);
		CHECK_INT(first_byte(target_file_link(file)), 'a' + i);
		CHECK_STR(target_file_name(file), m->path);
		if (i == FILES) {
			CHECK(strlen(m->path) > PATH_MAX);
			continue;
		}
		CHECK_STR(strrchr(m->path, '/') + 1, files[i].shown);
		CHECK_INT(m->deleted, files[i].unlinked);
	}

	struct proc_mapping anonymous = {
		.start = 1, .end = 2, .path = (char[]){"[heap]"}};
	struct proc_mapping unmapped = {
		.start = 0x1000, .end = 0x2000, .inode = 1, .path = (char[]){"/nowhere"}};
	struct target_file *file;
	struct error *err = target_file_of_mapping(proc, &anonymous, &file);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	error_destroy(err);
	err = target_file_of_mapping(proc, &unmapped, &file);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "/nowhere");
	error_destroy(err);

	child_kill(&child);
	unmapped.path = (char[]){"/nowhere"};
	err = target_file_of_mapping(proc, &unmapped, &file);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);

	proc_maps_deinit(&maps);
	child_end(&child);
	remove_all(mapped.dir);
	munmap(addresses, 4096);
}

static void same_file(void)
{
	struct proc_mapping m = {0};
	struct stat st;
	const char *dir = child_tmpdir();
	_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int fd =
		openat(root, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	REQUIRE(root >= 0 && fd >= 0 && fstat(fd, &st) == 0);
	REQUIRE(symlinkat("/file", root, "absolute") == 0);
	REQUIRE(symlinkat("../../file", root, "upwards") == 0);
	m.inode = st.st_ino;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	CHECK(maps_same_file(root, "/file", &m));
	/* The kernel reports no paths with links: such a path leads to another file. */
	CHECK(!maps_same_file(root, "/absolute", &m));
	CHECK(!maps_same_file(root, "/upwards", &m));
	CHECK(!maps_same_file(root, "/nothing", &m));
	CHECK(!maps_same_file(-1, "/file", &m));
	m.dev_minor++;
	CHECK(!maps_same_file(root, "/file", &m));
	m.dev_minor--;
	m.dev_major++;
	CHECK(!maps_same_file(root, "/file", &m));
	m.dev_major--;
	m.inode++;
	CHECK(!maps_same_file(root, "/file", &m));
	unlinkat(root, "file", 0);
	unlinkat(root, "absolute", 0);
	unlinkat(root, "upwards", 0);
	rmdir(dir);
}

int main(void)
{
	RUN(whole_lines);
	RUN(hostile_lines);
	RUN(overlaps_are_left_out);
	RUN(error_names_the_line);
	RUN(same_file);
	RUN(real_files);
	return check_done();
}
