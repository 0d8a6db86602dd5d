// SPDX-License-Identifier: Apache-2.0
/* The allocators that are found in the files of real processes. */
#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocator/allocator.h"
#include "decoy.h"
#include "process/linker.h"
#include "unit/allocator/allocator_find.h"
#include "unit/elf/elf_builder.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

static struct error *find(const struct child *child, const char *library,
			  struct allocators *ret)
{
	const struct allocator_options options = {.library = library};

	return find_with(child, &options, ret);
}

static const char *base_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* The first address of the file, from another reader of /proc/PID/maps. */
static uint64_t first_address(const struct child *child, const char *path)
{
	char line[8192], name[64];
	uint64_t start = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", child->pid);

	FILE *f = fopen(name, "re");

	REQUIRE(f);
	while (!start && fgets(line, sizeof(line), f))
		if (strstr(line, path))
			start = strtoull(line, NULL, 16);
	fclose(f);
	return start;
}

static void check_function(const struct alloc_function *f)
{
	bool frees = f->effect == EFFECT_FREE;
	bool takes = frees || f->effect == EFFECT_REALLOC || f->effect == EFFECT_UNMAP ||
		     f->effect == EFFECT_REMAP || f->effect == EFFECT_RESIZE;

	CHECK_INT(f->old_arg != ARG_NONE, takes);
	CHECK_INT(f->size_arg == ARG_NONE, frees);
	CHECK_INT(f->out_arg != ARG_NONE, f->effect == EFFECT_ALLOC_OUT);
	CHECK_INT(f->mapping, f->effect >= EFFECT_MAP && f->effect <= EFFECT_REMAP);
	/* At most as many arguments as the probes can read. */
	CHECK(f->size_arg < 4 || f->size_arg == ARG_NONE);
	CHECK(f->count_arg < 4 || f->count_arg == ARG_NONE);
	/* One argument with two roles would be an error in the table. */
	CHECK(f->size_arg != f->count_arg || frees);
	CHECK(f->size_arg != f->old_arg);
}

static void function_table(void)
{
	const char *names[512];
	size_t count = 0;

	for (size_t i = 0; i < alloc_family_count; i++) {
		const struct alloc_family *family = &alloc_families[i];
		bool allocates = false, frees = false;

		for (const struct alloc_function *f = family->functions; f->name; f++) {
			check_function(f);
			CHECK(!strncmp(f->name, family->prefix, strlen(family->prefix)));
			for (size_t n = 0; n < count; n++)
				CHECK(strcmp(f->name, names[n]));
			REQUIRE(count < COUNT(names));
			names[count++] = f->name;
			allocates = allocates || alloc_function_allocates(f);
			frees = frees || f->effect == EFFECT_FREE;
		}
		CHECK(allocates && frees);
	}
	CHECK(count > 150);
}

static void libc_of_a_program(void)
{
	struct child child = child_cat("/bin/cat");
	struct allocators found = {0};
	char dir[64], link[96];

	REQUIRE(!find(&child, NULL, &found));
	REQUIRE(found.list.len == 1);

	const struct allocator *libc = &found.list.data[0];

	if (strcmp(base_of(libc->module_path), "libc.so.6"))
		printf("     libc is %s\n", libc->module_path);
	else
		CHECK_STR(libc->label, "glibc");
	CHECK(libc->module_path[0] == '/');
	CHECK_STR(target_file_name(libc->file), libc->module_path);
	CHECK_INT(libc->module_start, first_address(&child, libc->module_path));
	CHECK(libc->module_start != 0);
	CHECK(!libc->debug_path);

	/* The same file by all names that a user may know. */
	snprintf(dir, sizeof(dir), "%s", child_tmpdir());
	snprintf(link, sizeof(link), "%s/link", dir);
	REQUIRE(symlink(libc->module_path, link) == 0);

	const char *const names[] = {libc->module_path, base_of(libc->module_path), link};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct allocators again = {0};

		REQUIRE(!find(&child, names[i], &again));
		REQUIRE(again.list.len == 1);
		CHECK_STR(again.list.data[0].module_path, libc->module_path);
		CHECK_INT(again.list.data[0].module_start, libc->module_start);
		allocators_deinit(&again);
	}
	unlink(link);
	rmdir(dir);

	/* If the file is not mapped, the message names it and a similar one. */
	static const char *const absent[] = {"/nowhere/libjemalloc.so.2",
					     "libjemalloc.so.2", "/etc/passwd", "cat.so",
					     ""};

	for (size_t i = 0; i < COUNT(absent); i++) {
		struct allocators none = {0};
		_cleanup_(error_destroyp) struct error *err =
			find(&child, absent[i], &none);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_NOT_FOUND);
		CHECK_CONTAINS(err->message, "does not map");
		CHECK_CONTAINS(err->message, absent[i]);
		CHECK_CONTAINS(err->message, "--lib");
		CHECK_CONTAINS(err->message, libc->module_path);
	}
	allocators_deinit(&found);
	CHECK(!found.list.data && !found.list.len);
	child_end(&child);
}

