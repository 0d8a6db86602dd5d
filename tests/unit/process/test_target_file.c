// SPDX-License-Identifier: Apache-2.0
/* Files are opened once, and stay the same whatever is at their paths later. */
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "process/target_file.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);
DEFINE_CLEANUP(struct opened_files *, opened_files_destroy);

static void write_file(const char *path, const char *content)
{
	_cleanup_(closep) int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ssize_t size = (ssize_t)strlen(content);

	REQUIRE(fd >= 0 && write(fd, content, (size_t)size) == size);
}

static void check_content(const struct target_file *file, const char *content)
{
	_cleanup_(closep) int fd = target_file_open(file);
	_cleanup_(closep) int by_link =
		open(target_file_link(file), O_RDONLY | O_CLOEXEC);
	char bytes[16] = "";

	REQUIRE(fd >= 0 && by_link >= 0);
	CHECK(read(fd, bytes, sizeof(bytes) - 1) > 0);
	CHECK_STR(bytes, content);
	memset(bytes, 0, sizeof(bytes));
	CHECK(read(by_link, bytes, sizeof(bytes) - 1) > 0);
	CHECK_STR(bytes, content);
}

/* --- mapped files ------------------------------------------------------------------ */

struct room {
	const char *root; /* new root directory; NULL: unchanged */
	const char *path; /* file to map, below that root */
};

