// SPDX-License-Identifier: Apache-2.0
/* The analysis of a file is reused for another process if file and memory are the
 * same. */
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "plan/plan_cache.h"
#include "util/cleanup.h"
#include "unit/plan/own_libc.h"
#include "unit/process/child.h"

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);
DEFINE_CLEANUP(struct plan_cache *, plan_cache_destroy);
DEFINE_CLEANUP(struct elf_file *, elf_file_close);

static struct plan *plan_of(int pid, struct plan_cache *cache)
{
	const struct plan_options options = {.cache = cache};
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;
	struct plan *plan;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	REQUIRE(!plan_build(proc, &maps, &options, &plan));
	REQUIRE(plan->objects.len == 1);
	proc_maps_deinit(&maps);
	return plan;
}

/* The object before the analysis: only its allocator. Owns nothing. */
static struct plan_object before_analysis(const struct plan *plan)
{
	return (struct plan_object){.allocator = plan->objects.data[0].allocator};
}

static void drop(struct plan_object *object)
{
	object->allocator = (struct allocator){0};
	plan_object_deinit(object);
}

/* Looks up the object of the process of `plan`. */
static bool find(const struct plan_cache *cache, int pid, const struct plan *plan,
		 struct plan_object *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	*ret = before_analysis(plan);
	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	REQUIRE(!elf_file_open(ret->allocator.module_path, &file));

	const struct site_target target = {.proc = proc, .maps = &maps};
	bool found = plan_cache_find(cache, file, &target, ret);

	proc_maps_deinit(&maps);
	return found;
}

static void check_same_sites(const struct plan_site *a, const struct plan_site *b)
{
	CHECK(a->function == b->function);
	CHECK_INT(a->entry_offset, b->entry_offset);
	CHECK_INT(a->return_offset, b->return_offset);
	CHECK_INT(a->body.count, b->body.count);
	CHECK_STR(a->reason, b->reason);
	CHECK(a->no_returns == b->no_returns);
	CHECK_INT(a->returns.is_fused, b->returns.is_fused);
	CHECK_INT(a->returns.is_complete, b->returns.is_complete);
	CHECK_INT(a->returns.has_more_exits, b->returns.has_more_exits);
	REQUIRE(a->returns.list.len == b->returns.list.len &&
		a->returns.entries.len == b->returns.entries.len &&
		a->returns.exits.len == b->returns.exits.len);
	CHECK(!a->returns.list.len || a->returns.list.data != b->returns.list.data);
	for (size_t i = 0; i < a->returns.list.len; i++) {
		const struct return_site *x = &a->returns.list.data[i],
					 *y = &b->returns.list.data[i];

		CHECK_INT(x->address, y->address);
		CHECK_INT(x->value[0].kind, y->value[0].kind);
		CHECK_INT(x->value[1].kind, y->value[1].kind);
		CHECK_INT(x->lacks_cfi, y->lacks_cfi);
		CHECK_STR(x->reason, y->reason);
	}
	for (size_t i = 0; i < a->returns.entries.len; i++)
		CHECK_INT(a->returns.entries.data[i].address,
			  b->returns.entries.data[i].address);
	for (size_t i = 0; i < a->returns.exits.len; i++)
		CHECK_INT(a->returns.exits.data[i].address,
			  b->returns.exits.data[i].address);
}

static void check_same(const struct plan_object *a, const struct plan_object *b)
{
	REQUIRE(a->sites.len == b->sites.len && a->skipped.len == b->skipped.len);
	for (size_t i = 0; i < a->sites.len; i++)
		check_same_sites(&a->sites.data[i], &b->sites.data[i]);
	for (size_t i = 0; i < a->skipped.len; i++) {
		CHECK(a->skipped.data[i].function == b->skipped.data[i].function);
		CHECK_INT(a->skipped.data[i].why, b->skipped.data[i].why);
	}
}

/* The second process gets the same sites as by its own analysis. */
static void another_process(void)
{
	_cleanup_(plan_cache_destroyp) struct plan_cache *cache = plan_cache_create();
	struct child first = child_cat("/bin/cat"), second = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *own = plan_of(second.pid, NULL);
	_cleanup_(plan_destroyp) struct plan *of_first = NULL, *of_second = NULL;
	struct plan_object known;

	REQUIRE(cache);
	CHECK(!find(cache, second.pid, own, &known));
	of_first = plan_of(first.pid, cache);
	CHECK(find(cache, second.pid, own, &known));
	check_same(&own->objects.data[0], &known);
	drop(&known);
	of_second = plan_of(second.pid, cache);
	check_same(&own->objects.data[0], &of_second->objects.data[0]);
	child_end(&first);
	child_end(&second);
}

static void put_byte(int pid, uint64_t address, unsigned char byte, unsigned char *was)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);

	int fd = open(path, O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(pread(fd, was, 1, (off_t)address) == 1);
	REQUIRE(pwrite(fd, &byte, 1, (off_t)address) == 1);
	close(fd);
}