/* A deleted program, and one that was replaced while it runs. */
static void files_that_are_gone(void)
{
	if (geteuid()) {
		printf("     not root: /proc/PID/map_files cannot be followed\n");
		return;
	}
	for (int replaced = 0; replaced < 2; replaced++) {
		const char *dir = child_tmpdir();
		struct allocators found = {0}, named = {0};
		struct child child;
		char path[128];

		snprintf(path, sizeof(path), "%s/program", dir);
		built_file(path, malloc_and_free, 2);
		REQUIRE(child_exec(path, &child));
		REQUIRE(unlink(path) == 0);
		if (replaced)
			built_write(path, "#!", 2);

		REQUIRE(!find(&child, NULL, &found));
		REQUIRE(found.list.len == 1);
		CHECK_STR(found.list.data[0].module_path, path);
		CHECK_STR(target_file_name(found.list.data[0].file), path);
		CHECK_STR(found.list.data[0].label, "executable");
		allocators_deinit(&found);
		REQUIRE(!find(&child, "program", &named));
		allocators_deinit(&named);
		child_end(&child);
		unlink(path);
		rmdir(dir);
	}
}

/* The process is stopped before the first instruction of the dynamic linker. */
static void libraries_are_not_mapped_yet(void)
{
	struct child child = {.pid = fork(), .to = -1, .from = -1};
	const struct allocator_options options = {0};
	struct allocators none = {0};
	int status;

	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(127);
	}
	REQUIRE(waitpid(child.pid, &status, 0) == child.pid);
	REQUIRE(WIFSTOPPED(status));

	_cleanup_(error_destroyp) struct error *err = find_with(&child, &options, &none);

	child_end(&child);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "only loaded the dynamic linker");
	CHECK_CONTAINS(err->message, "memtrace -- COMMAND");
}

static void nothing_is_mapped(void)
{
	struct child child = child_fork(NULL, NULL);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	const struct allocator_options options = {0};
	struct proc_maps maps = {0};
	struct allocators none = {0};

	REQUIRE(!proc_open(child.pid, &proc));

	_cleanup_(error_destroyp) struct error *err =
		allocators_find(proc, &maps, &options, &none);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "none of a file");
	child_end(&child);
}

/* Adds mappings of files that do not exist. */
static void add_files(struct proc_maps *maps, uint64_t first, size_t count,
		      const char *name)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t start = (first + i) * 0x10000;
		struct proc_mapping m = {.start = start,
					 .end = start + 0x1000,
					 .inode = first + i,
					 .dev_major = 0xfff,
					 .readable = true,
					 .executable = true};

		REQUIRE(asprintf(&m.path, "/nowhere/%zu/%s", i, name) > 0);
		REQUIRE(vec_push(&maps->mappings, m));
	}
}

/* A process loads one library after another: each time all of its files are looked up
 * among those that were opened before. */
static void files_that_are_known(void)
{
	struct child child = child_fork(NULL, NULL);
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps = {0};
	const struct allocator_options options = {.known = &maps};
	struct allocators none = {0};
	clock_t began;

	REQUIRE(!proc_open(child.pid, &proc));
	add_files(&maps, 1, 60000, "library.so");
	began = clock();

	_cleanup_(error_destroyp) struct error *err =
		allocators_find(proc, &maps, &options, &none);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	/* Processor time. A linear search would take more than ten seconds. */
	CHECK((clock() - began) / CLOCKS_PER_SEC < 3);
	proc_maps_deinit(&maps);
	child_end(&child);
}

/* More files than are opened have the name of the C library. The real one is mapped where
 * the dynamic linker puts it. */
