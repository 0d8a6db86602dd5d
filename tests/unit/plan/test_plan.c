// SPDX-License-Identifier: Apache-2.0
/* Sites of real processes and of generated files, and the printed plan. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/ptrace.h>

#include "plan/plan.h"
#include "util/cleanup.h"
#include "unit/process/child.h"
#include "unit/elf/elf_builder.h"

#if defined(__x86_64__)
#define NOTHING "first instruction: nothing better proven"
#else
#define NOTHING "first instruction"
#endif
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);

static struct error *build_on(int pid, const struct plan_options *options,
			      struct plan **ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	struct error *err = plan_build(proc, &maps, options, ret);

	proc_maps_deinit(&maps);
	return err;
}

static struct error *build(int pid, const char *library, bool mappings, struct plan **ret)
{
	const struct plan_options options = {.library = library, .mappings = mappings};

	return build_on(pid, &options, ret);
}

/* Builds the plan for the file at `path`. Messages name it `shown`. */
static struct error *build_path(const char *path, const char *shown,
				const struct plan_options *options, struct plan **ret)
{
	const struct allocator_options how = {.mappings = options->mappings};
	struct allocator_file file = {
		.module_path = shown,
		.module_start = 0x7f0000000000,
	};
	struct allocators found = {0};
	char *stripped = NULL;
	struct error *err = target_file_named(NULL, path, &file.file);

	if (!err)
		err = allocators_scan(&file, &how, &found, &stripped);
	target_file_release(file.file);
	free(stripped);
	if (!err)
		err = plan_build_for(&found, options, ret);
	CHECK(!found.list.data);
	return err;
}

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

/* The only object of the plan. */
static const struct plan_object *only(const struct plan *plan)
{
	REQUIRE(plan->objects.len == 1);
	return &plan->objects.data[0];
}

static const struct plan_site *site_of(const struct plan *plan, const char *name)
{
	vec_foreach (site, &only(plan)->sites)
		if (!strcmp(site->function->name, name))
			return site;
	return NULL;
}

static const struct plan_skip *skip_of(const struct plan *plan, const char *name)
{
	vec_foreach (skip, &only(plan)->skipped)
		if (!strcmp(skip->function->name, name))
			return skip;
	return NULL;
}

static void add_untraced(void *arg, const struct plan_object *object,
			 const struct alloc_function *function, const char *reason)
{
	char *text = arg;

	CHECK(object->allocator.module_path);
	snprintf(text + strlen(text), 512 - strlen(text), " %s: %s", function->name,
		 reason ? reason : "hidden");
}

/* The text of plan_untraced(). Borrowed until the next call. */
static const char *untraced_of(const struct plan *plan)
{
	static char text[512];

	text[0] = '\0';
	plan_untraced(plan, add_untraced, text);
	return text;
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
		CHECK(!memcmp(bytes, code, sizeof(bytes)));
		CHECK_INT(site->address, (uintptr_t)code - allocator->module_start);
	}
	close(fd);
	dlclose(handle);
	child_end(&child);
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

static char *print(const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	REQUIRE(f);
	plan_print(plan, false, f);
	REQUIRE(fclose(f) == 0);
	return text;
}

#if defined(__x86_64__)
/* A place inside a function is used where the target's text is the file's, the first
 * instruction where that is the file's, and none else. */