/* A process that has patched its malloc: it must not get the file's sites, and its own
 * must not be used for other processes. */
static void patched_memory(void)
{
	const struct own_libc libc = own_libc_begin();
	_cleanup_(plan_cache_destroyp) struct plan_cache *cache = plan_cache_create(),
							 *other = plan_cache_create();
	struct child first = child_cat("/bin/cat"), second = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *of_first = plan_of(first.pid, cache);
	_cleanup_(plan_destroyp) struct plan *own = plan_of(second.pid, NULL);
	_cleanup_(plan_destroyp) struct plan *patched = NULL, *mended = NULL;
	const struct plan_object *object = &own->objects.data[0];
	uint64_t at = object->allocator.module_start + object->sites.data[0].address;
	struct plan_object known;
	unsigned char was, patch;

	put_byte(second.pid, at, 0x06, &was);
	CHECK(!find(cache, second.pid, own, &known));
	patched = plan_of(second.pid, cache);
	CHECK(object->sites.data[0].body.count);
	CHECK(!patched->objects.data[0].sites.data[0].body.count);
	plan_destroy(plan_of(second.pid, other));
	CHECK(!find(other, first.pid, of_first, &known));

	put_byte(second.pid, at, was, &patch);
	mended = plan_of(second.pid, cache);
	check_same(&of_first->objects.data[0], &mended->objects.data[0]);
	child_end(&first);
	child_end(&second);
	own_libc_end(&libc);
}

/* A copy of the C library, and a plan that fills the cache. */
struct copied {
	char path[96];
	struct plan *plan;
	struct plan_cache *cache;
	unsigned char *text; /* the file, mapped shared */
	size_t size;
};

static struct plan *plan_of_file(const char *path, struct plan_cache *cache)
{
	const struct plan_options options = {.unmapped = true, .cache = cache};
	struct allocator_file file = {.module_path = path};
	const struct allocator_options how = {0};
	struct allocators found = {0};
	struct plan *plan;
	char *why = NULL;

	REQUIRE(!target_file_named(NULL, path, &file.file));
	REQUIRE(!allocators_scan(&file, &how, &found, &why));
	target_file_release(file.file);
	REQUIRE(!plan_build_for(&found, &options, &plan));
	free(why);
	return plan;
}

static void copy_library(struct copied *ret)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *plan = plan_of(child.pid, NULL);
	const char *library = plan->objects.data[0].allocator.module_path;
	char command[256];
	struct stat st;

	snprintf(ret->path, sizeof(ret->path), "%s/library", child_tmpdir());
	snprintf(command, sizeof(command), "cp %s %s", library, ret->path);
	REQUIRE(!system(command));

	int fd = open(ret->path, O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0 && !fstat(fd, &st));
	ret->size = (size_t)st.st_size;
	ret->text = mmap(NULL, ret->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(ret->text != MAP_FAILED);
	close(fd);
	child_end(&child);
}

static void drop_library(struct copied *copied)
{
	munmap(copied->text, copied->size);
	unlink(copied->path);
	*strrchr(copied->path, '/') = 0;
	rmdir(copied->path);
	plan_destroy(copied->plan);
	plan_cache_destroy(copied->cache);
}

static bool find_in_file(const struct copied *copied, struct elf_identity *identity)
{
	const struct site_target no_target = {.unmapped = true};
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct plan_object known = before_analysis(copied->plan);
	bool found;

	REQUIRE(!elf_file_open(copied->path, &file));
	*identity = elf_file_identity(file);
	found = plan_cache_find(copied->cache, file, &no_target, &known);
	drop(&known);
	return found;
}

/* A file that was written to counts as another file, even if only its content shows
 * it. */
static void changed_file(void)
{
	struct copied copied = {.cache = plan_cache_create()};
	struct elf_identity before, after;
	volatile unsigned char *malloc_text;

	copy_library(&copied);
	copied.plan = plan_of_file(copied.path, copied.cache);
	malloc_text = &copied.text[copied.plan->objects.data[0].sites.data[0].offset];
	/* Only the first write to a page of a mapping changes the file's times. */
	*malloc_text ^= 0x10;
	*malloc_text ^= 0x10;
	plan_destroy(copied.plan);
	copied.plan = plan_of_file(copied.path, copied.cache);
	CHECK(find_in_file(&copied, &before));

	*malloc_text ^= 0x10;
	CHECK(!find_in_file(&copied, &after));
	CHECK(elf_identity_equals(&before, &after));
	*malloc_text ^= 0x10;
	CHECK(find_in_file(&copied, &after));

	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};

	REQUIRE(!utimensat(AT_FDCWD, copied.path, times, 0));
	CHECK(!find_in_file(&copied, &after));
	CHECK(!elf_identity_equals(&before, &after));
	drop_library(&copied);
}

int main(void)
{
	RUN(another_process);
#if defined(__x86_64__)
	RUN(patched_memory);
	RUN(changed_file);
#endif
	return check_done();
}
