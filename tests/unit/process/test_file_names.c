// SPDX-License-Identifier: Apache-2.0
/* The names of a file must be those in the kernel's events about its mapping in another
 * process: on the file system of the tests and on overlays. Also whether two names belong
 * to one file. */
#include "check.h"
#include "decoy.h"
#include "overlays.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "process/file_names.h"
#include "util/file_pages.h"
#include "process/proc.h"
#include "process/watch.h"
#include "unit/process/child.h"

/* What the kernel has reported about the process's code. */
struct reported {
	pid_t pid;
	unsigned maps, lost;
	struct file_name last;
};

static bool tell(void *arg, const struct watch_event *event)
{
	struct reported *reported = arg;

	reported->lost += event->kind == WATCH_LOST;
	if (event->kind != WATCH_MAP || event->pid != reported->pid)
		return false;
	reported->maps++;
	reported->last =
		(struct file_name){event->inode, event->dev_major, event->dev_minor};
	return true;
}

static void *mapped; /* address in children; not mapped in this process */

static void map_file(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	munmap(mapped, 4096);
	if (fd < 0 || mmap(mapped, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			   fd, 0) != mapped)
		_exit(1);
	close(fd);
}

static struct file_name listed_of(pid_t pid)
{
	struct file_name name = {0};
	struct proc_maps maps;
	struct proc *proc;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->start == (uintptr_t)mapped)
			name = file_name_of(m);
	proc_maps_deinit(&maps);
	proc_close(proc);
	return name;
}

static void check_name(const char *path, const struct file_name *got,
		       const struct file_name *want)
{
	if (!file_name_is(got, want))
		printf("  %s: %x:%x %lu, expected %x:%x %lu\n", path, got->dev_major,
		       got->dev_minor, (unsigned long)got->inode, want->dev_major,
		       want->dev_minor, (unsigned long)want->inode);
	CHECK(file_name_is(got, want));
}

/* On a busy machine the rings may overflow. */
#define TRIES 20

static void check_names(const char *path)
{
	struct watch *watch = NULL;
	struct error *err = watch_create(&watch);
	struct file_names names, by_path;
	struct file_name listed;
	struct reported reported;
	int tries = 0;

	error_destroy(err);
	do {
		struct child child = child_fork(map_file, (char *)(uintptr_t)path);

		reported = (struct reported){.pid = child.pid};
		listed = listed_of(child.pid);
		if (watch)
			watch_read(watch, tell, &reported);
		child_end(&child);
	} while (reported.lost && ++tries < TRIES);
	CHECK(listed.inode);

	/* Whichever name is searched. */
	const struct file_name none = {0}, *const wanted[] = {&none, &listed,
							      &reported.last};

	for (size_t i = 0; i < 3; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		REQUIRE(fd >= 0 && file_names_ask(fd, wanted[i], &names));
		close(fd);
		check_name(path, &names.listed, &listed);
		if (watch) {
			CHECK_INT(reported.maps, 1);
			check_name(path, &names.reported, &reported.last);
		}
	}
	CHECK(file_names_of_path(path, &by_path));
	check_name(path, &by_path.listed, &listed);
	watch_destroy(watch);
}

static void own_program(void)
{
	char path[PATH_MAX];

	REQUIRE(realpath("/proc/self/exe", path));
	check_names(path);
}

/* Another file is not opened to learn its names. */
static void others_stay_closed(void)
{
	char path[] = "/dev/shm/memtrace-names-XXXXXX";
	int fd = mkstemp(path), place = open(path, O_PATH | O_CLOEXEC);
	struct file_names names, checked;
	struct file_name other;
	struct decoy decoy;

	REQUIRE(fd >= 0 && place >= 0 && file_names_of_place(place, &names));
	decoy = decoy_watch(path);
	other = names.listed;
	CHECK(file_names_check(place, &other, &checked));
	CHECK(file_name_is(&checked.reported, &names.reported));
	CHECK(file_names_agree(place, &other));
	other.inode++;
	CHECK(!file_names_check(place, &other, &checked));
	CHECK(!file_names_agree(place, &other));
	CHECK(!file_names_check(-1, &other, &checked));
	decoy_check(&decoy, path);
	close(place);
	close(fd);
	unlink(path);
}

