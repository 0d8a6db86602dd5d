// SPDX-License-Identifier: Apache-2.0
/* Sites depend on the code that is found: breakpoints and changes in memory, instructions
 * that cannot be probed, and processes in which return probes would do harm. */
#include "check.h"

#if !defined(__x86_64__)

int main(void)
{
	check_leave_out("only x86-64 code is decoded");
}

#else

#include <sys/ptrace.h>

#include "plan/plan.h"
#include "unit/elf/elf_builder.h"
#include "unit/plan/own_libc.h"
#include "unit/plan/plan_build.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

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

/* Waits while another tracer has breakpoints in libc: here they count as the debugger's.
 */
#define TRIES       300
#define TRY_WAIT_US 100000

/* Plan until no site has another place than in `plan`. Returns how many had one the last
 * time. */
static unsigned count_moved_at_last(const struct child *child,
				    const struct plan_options *options,
				    const struct plan *plan)
{
	unsigned moved = 1;

	for (unsigned i = 0; i < TRIES && moved; i++) {
		_cleanup_(plan_destroyp) struct plan *same = NULL;

		if (i)
			usleep(TRY_WAIT_US);
		REQUIRE(!build_on(child->pid, options, &same));
		moved = count_moved(plan, same);
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
	_cleanup_(plan_destroyp) struct plan *other = NULL;
	struct plan_options unknown = *options;
	pid_t pid = child->pid;
	struct child debugger;

	/* Others may trace only their children. */
	if (geteuid())
		return;
	debugger = child_fork(debug, &pid);
	unknown.find_breakpoints = NULL;
	CHECK_INT(count_moved_at_last(child, options, plan), 0);
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

/* Only the return instructions of these functions see all calls. To step it costs more
 * than a return probe. posix_memalign() is called so seldom that it is stepped. */
static void dear_results(void)
{
	static const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
		{"posix_memalign", STB_GLOBAL, STT_FUNC, 1, 0x240, false},
	};
	/* push %rbp; lea 64(%rdi), %rax; pop %rbp; ret */
	static const unsigned char allocates[] = {0x55, 0x48, 0x8d, 0x47, 64, 0x5d, 0xc3};
	static const unsigned char releases[] = {0x55, 0x5d, 0xc3};
	static const unsigned char stores[] = {
		0xb8, 22,   0,    0, 0, /* mov $22, %eax */
		0x85, 0xf6,             /* test %esi, %esi */
		0x74, 5,                /* je the return */
		0x48, 0x89, 0x3f,       /* mov %rdi, (%rdi) */
		0x31, 0xc0,             /* xor %eax, %eax */
		0xc3                    /* ret */
	};
	static struct built_image image;
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	const struct plan_site *site;
	const char *dir = child_tmpdir();
	struct child child;
	char path[96];

	built_make(&image, symbols, COUNT(symbols));
	memcpy(image.bytes + 0x200, allocates, sizeof(allocates));
	memcpy(image.bytes + 0x220, releases, sizeof(releases));
	memcpy(image.bytes + 0x240, stores, sizeof(stores));
	snprintf(path, sizeof(path), "%s/program", dir);
	built_write(path, image.bytes, image.size);
	REQUIRE(child_exec(path, &child));
	REQUIRE(!build(child.pid, NULL, false, &plan));
	site = site_of(plan, "malloc");
	REQUIRE(site);
	CHECK_STR(site->no_returns ? site->no_returns : "",
		  "its result is settled by no instruction that is emulated");
	site = site_of(plan, "posix_memalign");
	REQUIRE(site);
	CHECK(!site->no_returns);
	REQUIRE(site->returns.list.len == 1);
	CHECK(!site->returns.list.data[0].is_emulated);
	child_end(&child);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct own_libc libc = own_libc_begin();

	RUN(text_in_memory);
	RUN(refused_return_probes);
	RUN(own_breakpoints);
	RUN(changed_functions);
	RUN(made_code);
	RUN(dear_results);
	own_libc_end(&libc);
	return check_done();
}

#endif
