// SPDX-License-Identifier: Apache-2.0
/* Sites of real processes and of made files, and the plan as people see it. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "plan/plan.h"
#include "util/cleanup.h"
#include "unit/target/child.h"
#include "unit/target/elf_builder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);

static struct error *build(int pid, const char *library, bool mappings, struct plan **ret)
{
	const struct plan_options options = {.library = library, .mappings = mappings};
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	struct error *err = plan_build(proc, &maps, &options, ret);

	proc_maps_deinit(&maps);
	return err;
}

/* The plan for a made file, shown as `shown`. */
static struct error *build_for(const struct built_symbol *symbols, size_t count,
			       const char *shown, bool mappings, struct plan **ret)
{
	const char *dir = child_tmpdir();
	char path[96];

	snprintf(path, sizeof(path), "%s/library", dir);
	built_file(path, symbols, count);

	struct allocator allocator = {
		.module_path = strdup(shown),
		.open_path = strdup(path),
		.module_start = 0x7f0000000000,
	};
	struct error *err = plan_build_for(&allocator, mappings, ret);

	CHECK(!allocator.module_path && !allocator.open_path);
	unlink(path);
	rmdir(dir);
	return err;
}

static const struct plan_site *site_of(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->sites.len; i++)
		if (!strcmp(plan->sites.data[i].function->name, name))
			return &plan->sites.data[i];
	return NULL;
}

static const struct plan_skip *skip_of(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->skipped.len; i++)
		if (!strcmp(plan->skipped.data[i].function->name, name))
			return &plan->skipped.data[i];
	return NULL;
}

static bool is_missing(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->missing.len; i++)
		if (!strcmp(plan->missing.data[i]->name, name))
			return true;
	return false;
}