static void text_in_memory(void)
{
	enum kind {
		AS_BEFORE,
		FIRST,
		NOWHERE
	};
	static const struct {
		bool is_inside;
		unsigned char byte;
		enum kind kind;
		int at; /* from there, bytes */
		const char *reason;
	} changes[] = {
		/* Somebody's breakpoint; and what none can be. */
		{false, 0xcc, AS_BEFORE, 0, NULL},
		{false, 0xcc, NOWHERE, 1, "its code in memory differs from the file"},
		{false, 0x06, NOWHERE, 0, "its code in memory differs from the file"},
		{true, 0x06, FIRST, 0,
		 "first instruction: text in memory differs from the file"},
	};
	struct child child = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	const struct plan_site *inside = NULL;
	char path[64];

	REQUIRE(!build(child.pid, NULL, true, &plan));
	vec_foreach (site, &only(plan)->sites)
		if (site->entry_offset != site->offset)
			inside = site;
	if (!inside) {
		printf("     no function with a place inside\n");
		child_end(&child);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", child.pid);

	int fd = open(path, O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0);
	for (size_t i = 0; i < COUNT(changes); i++) {
		_cleanup_(plan_destroyp) struct plan *again = NULL;
		uint64_t at =
			only(plan)->allocator.module_start + inside->address +
			(changes[i].is_inside ? inside->entry_offset - inside->offset
					      : 0) +
			(uint64_t)changes[i].at;
		unsigned char was;

		REQUIRE(pread(fd, &was, 1, (off_t)at) == 1);
		REQUIRE(pwrite(fd, &changes[i].byte, 1, (off_t)at) == 1);
		REQUIRE(!build(child.pid, NULL, true, &again));
		REQUIRE(pwrite(fd, &was, 1, (off_t)at) == 1);

		const struct plan_site *site = site_of(again, inside->function->name);
		const struct plan_skip *skip = skip_of(again, inside->function->name);

		CHECK_INT(site != NULL, changes[i].kind != NOWHERE);
		if (!site) {
			REQUIRE(skip);
			CHECK_INT(skip->why, PLAN_SKIP_REFUSED);
			CHECK_STR(skip->reason, changes[i].reason);
			CHECK_CONTAINS(untraced_of(again), changes[i].reason);
			continue;
		}
		CHECK_STR(site->reason,
			  changes[i].reason ? changes[i].reason : inside->reason);
		if (changes[i].kind == AS_BEFORE) {
			CHECK_INT(site->entry_offset, inside->entry_offset);
			continue;
		}
		CHECK_INT(site->entry_offset, inside->offset);
		CHECK_INT(site->return_offset, site->wants_return ? inside->offset : 0);
		CHECK_INT(site->sp_delta, 0);
	}
	close(fd);
	child_end(&child);
}

/* Refuses return probes. *arg counts the calls. */
static const char *refuse(void *arg, int pid)
{
	unsigned *asked = arg;

	CHECK(pid > 0);
	++*asked;
	return "it would harm";
}

static struct error *build_refused(int pid, bool mappings, unsigned *asked,
				   struct plan **ret)
{
	const struct plan_options options = {
		.mappings = mappings, .refuse_returns = refuse, .refuse_arg = asked};

	*asked = 0;
	return build_on(pid, &options, ret);
}

/* memtrace checks the process only if it needs a return probe. The check fails here:
 * functions that can be stepped are stepped, the others are not traced. */
static void refused_return_probes(void)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *usual = NULL, *stepped = NULL, *plan = NULL;
	unsigned char was, patch = 0x06;
	unsigned asked;
	char path[64];

	REQUIRE(!build(child.pid, NULL, true, &usual));
	REQUIRE(site_of(usual, "free")->no_returns);
	CHECK(plan_has_return_probes(usual, true));
	CHECK(!usual->refusal);
	REQUIRE(!build_refused(child.pid, false, &asked, &plan));
	CHECK_INT(asked, 0);
	CHECK(!plan->refusal);
	CHECK(!plan_has_return_probes(plan, true));
	CHECK(plan_has_return_probes(plan, false));
	REQUIRE(!build_refused(child.pid, true, &asked, &stepped));
	CHECK_INT(asked, 1);
	CHECK_STR(stepped->refusal, "it would harm");
	CHECK(!plan_has_return_probes(stepped, true));
	CHECK(site_of(stepped, "free")->returns.is_complete);

	/* Its code is not understood, but for the first instruction. */
	const struct plan_site *calloc_site = site_of(usual, "calloc");
	uint64_t at = only(usual)->allocator.module_start + calloc_site->address + 15;

	snprintf(path, sizeof(path), "/proc/%d/mem", child.pid);

	int fd = open(path, O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(pread(fd, &was, 1, (off_t)at) == 1);
	REQUIRE(pwrite(fd, &patch, 1, (off_t)at) == 1);
	plan_destroy(take(plan));
	REQUIRE(!build_refused(child.pid, false, &asked, &plan));
	CHECK_INT(asked, 1);
	CHECK(!site_of(plan, "calloc"));
	CHECK(!plan_has_return_probes(plan, true));
	CHECK_INT(plan_untraced(plan, NULL, NULL), 1);

	/* No function that allocates is left. */
	const struct plan_options only_calloc = {
		.function = "calloc", .refuse_returns = refuse, .refuse_arg = &asked};

	plan_destroy(take(plan));
	CHECK_REFUSED(build_on(child.pid, &only_calloc, &plan), ERROR_UNSAFE, "calloc",
		      "it would harm");
	close(fd);
	child_end(&child);
}

/* Lists all places of a plan with one object. */
static void list_places(const struct plan *plan, struct plan_breakpoints *ret)
{
	vec_foreach (site, &only(plan)->sites) {
		REQUIRE(vec_push(&ret->offsets, site->entry_offset));
		if (site->wants_return)
			REQUIRE(vec_push(&ret->offsets, site->return_offset));
		for (size_t i = 0; i < site->body.count; i++)
			REQUIRE(vec_push(&ret->offsets,
					 site->offset + site->body.sites[i].delta));
		vec_foreach (at, &site->returns.list)
			REQUIRE(vec_push(&ret->offsets,
					 site->offset + (at->address - site->address)));
	}
}

static const struct plan_breakpoints *find_places(void *arg, const char *path)
{
	const struct plan_breakpoints *places = arg;

	CHECK(access(path, R_OK) == 0);
	return places->offsets.len ? places : NULL;
}

static void put_byte(const struct child *child, uint64_t address, unsigned char byte)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", child->pid);

	int fd = open(path, O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(pwrite(fd, &byte, 1, (off_t)address) == 1);
	close(fd);
}

/* How many sites have another place in the second plan. */
static unsigned count_moved(const struct plan *plan, const struct plan *again)
{
	unsigned moved = 0;

	REQUIRE(only(plan)->sites.len == only(again)->sites.len);
	for (size_t i = 0; i < only(plan)->sites.len; i++) {
		const struct plan_site *a = &only(plan)->sites.data[i],
				       *b = &only(again)->sites.data[i];

		CHECK(a->function == b->function);
		moved += a->entry_offset != b->entry_offset ||
			 a->return_offset != b->return_offset ||
			 a->sp_delta != b->sp_delta || a->body.count != b->body.count ||
			 a->returns.list.len != b->returns.list.len ||
			 strcmp(a->reason, b->reason) != 0;
	}
	return moved;
}

static void debug(void *pid)
{
	if (ptrace(PTRACE_SEIZE, *(const pid_t *)pid, NULL, NULL))
		_exit(1);
}

/* In a process that has a debugger, a breakpoint may be the debugger's, unless it is
 * ours. */
static void check_with_debugger(const struct child *child,
				const struct plan_options *options,
				const struct plan *plan)
{
	_cleanup_(plan_destroyp) struct plan *same = NULL, *other = NULL;
	struct plan_options unknown = *options;
	pid_t pid = child->pid;
	struct child debugger;

	/* Others may trace only their children. */
	if (geteuid())
		return;
	debugger = child_fork(debug, &pid);
	unknown.find_breakpoints = NULL;
	REQUIRE(!build_on(child->pid, options, &same));
	CHECK_INT(count_moved(plan, same), 0);
	REQUIRE(!build_on(child->pid, &unknown, &other));
	CHECK(count_moved(plan, other) > 0);
	child_end(&debugger);
}

/* Our own breakpoints in memory, as in a program that a traced process executes, do not
 * change the plan. */
static void own_breakpoints(void)
{
	struct child child = child_cat("/bin/cat");
	struct plan_breakpoints places = {0};
	const struct plan_options options = {.mappings = true,
					     .find_breakpoints = find_places,
					     .breakpoints_arg = &places};
	_cleanup_(plan_destroyp) struct plan *plan = NULL, *again = NULL, *other = NULL,
					     *differs = NULL;
	const struct plan_site *inside = NULL;

	REQUIRE(!build_on(child.pid, &options, &plan));
	list_places(plan, &places);

	/* From file offsets to addresses. */
	uint64_t base = only(plan)->allocator.module_start +
			only(plan)->sites.data[0].address -
			only(plan)->sites.data[0].offset;

	vec_foreach (offset, &places.offsets)
		put_byte(&child, base + *offset, 0xcc);
	REQUIRE(!build_on(child.pid, &options, &again));
	CHECK_INT(count_moved(plan, again), 0);
	check_with_debugger(&child, &options, plan);

	vec_foreach (site, &only(plan)->sites)
		if (site->entry_offset != site->offset && !site->body.count)
			inside = site;
	if (!inside) {
		printf("     no function with a place inside\n");
	} else {
		/* A breakpoint of another tool. */
		put_byte(&child, base + inside->offset, 0xcc);
		REQUIRE(!build_on(child.pid, &options, &other));
		CHECK_INT(count_moved(plan, other), 0);
		/* Not a breakpoint, at one of our places. */
		put_byte(&child, base + inside->entry_offset, 0x06);
		REQUIRE(!build_on(child.pid, &options, &differs));
		CHECK(count_moved(plan, differs) >= 1);
	}
	vec_deinit(&places.offsets);
	child_end(&child);
}

/* Without a function that frees the process is not traced. Others may be. */
static void changed_functions(void)
{
	struct child child = child_cat("/bin/cat");
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	struct plan *none = NULL;

	REQUIRE(!build(child.pid, NULL, false, &plan));
	vec_foreach (site, &only(plan)->sites)
		if (alloc_function_frees(site->function))
			put_byte(&child,
				 only(plan)->allocator.module_start + site->address,
				 0x06);
	CHECK_REFUSED(build(child.pid, NULL, false, &none), ERROR_UNSAFE, "libc.so.6: ",
		      "cannot be probed: its code in memory differs from the file");
	child_end(&child);
}

/* malloc: endbr64, push, which the kernel emulates. free: lock inc (%rdi), which cannot
 * be probed. */
static void made_code(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"cfree", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
	};
	static const unsigned char allocates[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3},
				   locks[] = {0xf0, 0xff, 0x07, 0xc3};
	static struct built_image image;
	const struct plan_options options = {0};
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	const char *dir = child_tmpdir();
	char path[96];

	built_make(&image, symbols, COUNT(symbols));
	memcpy(image.bytes + 0x200, allocates, sizeof(allocates));
	memcpy(image.bytes + 0x220, locks, sizeof(locks));
	snprintf(path, sizeof(path), "%s/library", dir);
	built_write(path, image.bytes, image.size);
	REQUIRE(!build_path(path, "/lib/a.so", &options, &plan));
	CHECK_STR(site_of(plan, "malloc")->reason,
		  "first instruction: no text in memory to compare with");
	CHECK_INT(site_of(plan, "malloc")->entry_offset, 0x200);
	REQUIRE(skip_of(plan, "free"));
	CHECK_INT(skip_of(plan, "free")->why, PLAN_SKIP_REFUSED);
	CHECK_CONTAINS(untraced_of(plan), " free: ");
	CHECK_CONTAINS(untraced_of(plan), skip_of(plan, "free")->reason);
	CHECK_INT(plan_untraced(plan, NULL, NULL), 1);

	_cleanup_(freep) char *text = print(plan);

	CHECK_CONTAINS(text, "  free is not probed: the kernel takes no probe");

	/* Without the other function, nothing that frees is left. */
	struct plan *none = NULL;

	memcpy(image.bytes + 0x240, locks, sizeof(locks));
	built_write(path, image.bytes, image.size);
	CHECK_REFUSED(build_path(path, "/lib/a.so", &options, &none), ERROR_UNSUPPORTED,
		      "/lib/a.so: free cannot be probed: the kernel takes no probe");
	unlink(path);
	rmdir(dir);
}
#endif

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
#if defined(__x86_64__)
	RUN(text_in_memory);
	RUN(refused_return_probes);
	RUN(own_breakpoints);
	RUN(changed_functions);
	RUN(made_code);
#endif
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