static void many_files_of_one_name(void)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct untraced_files untraced = {0};
	const struct allocator_options options = {.untraced = &untraced};
	struct proc_maps maps = {0}, real = {0};
	struct allocators found = {0};
	const size_t count = 3000;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &real));
	add_files(&maps, 1, count, "libc.so.6");
	REQUIRE(vec_copy(&real.mappings, &maps.mappings));
	vec_deinit(&real.mappings);
	add_files(&maps, UINT64_C(0x7fffffff0000), count, "libc.so.6");
	CHECK(!allocators_find(proc, &maps, &options, &found));
	CHECK_INT(found.list.len, 1);
	if (found.list.len)
		CHECK_STR(found.list.data[0].label, LABEL_GLIBC);
	/* The files that were not opened are counted, and a line says why. */
	CHECK(untraced.count >= 2 * count - 1024);
	REQUIRE(untraced.why_unread);
	CHECK_CONTAINS(untraced.why_unread, "more than 1024 files");
	free(untraced.why_unread);
	allocators_deinit(&found);
	proc_maps_deinit(&maps);
	child_end(&child);
}

/* Adds mappings of files that do not exist, closer to the dynamic linker than any
 * library. */
static void add_close(struct proc_maps *maps, uint64_t linker, size_t count,
		      const char *name)
{
	size_t first = maps->mappings.len;

	add_files(maps, 1, count, name);
	for (size_t i = first; i < maps->mappings.len; i++) {
		maps->mappings.data[i].start = linker + 1 + i;
		maps->mappings.data[i].end = linker + 2 + i;
	}
}

/* Is the C library found among so many files? */
static bool is_found_among(size_t count, const char *name)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(proc_closep) struct proc *proc = NULL;
	const struct allocator_options options = {0};
	struct allocators found = {0};
	struct proc_maps maps = {0};
	struct error *err;
	struct auxv auxv;
	bool ret;

	REQUIRE(!proc_open(child.pid, &proc) && !proc_read_maps(proc, &maps));
	auxv_read(child.pid, &auxv);
	REQUIRE(auxv.linker_base);
	add_close(&maps, auxv.linker_base, count, name);
	err = allocators_find(proc, &maps, &options, &found);
	ret = !err && found.list.len == 1;
	error_destroy(err);
	allocators_deinit(&found);
	proc_maps_deinit(&maps);
	child_end(&child);
	return ret;
}

/* More files are opened until there is an allocator, and those named like one first. */
static void many_files_next_to_the_linker(void)
{
	CHECK(is_found_among(3000, "libc.so.6"));
	CHECK(!is_found_among(20000, "libc.so.6"));
	CHECK(is_found_among(20000, "library.so"));
}

/* --- a file that the target may not read ----------------------------------------------
 */

#define TARGET 12345 /* user and group */

/* Get an overlay as root directory, with a file of root. Its names are only known once it
 * has been opened. */
static void enter_overlay(void *folder)
{
	REQUIRE(!unshare(CLONE_NEWNS) &&
		!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	REQUIRE(!mount("ovl", folder, "tmpfs", 0, "mode=0755") && !chdir(folder));
	REQUIRE(!system("mkdir low up work merged && echo x > low/secret && "
			"chmod 0600 low/secret"));
	REQUIRE(!mount("overlay", "merged", "overlay", 0,
		       "lowerdir=low,upperdir=up,workdir=work"));
	REQUIRE(!symlink("/secret", "merged/library") && !chroot("merged") &&
		!chdir("/"));
	REQUIRE(!setresgid(TARGET, TARGET, TARGET) && !setresuid(TARGET, TARGET, TARGET));
}

/* --lib names a path at which the target has a link. */
static void a_file_of_root(void)
{
	char *folder = child_tmpdir(), path[64];
	struct allocators found = {0};
	struct decoy decoy;
	struct child child;

	if (geteuid()) {
		rmdir(folder);
		return;
	}
	child = child_fork(enter_overlay, folder);
	snprintf(path, sizeof(path), "/proc/%d/root/secret", child.pid);
	decoy = decoy_watch(path);

	_cleanup_(error_destroyp) struct error *err = find(&child, "/library", &found);

	CHECK(err);
	CHECK(!found.list.len);
	decoy_check(&decoy, path);
	child_end(&child);
	allocators_deinit(&found);
	rmdir(folder);
}

int main(void)
{
	RUN(function_table);
	RUN(libc_of_a_program);
	RUN(files_that_are_gone);
	RUN(libraries_are_not_mapped_yet);
	RUN(nothing_is_mapped);
	RUN(files_that_are_known);
	RUN(many_files_of_one_name);
	RUN(many_files_next_to_the_linker);
	RUN(a_file_of_root);
	return check_done();
}
