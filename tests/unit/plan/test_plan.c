// SPDX-License-Identifier: Apache-2.0
/* Sites of real processes and of generated files, and the printed plan. */
#include "check.h"

#include <dlfcn.h>

#include "arch/arch.h"
#include "plan/plan.h"
#include "unit/elf/elf_builder.h"
#include "unit/plan/plan_build.h"
#include "unit/process/child.h"
#include "unit/same_code.h"
#include "util/cleanup.h"

#if defined(__x86_64__)
#define NOTHING "first instruction: nothing better proven"
#else
#define NOTHING "first instruction"
#endif

/* Builds the plan for a generated file. Messages name it `shown`. */
static struct error *build_with(const struct built_symbol *symbols, size_t count,
				const char *shown, const struct plan_options *options,
				struct plan **ret)
{
	const char *dir = child_tmpdir();
	char path[96];

	snprintf(path, sizeof(path), "%s/library", dir);
	built_file(path, symbols, count);

	struct error *err = build_path(path, shown, options, ret);

	unlink(path);
	rmdir(dir);
	return err;
}

static struct error *build_for(const struct built_symbol *symbols, size_t count,
			       const char *shown, bool mappings, struct plan **ret)
{
	const struct plan_options options = {.mappings = mappings};

	return build_with(symbols, count, shown, &options, ret);
}

static bool is_missing(const struct plan *plan, const char *name)
{
	vec_foreach (function, &only(plan)->missing)
		if (!strcmp((*function)->name, name))
			return true;
	return false;
}

/* Each function of libc's table is in exactly one of the three lists, in the table's
 * order, or it does not exist and is not common. */
static void check_complete(const struct plan *plan, bool mappings)
{
	const struct plan_object *object = only(plan);
	size_t next = 0;

	for (const struct alloc_function *f = alloc_families[ALLOC_FAMILY_LIBC].functions;
	     f->name; f++) {
		const struct plan_site *site = site_of(plan, f->name);
		int lists = (site != NULL) + (skip_of(plan, f->name) != NULL) +
			    is_missing(plan, f->name);

		CHECK(lists == 1 || (lists == 0 && !f->common));
		CHECK(mappings || !f->mapping || !lists);
		if (site)
			CHECK(&object->sites.data[next++] == site);
	}
	CHECK_INT(next, object->sites.len);
	CHECK_INT(plan_site_count(plan), object->sites.len);
	for (size_t i = 0; i < object->sites.len; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(object->sites.data[i].entry_offset !=
			      object->sites.data[j].entry_offset);
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
		/* An alias of aligned_alloc in many releases of glibc. */
		CHECK(site_of(plan, "memalign") || skip_of(plan, "memalign"));
		CHECK_INT(site_of(plan, "mmap") != NULL, mappings);
		CHECK_INT(site_of(plan, "mremap") != NULL, mappings);
		CHECK_INT(site_of(plan, "free")->wants_return, mappings);
		vec_foreach (site, &only(plan)->sites) {
			CHECK(site->entry_offset != 0);
			if (site->function->effect != EFFECT_FREE)
				CHECK(site->wants_return);
			/* mmap and its family have sites, too. */
			if (site->function->mapping && arch.has_decoder)
				CHECK(!site->no_returns && site->returns.is_complete);
			CHECK(site->wants_return || !site->return_offset);
			CHECK(!site->wants_return ||
			      site->return_offset >= site->entry_offset);
			if (site->return_offset == site->entry_offset)
				CHECK_INT(site->sp_delta, 0);
			CHECK(site->reason);
		}
		if (mappings && skip_of(plan, "mmap64"))
			CHECK_STR(skip_of(plan, "mmap64")->other->name, "mmap");
		CHECK(only(plan)->build_id && strlen(only(plan)->build_id) >= 16);
	}
	child_end(&child);
}