/* Every function of the table is in one of the three lists, once, and in its order. */
static void check_complete(const struct plan *plan, bool mappings)
{
	size_t next = 0;

	for (const struct alloc_function *f = alloc_libc_functions; f->name; f++) {
		bool placed = site_of(plan, f->name);

		CHECK_INT(placed + (skip_of(plan, f->name) != NULL) +
				  is_missing(plan, f->name),
			  mappings || !f->mapping);
		if (placed)
			CHECK(plan->sites.data[next++].function == f);
	}
	CHECK_INT(next, plan->sites.len);
	for (size_t i = 0; i < plan->sites.len; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(plan->sites.data[i].entry_offset !=
			      plan->sites.data[j].entry_offset);
}

static void libc_of_a_program(void)
{
	static const char *const heap[] = {
		"malloc",         "free",          "calloc",      "realloc",
		"posix_memalign", "aligned_alloc", "reallocarray"};
	struct child child = child_cat("/bin/cat");

	for (int mappings = 0; mappings < 2; mappings++) {
		_cleanup_(plan_destroyp) struct plan *plan = NULL;

		REQUIRE(!build(child.pid, NULL, mappings, &plan));
		check_complete(plan, mappings);
		for (size_t i = 0; i < COUNT(heap); i++)
			CHECK(site_of(plan, heap[i]));
		/* Another name of aligned_alloc in many releases of glibc. */
		CHECK(site_of(plan, "memalign") || skip_of(plan, "memalign"));
		CHECK_INT(site_of(plan, "mmap") != NULL, mappings);
		CHECK_INT(site_of(plan, "mremap") != NULL, mappings);
		CHECK_INT(site_of(plan, "free")->wants_return, mappings);
		for (size_t i = 0; i < plan->sites.len; i++) {
			const struct plan_site *site = &plan->sites.data[i];

			CHECK(site->entry_offset != 0);
			if (site->function->effect != EFFECT_FREE)
				CHECK(site->wants_return);
			CHECK_INT(site->return_offset,
				  site->wants_return ? site->entry_offset : 0);
			CHECK_STR(site->reason, "first instruction");
		}
		if (mappings && skip_of(plan, "mmap64"))
			CHECK_STR(skip_of(plan, "mmap64")->same_as->name, "mmap");
		CHECK(plan->build_id && strlen(plan->build_id) >= 16);
	}
	child_end(&child);
}

/* The child is a fork of this program: the code at our addresses is its code. */
static void offsets_are_where_the_code_is(void)
{
	struct child child = child_fork(NULL, NULL);
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (!handle) {
		printf("     no shared glibc\n");
		child_end(&child);
		return;
	}
	/* By name, since a sanitizer puts a malloc into this very program. */
	REQUIRE(!build(child.pid, "libc.so.6", true, &plan));

	int fd = open(plan->allocator.open_path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	for (size_t i = 0; i < plan->sites.len; i++) {
		const struct plan_site *site = &plan->sites.data[i];
		const unsigned char *code = dlsym(handle, site->function->name);
		unsigned char bytes[48];

		REQUIRE(pread(fd, bytes, sizeof(bytes), (off_t)site->entry_offset) ==
			sizeof(bytes));
		/* cfree is a hidden version, which dlsym() does not give. */
		if (!code)
			continue;
		CHECK(!memcmp(bytes, code, sizeof(bytes)));
		CHECK_INT(site->address, (uintptr_t)code - plan->allocator.module_start);
	}
	close(fd);
	dlclose(handle);
	child_end(&child);
}

static void aliases_and_indirect_functions(void)
{
	static const struct built_symbol symbols[] = {
		{"memalign", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
		{"aligned_alloc", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
		{"cfree", STB_GLOBAL, STT_FUNC, 0x8001, 0x220, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"calloc", STB_GLOBAL, STT_GNU_IFUNC, 1, 0x260, false},
		{"mmap", STB_GLOBAL, STT_FUNC, 1, 0x280, false},
		{"mmap64", STB_GLOBAL, STT_FUNC, 1, 0x280, false},
		{"munmap", STB_GLOBAL, STT_FUNC, 1, 0x290, false},
	};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;

	REQUIRE(!build_for(symbols, COUNT(symbols), "/lib/a.so", true, &plan));
	check_complete(plan, true);
	CHECK_INT(plan->sites.len, 5);
	CHECK_INT(site_of(plan, "malloc")->entry_offset, 0x200);
	CHECK_INT(site_of(plan, "malloc")->address, BUILT_BASE + 0x200);
	/* The name that comes first in the table stays. */
	CHECK(site_of(plan, "aligned_alloc"));
	REQUIRE(skip_of(plan, "memalign"));
	CHECK_STR(skip_of(plan, "memalign")->same_as->name, "aligned_alloc");
	CHECK_STR(skip_of(plan, "cfree")->same_as->name, "free");
	CHECK_STR(skip_of(plan, "mmap64")->same_as->name, "mmap");
	REQUIRE(skip_of(plan, "calloc"));
	CHECK(!skip_of(plan, "calloc")->same_as);
	CHECK(site_of(plan, "munmap")->wants_return);
	CHECK_STR(plan->build_id, BUILT_BUILD_ID);
}

static void check_refused(struct error *err, enum error_code code,
			  const char *const words[])
{
	REQUIRE(err);
	CHECK_INT(err->code, code);
	for (; *words; words++)
		CHECK_CONTAINS(err->message, *words);
	error_destroy(err);
}

#define CHECK_REFUSED(err, code, ...)                                                    \
	check_refused(err, code, (const char *const[]){__VA_ARGS__, NULL})

static void required_functions(void)
{
	static const struct built_symbol only_malloc[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"calloc", STB_GLOBAL, STT_FUNC, 1, 0x210, false},
	};
	static const struct built_symbol indirect[] = {
		{"malloc", STB_GLOBAL, STT_GNU_IFUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x210, false},
	};
	static const struct built_symbol same[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
	};
	struct plan *plan = NULL;

	CHECK_REFUSED(build_for(only_malloc, 2, "/lib/a.so", false, &plan),
		      ERROR_NOT_FOUND, "/lib/a.so", "free", "--lib");
	CHECK_REFUSED(build_for(NULL, 0, "/lib/a.so", false, &plan), ERROR_NOT_FOUND,
		      "/lib/a.so", "malloc", "--lib");
	CHECK_REFUSED(build_for(indirect, 2, "/lib/a.so", false, &plan),
		      ERROR_UNSUPPORTED, "/lib/a.so", "malloc", "indirect", "--lib");
	CHECK_REFUSED(build_for(same, 2, "/lib/a.so", false, &plan), ERROR_UNSUPPORTED,
		      "/lib/a.so", "free has the same code as malloc");
	CHECK(!plan);
}

static void files_that_do_not_serve(void)
{
	struct child child = child_cat("/bin/cat");
	struct plan *plan = NULL;
	char path[96];

	/* Mapped, but no allocator; and not mapped at all. */
	CHECK_REFUSED(build(child.pid, "/bin/cat", false, &plan), ERROR_NOT_FOUND, "cat",
		      "does not define malloc", "--lib");
	CHECK_REFUSED(build(child.pid, "libnone.so", false, &plan), ERROR_NOT_FOUND,
		      "has not mapped libnone.so");
	child_end(&child);

	snprintf(path, sizeof(path), "%s/text", child_tmpdir());
	built_write(path, "text", 4);

	struct allocator allocator = {.module_path = strdup("/lib/text.so"),
				      .open_path = strdup(path)};

	CHECK_REFUSED(plan_build_for(&allocator, false, &plan), ERROR_MALFORMED,
		      "allocator /lib/text.so", "not an ELF file");
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void target_that_exits(void)
{
	struct child child = child_cat("/bin/cat");
	const struct plan_options options = {0};
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;
	struct plan *plan = NULL;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	child_end(&child);
	CHECK_REFUSED(plan_build(proc, &maps, &options, &plan), ERROR_GONE,
		      "(cat) has exited");
	proc_maps_deinit(&maps);
}

static char *print(const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	REQUIRE(f);
	plan_print(plan, f);
	REQUIRE(fclose(f) == 0);
	return text;
}

static void printed(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"cfree", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"calloc", STB_GLOBAL, STT_GNU_IFUNC, 1, 0x260, false},
		{"realloc", STB_GLOBAL, STT_FUNC, 1, 0x2a0, false},
	};
	static const char want[] =
		"allocator  /lib/\\x1b[31m\\x0ax.so\n"
		"build-id   " BUILT_BUILD_ID "\n"
		"\n"
		"  function           file offset  probe   place\n"
		"  malloc             0x200        entry   first instruction\n"
		"  malloc             0x200        return  first instruction\n"
		"  free               0x220        entry   first instruction\n"
		"  realloc            0x2a0        entry   first instruction\n"
		"  realloc            0x2a0        return  first instruction\n"
		"\n"
		"  calloc is an indirect function and not probed\n"
		"  cfree is the same code as free\n"
		"\n"
		"not in this file: reallocarray posix_memalign aligned_alloc memalign "
		"valloc "
		"pvalloc free_sized free_aligned_sized\n";
	_cleanup_(plan_destroyp) struct plan *plan = NULL;

	REQUIRE(!build_for(symbols, COUNT(symbols), "/lib/\x1b[31m\nx.so", false, &plan));

	_cleanup_(freep) char *text = print(plan);

	CHECK_STR(text, want);

	free(plan->build_id);
	plan->build_id = NULL;
	plan->skipped.len = plan->missing.len = 0;

	_cleanup_(freep) char *bare = print(plan);

	CHECK_CONTAINS(bare, "build-id   none\n");
	CHECK(!strstr(bare, "not in this file") && !strstr(bare, "cfree"));
	plan_destroy(NULL);
}

int main(void)
{
	RUN(libc_of_a_program);
	RUN(offsets_are_where_the_code_is);
	RUN(aliases_and_indirect_functions);
	RUN(required_functions);
	RUN(files_that_do_not_serve);
	RUN(target_that_exits);
	RUN(printed);
	return check_done();
}