static void no_files(void)
{
	const struct file_name none = {0};
	struct file_names names;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct stat st;

	CHECK(!file_names_ask(fd, &none, &names));
	close(fd);
	CHECK(!file_names_ask(-1, &none, &names));
	CHECK(!file_names_of_path("/nowhere", &names));
	/* A file that cannot be mapped has only one name. */
	REQUIRE(!stat("/dev/null", &st) && file_names_of_path("/dev/null", &names));
	CHECK_INT(names.listed.inode, st.st_ino);
	CHECK_INT(names.reported.inode, st.st_ino);
}

/* --- overlays --------------------------------------------------------------------- */

static void run(const char *command)
{
	REQUIRE(system(command) == 0);
}

/* Compares the pages of two files. */
static void check_pages(const char *a, const char *b, bool want)
{
	int fd_a = open(a, O_RDONLY | O_CLOEXEC), fd_b = open(b, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd_a >= 0 && fd_b >= 0);
	if (file_pages_are_same(fd_a, fd_b) != want)
		printf("  %s and %s\n", a, b);
	CHECK_INT(file_pages_are_same(fd_a, fd_b), want);
	close(fd_a);
	close(fd_b);
}

/* Files of a layer, of an overlay, and of a layer that are now in the overlay. `upper` is
 * on another file system than `lower`, or on the same one. */
static void check_overlay(const char *upper, const char *option)
{
	char options[256];

	snprintf(options, sizeof(options),
		 "lowerdir=low/low,upperdir=%s/u,workdir=%s/w%s", upper, upper, option);
	run("for d in low high; do mount -t tmpfs ovl $d && "
	    "mkdir $d/u $d/w $d/u2 $d/w2 $d/low; done");
	run("cp file low/low/lower && cp file low/low/copied");
	REQUIRE(!mount("overlay", "merged", "overlay", 0, options));
	run("chmod 0751 merged/copied && cp file merged/new");
	check_names("merged/lower");
	check_names("merged/copied");
	check_names("merged/new");
	check_pages("merged/lower", "low/low/lower", true);
	check_pages("merged/lower", "merged/lower", true);
	check_pages("merged/lower", "merged/new", false);
	check_pages("merged/copied", "low/low/copied", false);
	snprintf(options, sizeof(options),
		 "lowerdir=low/low,upperdir=%s/u2,workdir=%s/w2", upper, upper);
	REQUIRE(!mount("overlay", "second", "overlay", 0, options));
	check_pages("merged/lower", "second/lower", true);
	check_pages("merged/copied", "second/copied", false);
	/* Lazy unmount: a system-wide tracer may have opened these files. */
	run("umount -l second merged low high");
}

static void overlays(void)
{
	check_overlay("low", "");
	check_overlay("high", ",xino=off");
	check_overlay("high", ",xino=on");
}

int main(void)
{
	char folder[] = "/tmp/memtrace-names-XXXXXX";
	const char *lacking = NULL;

	mapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	RUN(own_program);
	RUN(others_stay_closed);
	RUN(no_files);
	if (!has_overlays())
		lacking = "the kernel has no overlayfs";
	else if (unshare(CLONE_NEWNS) ||
		 mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		lacking = "no mounts without root";
	if (lacking && !check_state.failures)
		check_skip(lacking);
	if (lacking)
		return check_done();
	REQUIRE(mkdtemp(folder) && !mount("ovl", folder, "tmpfs", 0, NULL));
	REQUIRE(!chdir(folder));
	run("mkdir low high merged second && cp /proc/self/exe file");
	RUN(overlays);
	REQUIRE(!chdir("/") && !umount2(folder, MNT_DETACH) && !rmdir(folder));
	return check_done();
}