/* The child is a fork of this program: it has the same code at the same addresses. */
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
	/* By name: a sanitizer adds a malloc to this program. */
	REQUIRE(!build(child.pid, "libc.so.6", true, &plan));

	const struct allocator *allocator = &only(plan)->allocator;
	int fd = open(allocator->module_path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	vec_foreach (site, &only(plan)->sites) {
		const unsigned char *code = dlsym(handle, site->function->name);
		unsigned char bytes[48];

		REQUIRE(pread(fd, bytes, sizeof(bytes), (off_t)site->offset) ==
			sizeof(bytes));
		/* cfree is a hidden version, which dlsym() does not find. */
		if (!code)
			continue;
		CHECK(is_same_code(bytes, code, sizeof(bytes)));
		CHECK_INT(site->address, (uintptr_t)code - allocator->module_start);
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
	CHECK_INT(plan_site_count(plan), 5);
	CHECK_INT(site_of(plan, "malloc")->entry_offset, 0x200);
	CHECK_INT(site_of(plan, "malloc")->address, BUILT_BASE + 0x200);
	/* The name that comes first in the table stays. */
	CHECK(site_of(plan, "aligned_alloc"));
	REQUIRE(skip_of(plan, "memalign"));
	CHECK_STR(skip_of(plan, "memalign")->other->name, "aligned_alloc");
	CHECK_STR(skip_of(plan, "cfree")->other->name, "free");
	CHECK_STR(skip_of(plan, "mmap64")->other->name, "mmap");
	REQUIRE(skip_of(plan, "calloc"));
	CHECK(!skip_of(plan, "calloc")->other);
	CHECK_INT(skip_of(plan, "calloc")->why, PLAN_SKIP_INDIRECT);
	CHECK_INT(skip_of(plan, "memalign")->why, PLAN_SKIP_SAME);
	CHECK(site_of(plan, "munmap")->wants_return);
	CHECK_STR(only(plan)->build_id, BUILT_BUILD_ID);
	/* The untraced function may call one that has a probe. */
	CHECK_STR(untraced_of(plan), "");
}

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

	/* A malloc without a free is not an allocator. */
	CHECK_REFUSED(build_for(only_malloc, 2, "/lib/a.so", false, &plan),
		      ERROR_NOT_FOUND, "allocates", "--lib");
	CHECK_REFUSED(build_for(indirect, 2, "/lib/a.so", false, &plan),
		      ERROR_UNSUPPORTED, "/lib/a.so", "malloc is an indirect", "--lib");
	CHECK_REFUSED(build_for(same, 2, "/lib/a.so", false, &plan), ERROR_UNSUPPORTED,
		      "/lib/a.so", "free has the same code as malloc");
	CHECK(!plan);
}

static void files_that_do_not_serve(void)
{
	struct child child = child_cat("/bin/cat");
	struct plan *plan = NULL;
	char path[96];

	/* A mapped file without an allocator, and a file that is not mapped. */
	CHECK_REFUSED(build(child.pid, "/bin/cat", false, &plan), ERROR_NOT_FOUND, "cat",
		      "does not define malloc", "--lib");
	CHECK_REFUSED(build(child.pid, "libnone.so", false, &plan), ERROR_NOT_FOUND,
		      "does not map libnone.so");
	child_end(&child);

	snprintf(path, sizeof(path), "%s/text", child_tmpdir());
	built_write(path, "text", 4);

	/* The file was replaced after it was scanned. */
	struct allocators found = {0};
	const struct plan_options options = {0};
	struct allocator allocator = {.module_path = strdup("/lib/text.so")};

	REQUIRE(!target_file_named(NULL, path, &allocator.file));
	REQUIRE(vec_push(&found.list, allocator));
	CHECK_REFUSED(plan_build_for(&found, &options, &plan), ERROR_MALFORMED,
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

/* Functions that only jump to another function. */
static void jumps(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"cfree", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
		{"valloc", STB_GLOBAL, STT_FUNC, 1, 0x260, false},
		{"free_sized", STB_GLOBAL, STT_FUNC, 1, 0x280, false},
		{"pvalloc", STB_GLOBAL, STT_FUNC, 1, 0x2a0, false},
	};
	static const struct {
		size_t at;
		unsigned char code[9];
	} patches[] = {
		{0x240,
		 {0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0xd7, 0xff, 0xff, 0xff}}, /* free */
		{0x260, {0xeb, 0x9e}},                                    /* malloc */
		{0x280, {0xe9, 0x7b, 0xff, 0xff, 0xff}}, /* malloc: another kind */
		{0x2a0, {0xeb, 0xfe}},                   /* jumps to itself */
	};
	static struct built_image image;
	const struct plan_options options = {0};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	const char *dir = child_tmpdir();
	char path[96];

	built_make(&image, symbols, COUNT(symbols));
	for (size_t i = 0; i < COUNT(patches); i++)
		memcpy(image.bytes + patches[i].at, patches[i].code,
		       sizeof(patches[i].code));
	snprintf(path, sizeof(path), "%s/library", dir);
	built_write(path, image.bytes, image.size);
	REQUIRE(!build_path(path, "/lib/a.so", &options, &plan));
	unlink(path);
	rmdir(dir);

	REQUIRE(skip_of(plan, "cfree") && skip_of(plan, "valloc"));
	CHECK_INT(skip_of(plan, "cfree")->why, PLAN_SKIP_JUMP);
	CHECK_STR(skip_of(plan, "cfree")->other->name, "free");
	CHECK_STR(skip_of(plan, "valloc")->other->name, "malloc");
	CHECK(site_of(plan, "free_sized") && site_of(plan, "pvalloc"));
}

/* --function: the other functions get no probe, except those that free or move a
 * block. */
static void one_function(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"realloc", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
		{"aligned_alloc", STB_GLOBAL, STT_FUNC, 1, 0x260, false},
		{"memalign", STB_GLOBAL, STT_FUNC, 1, 0x260, false},
	};
	struct plan_options options = {.function = "memalign"};
	struct plan *plan = NULL;

	REQUIRE(!build_with(symbols, COUNT(symbols), "/lib/a.so", &options, &plan));
	CHECK_INT(plan_site_count(plan), 3);
	/* The requested name is used, although another one comes first. */
	REQUIRE(site_of(plan, "memalign") && site_of(plan, "realloc"));
	CHECK(!site_of(plan, "memalign")->unrecorded);
	CHECK(site_of(plan, "realloc")->unrecorded);
	CHECK(site_of(plan, "free"));
	REQUIRE(skip_of(plan, "malloc"));
	CHECK_INT(skip_of(plan, "malloc")->why, PLAN_SKIP_UNWANTED);
	plan_destroy(plan);

	options.function = "realloc";
	REQUIRE(!build_with(symbols, COUNT(symbols), "/lib/a.so", &options, &plan));
	CHECK(!site_of(plan, "realloc")->unrecorded);
	CHECK_INT(plan_site_count(plan), 2);
	plan_destroy(plan);

	plan = NULL;
	options.function = "calloc";
	CHECK_REFUSED(build_with(symbols, COUNT(symbols), "/lib/a.so", &options, &plan),
		      ERROR_NOT_FOUND, "no allocator has a function calloc",
		      "/lib/a.so has malloc, realloc, aligned_alloc, memalign");
	options.function = "free";
	CHECK_REFUSED(build_with(symbols, COUNT(symbols), "/lib/a.so", &options, &plan),
		      ERROR_NOT_FOUND, "free that allocates");
	CHECK(!plan);
}