static void map_in_room(void *arg)
{
	const struct room *room = arg;
	int fd;

	if (room->root && (chroot(room->root) || chdir("/")))
		_exit(1);
	fd = open(room->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	close(fd);
}

/* Opens the file that the child has mapped, by its base name. */
static struct error *find(const struct child *child, const char *name,
			  struct target_file **ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	const struct proc_mapping *found = NULL;
	struct proc_maps maps;
	struct error *err;

	REQUIRE(!proc_open(child->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (strstr(m->path, name))
			found = m;
	REQUIRE(found);
	err = target_file_of_mapping(proc, found, ret);
	proc_maps_deinit(&maps);
	return err;
}

/* The mapping of that file. The caller sets its path. */
static struct proc_mapping mapping_of(const struct child *child, const char *name)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	static char path[256];
	struct proc_mapping found = {0};
	struct proc_maps maps;

	REQUIRE(!proc_open(child->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings) {
		if (!strstr(m->path, name))
			continue;
		snprintf(path, sizeof(path), "%s", m->path);
		found = *m;
		found.path = path;
	}
	REQUIRE(found.path);
	proc_maps_deinit(&maps);
	return found;
}

static void what_comes_later(void)
{
	const char *dir = child_tmpdir();
	char path[128], other[128];
	struct room room = {NULL, path};

	snprintf(path, sizeof(path), "%s/mapped", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_file(path, "right");
	write_file(other, "wrong");

	struct child child = child_fork(map_in_room, &room);
	_cleanup_(target_file_releasep) struct target_file *file = NULL;

	REQUIRE(!find(&child, "/mapped", &file));
	CHECK_STR(target_file_name(file), path);
	check_content(file, "right");
	REQUIRE(rename(other, path) == 0);
	check_content(file, "right");
	REQUIRE(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	check_content(file, "right");

	/* Even if the FIFO is there before the file is opened: it is opened by the
	 * mapping. */
	struct target_file *late;
	struct error *err = find(&child, "/mapped", &late);

	if (err && geteuid()) {
		error_destroy(err);
	} else {
		REQUIRE(!err);
		check_content(late, "right");
		target_file_release(late);
	}
	child_end(&child);
	check_content(file, "right");
	unlink(path);
	rmdir(dir);
}

/* The path of a mapping leads to another file of the same kind, or its range to the
 * mapping of another file. The opened file must have the mapping's device and inode. */
static void another_file_there(void)
{
	const char *dir = child_tmpdir();
	char path[128], other[128];
	struct room room = {NULL, path}, other_room = {NULL, other};

	snprintf(path, sizeof(path), "%s/mapped", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_file(path, "right");
	write_file(other, "wrong");

	struct child child = child_fork(map_in_room, &room);
	struct child second = child_fork(map_in_room, &other_room);
	_cleanup_(proc_closep) struct proc *proc = NULL, *theirs = NULL;
	struct proc_mapping mapping = mapping_of(&child, "/mapped");
	struct target_file *file = NULL;
	struct error *err;

	REQUIRE(!proc_open(child.pid, &proc) && !proc_open(second.pid, &theirs));
	mapping.path = other;
	err = target_file_of_mapping(proc, &mapping, &file);
	if (err && geteuid()) {
		error_destroy(err);
	} else {
		REQUIRE(!err);
		check_content(file, "right");
		target_file_release(file);
	}

	/* Neither the path nor the range leads to it. */
	mapping = mapping_of(&second, "/other");
	mapping.inode++;
	err = target_file_of_mapping(theirs, &mapping, &file);
	REQUIRE(err);
	CHECK(err->code == ERROR_NOT_FOUND || geteuid());
	error_destroy(err);
	child_end(&child);
	child_end(&second);
	unlink(path);
	unlink(other);
	rmdir(dir);
}

static void map_zeroes(void *arg)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
}

/* A device can be mapped, too. */
static void a_mapped_device(void)
{
	struct child child = child_fork(map_zeroes, NULL);
	struct target_file *file;
	struct error *err = find(&child, "/dev/zero", &file);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_UNSUPPORTED);
	CHECK_CONTAINS(err->message, "/dev/zero");
	CHECK_CONTAINS(err->message, "is not a regular file");
	error_destroy(err);
	child_end(&child);
}

/* Below the target's root the path's links lead to the mapped file. From outside they
 * would lead to another file. */
static void links_stay_in_the_room(void)
{
	const char *dir = child_tmpdir();
	char inside[128], outside[128], path[160];
	struct room room = {inside, "/link"};

	if (geteuid()) {
		printf("     not root: no root directory of its own\n");
		return;
	}
	snprintf(inside, sizeof(inside), "%s/room", dir);
	REQUIRE(mkdir(inside, 0755) == 0);
	snprintf(path, sizeof(path), "%s/mapped", inside);
	write_file(path, "right");
	snprintf(outside, sizeof(outside), "%s/mapped", dir);
	write_file(outside, "wrong");
	snprintf(path, sizeof(path), "%s/link", inside);
	REQUIRE(symlink("../mapped", path) == 0);

	struct child child = child_fork(map_in_room, &room);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	_cleanup_(target_file_releasep) struct target_file *mapped = NULL, *named = NULL;

	REQUIRE(!find(&child, "/mapped", &mapped));
	check_content(mapped, "right");
	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!target_file_named(proc, "/link", &named));
	check_content(named, "right");
	child_end(&child);

	unlink(path);
	unlink(outside);
	snprintf(path, sizeof(path), "%s/mapped", inside);
	unlink(path);
	rmdir(inside);
	rmdir(dir);
}

/* --- named files -------------------------------------------------------------------- */

static void check_refused(const char *path, enum error_code code)
{
	struct target_file *file;
	_cleanup_(error_destroyp) struct error *err =
		target_file_named(NULL, path, &file);

	REQUIRE(err);
	CHECK_INT(err->code, code);
	CHECK_CONTAINS(err->message, path);
}

static void no_regular_files(void)
{
	const char *dir = child_tmpdir();
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	REQUIRE(mkfifo(path, 0600) == 0);
	check_refused(path, ERROR_UNSUPPORTED);
	check_refused(dir, ERROR_UNSUPPORTED);
	check_refused("/dev/null", ERROR_UNSUPPORTED);
	check_refused("/nowhere/at/all", ERROR_NOT_FOUND);
	unlink(path);
	rmdir(dir);
}

/* --- files that are kept ------------------------------------------------------------ */

/* A process with a file mapped, whose files are kept. */
struct keeper {
	struct child child;
	struct proc *proc;
	struct proc_mapping mapping;
};

static struct keeper keeper_begin(const char *path, struct opened_files *opened)
{
	struct room room = {NULL, path};
	struct keeper keeper = {.child = child_fork(map_in_room, &room)};

	REQUIRE(!proc_open(keeper.child.pid, &keeper.proc));
	keeper.proc->opened = opened;
	keeper.mapping = mapping_of(&keeper.child, path);
	keeper.mapping.path = strdup(path);
	REQUIRE(keeper.mapping.path);
	return keeper;
}

static void keeper_end(struct keeper *keeper)
{
	free(keeper->mapping.path);
	proc_close(keeper->proc);
	child_end(&keeper->child);
}

static struct target_file *file_of(const struct keeper *keeper)
{
	struct target_file *file;

	REQUIRE(!target_file_of_mapping(keeper->proc, &keeper->mapping, &file));
	return file;
}

/* Does the second of two calls duplicate the descriptor of the first? */
static bool is_opened_once(const struct target_file *file)
{
	_cleanup_(closep) int first = target_file_open(file);
	_cleanup_(closep) int second = target_file_open(file);

	REQUIRE(first >= 0 && second >= 0);
	REQUIRE(lseek(first, 3, SEEK_SET) == 3);
	return lseek(second, 0, SEEK_CUR) == 3;
}

static void opened_once(void)
{
	_cleanup_(opened_files_destroyp) struct opened_files *opened =
		opened_files_create();
	const char *dir = child_tmpdir();
	char path[128], other[128];
	struct target_file *file, *same, *later;

	REQUIRE(opened);
	snprintf(path, sizeof(path), "%s/mapped", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_file(path, "right");
	write_file(other, "wrong");

	struct keeper first = keeper_begin(path, opened);
	struct keeper second = keeper_begin(path, opened);

	/* Another process that maps the file shares it. */
	file = file_of(&first);
	same = file_of(&second);
	CHECK(file == same);
	CHECK(is_opened_once(file));

	/* The path now leads to another file, which a third process maps. */
	REQUIRE(!rename(other, path));

	struct keeper third = keeper_begin(path, opened);

	later = file_of(&third);
	CHECK(later != file);
	check_content(later, "wrong");
	target_file_release(later);
	later = file_of(&first);
	CHECK(later == file);
	target_file_release(later);

	/* After the round its users still have it, and others find it anew. */
	opened_files_end(opened);
	CHECK(!is_opened_once(file));
	check_content(file, "right");
	later = file_of(&third);
	CHECK(later != file && is_opened_once(later));
	target_file_release(later);

	/* Without a list, nothing is kept. */
	third.proc->opened = NULL;
	later = file_of(&third);
	CHECK(!is_opened_once(later));
	target_file_release(later);
	target_file_release(file);
	target_file_release(same);
	keeper_end(&first);
	keeper_end(&second);
	keeper_end(&third);
	unlink(path);
	rmdir(dir);
}

static void several_owners(void)
{
	struct target_file *file;

	REQUIRE(!target_file_named(NULL, "/proc/self/exe", &file));
	CHECK(target_file_share(file) == file);
	target_file_release(file);

	_cleanup_(closep) int fd = target_file_open(file);

	CHECK(fd >= 0);
	target_file_release(file);
	target_file_release(NULL);
}

int main(void)
{
	RUN(what_comes_later);
	RUN(another_file_there);
	RUN(a_mapped_device);
	RUN(links_stay_in_the_room);
	RUN(no_regular_files);
	RUN(opened_once);
	RUN(several_owners);
	return check_done();
}