/* Each of several allocators in one file is a separate object. */
static void two_allocators(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"_rjem_mallocx", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
		{"_rjem_sdallocx", STB_GLOBAL, STT_FUNC, 1, 0x260, false},
	};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;

	REQUIRE(!build_for(symbols, COUNT(symbols), "/bin/x", false, &plan));
	REQUIRE(plan->objects.len == 2);
	CHECK_STR(plan->objects.data[0].allocator.label, "x");
	CHECK_STR(plan->objects.data[1].allocator.label, "jemalloc");
	CHECK_INT(plan_site_count(plan), 4);

	_cleanup_(freep) char *text = print(plan);

	CHECK_CONTAINS(text, "\n\nallocator  jemalloc\nfile       /bin/x\n");
	CHECK_CONTAINS(text, "  _rjem_sdallocx     0x260        entry");
}

static void hidden_functions(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_LOCAL, STT_FUNC, 0, 0x200, true},
		{"malloc", STB_LOCAL, STT_FUNC, 0, 0x210, true},
		{"free", STB_GLOBAL, STT_GNU_IFUNC, 0, 0x220, true},
		{"cfree", STB_GLOBAL, STT_FUNC, 0, 0x230, true},
		{"calloc", STB_GLOBAL, STT_FUNC, 0, 0x240, true},
	};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;

	REQUIRE(!build_for(symbols, COUNT(symbols), "/lib/a.so", false, &plan));
	CHECK_STR(untraced_of(plan), " malloc: hidden free: it is an indirect function");
	CHECK_INT(plan_untraced(plan, NULL, NULL), 2);

	_cleanup_(freep) char *text = print(plan);

	CHECK_CONTAINS(text, "\nmalloc is not found though it must be there");
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
		"allocator  \\x1b[31m\\x0ax.so\n"
		"file       /lib/\\x1b[31m\\x0ax.so\n"
		"build-id   " BUILT_BUILD_ID "\n"
		"\n"
		"  function           file offset  probe   place\n"
		"  malloc             0x200        entry   " NOTHING "\n"
		"  malloc             0x200        return  " NOTHING "\n"
		"  free               0x220        entry   " NOTHING "\n"
		"  realloc            0x2a0        entry   " NOTHING "\n"
		"  realloc            0x2a0        return  " NOTHING "\n"
		"\n"
		"  calloc is an indirect function and not probed\n"
		"  cfree is the same code as free\n"
		"\n"
		"not in this file: posix_memalign aligned_alloc\n";
	_cleanup_(plan_destroyp) struct plan *plan = NULL;

	REQUIRE(!build_for(symbols, COUNT(symbols), "/lib/\x1b[31m\nx.so", false, &plan));

	_cleanup_(freep) char *text = print(plan);

	CHECK_STR(text, want);

	struct plan_object *object = &plan->objects.data[0];

	free(object->build_id);
	object->build_id = NULL;
	object->skipped.len = object->missing.len = 0;

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
	RUN(jumps);
	RUN(one_function);
	RUN(two_allocators);
	RUN(hidden_functions);
	RUN(printed);
	return check_done();
}
