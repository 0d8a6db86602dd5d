// SPDX-License-Identifier: Apache-2.0
/* Plans for functions with malformed code: no return probes, and entries only where these
 * are of use. */
#include <unistd.h>

#include "check.h"

#include "arch/arch.h"
#include "plan/malformed.h"
#include "unit/elf/elf_builder.h"
#include "unit/plan/plan_build.h"
#include "unit/process/child.h"

/* The address of the function in question. It is the last one: what is before a function
 * without unwind information must be understood (code/start.h). */
#define LAST        0x240

#define REASON(why) "its code is malformed: " why " (--event uprobe: can count its calls)"

/* Build the plan of a file with malloc, free and valloc. The function `last` has this
 * code. */
static struct plan *build_made(const char *last, const char *code, size_t size,
			       bool mappings)
{
	bool is_malloc = !strcmp(last, "malloc");
	const struct built_symbol symbols[] = {
		{"malloc", STB_GLOBAL, STT_FUNC, 1, is_malloc ? LAST : 0x200, false},
		{"free", STB_GLOBAL, STT_FUNC, 1, is_malloc ? 0x200 : LAST, false},
		{"valloc", STB_GLOBAL, STT_FUNC, 1, 0x220, false},
	};
	static struct built_image image;
	const struct plan_options options = {.unmapped = true, .mappings = mappings};
	const char *dir = child_tmpdir();
	struct plan *plan = NULL;
	char path[96];

	REQUIRE(size <= BUILT_SIZE);
	built_make(&image, symbols, COUNT(symbols));
	memcpy(image.bytes + LAST, code, size);
	snprintf(path, sizeof(path), "%s/library", dir);
	built_write(path, image.bytes, image.size);
	REQUIRE(!build_path(path, "/lib/a.so", &options, &plan));
	unlink(path);
	rmdir(dir);
	return plan;
}

static void check_malloc(const char *code, size_t size, bool mappings, const char *reason)
{
	_cleanup_(plan_destroyp) struct plan *plan =
		build_made("malloc", code, size, mappings);

	CHECK(!site_of(plan, "malloc"));
	REQUIRE(skip_of(plan, "malloc"));
	CHECK_INT(skip_of(plan, "malloc")->why, PLAN_SKIP_REFUSED);
	CHECK_STR(skip_of(plan, "malloc")->reason, reason);
	CHECK_CONTAINS(untraced_of(plan), " malloc: its code is malformed");
	CHECK_INT(plan_untraced(plan, NULL, NULL), 1);
	/* The other functions do not suffer. */
	REQUIRE(site_of(plan, "valloc") && site_of(plan, "free"));
	CHECK_INT(site_of(plan, "free")->wants_return, mappings);
	CHECK(site_of(plan, "valloc")->wants_return);
}

/* Its argument is all that a free needs. */
static void check_free(const char *code, size_t size, bool mappings)
{
	_cleanup_(plan_destroyp) struct plan *plan =
		build_made("free", code, size, mappings);
	const struct plan_site *site = site_of(plan, "free");

	REQUIRE(site);
	CHECK(!site->wants_return);
	CHECK(!site->no_returns);
	CHECK(!site->returns.list.len);
	CHECK_INT(plan_untraced(plan, NULL, NULL), 0);
}

static void check_malformed(const char *code, size_t size, const char *reason)
{
	for (int mappings = 0; mappings < 2; mappings++) {
		check_malloc(code, size, mappings, reason);
		check_free(code, size, mappings);
	}
}

#define CHECK_MALFORMED(code, why) check_malformed(code, sizeof(code) - 1, REASON(why))

static void four_kinds(void)
{
	/* je to an address without code: before the function's frame, and in it */
	CHECK_MALFORMED("\x48\x85\xff\x0f\x84\x00\x00\x10\x00\xc3", CFG_NO_CODE);
	CHECK_MALFORMED("\x53\x48\x85\xff\x0f\x84\x00\x00\x10\x00\x5b\xc3", CFG_NO_CODE);
	/* je 4: data */
	CHECK_MALFORMED("\x74\x02\xc3\x90\x06", CFG_NO_INSN);
	/* je 3, which is inside of mov eax, 0x90909090 */
	CHECK_MALFORMED("\x74\x01\xb8\x90\x90\x90\x90\xc3", CFG_OVERLAP);
	/* nops up to the end */
	CHECK_MALFORMED(
		"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90",
		CFG_NO_END);
}

/* What a compiler may emit has a return probe, as ever. */
static void honest_code(void)
{
	static const char *const codes[] = {
		"\xff\xe7",             /* jmp *%rdi */
		"\x53\xff\xe7",         /* push %rbx; jmp *%rdi: a switch */
		"\x48\x29\xfc\x5b\xc3", /* sub %rdi, %rsp; pop %rbx; ret */
		"\x0f\x0b",             /* ud2: it never returns */
	};

	for (size_t i = 0; i < COUNT(codes); i++) {
		_cleanup_(plan_destroyp) struct plan *plan =
			build_made("malloc", codes[i], strlen(codes[i]), true);

		REQUIRE(site_of(plan, "malloc"));
		CHECK(site_of(plan, "malloc")->wants_return);
		CHECK(site_of(plan, "malloc")->no_returns);
		CHECK_INT(plan_untraced(plan, NULL, NULL), 0);
	}
	CHECK(!malformed_code("a jump is indirect"));
}

/* --- functions that overlap --------------------------------------------------------- */

static bool one_extent(void *arg, uint64_t address, uint64_t *start, uint64_t *end)
{
	const uint64_t *bounds = arg;

	*start = bounds[0];
	*end = bounds[1];
	return address >= *start && address < *end;
}

static bool is_overlapped(uint64_t address, uint64_t size, uint64_t extent[2])
{
	static const struct alloc_function function = {.name = "malloc"};
	struct allocator_function found[] = {
		{.function = &function, .symbol = {.address = 0x200, .size_bytes = 0x20}},
		{.function = &function,
		 .symbol = {.address = address, .size_bytes = size}},
	};
	struct allocator allocator = {.functions = {.data = found, .len = 2}};
	struct cfg_source source = {.extent = extent ? one_extent : NULL, .arg = extent};
	const char *first = malformed_overlap(&allocator, &found[0], &source),
		   *second = malformed_overlap(&allocator, &found[1], &source);

	if (!extent)
		CHECK(first == second);
	if (second)
		CHECK_STR(second, REASON("another function overlaps it"));
	return second;
}

static void functions_that_overlap(void)
{
	CHECK(is_overlapped(0x210, 0x10, NULL));
	CHECK(is_overlapped(0x21f, 1, NULL));
	CHECK(is_overlapped(0x1f0, 0x11, NULL));
	/* side by side, or two names of one function */
	CHECK(!is_overlapped(0x220, 0x10, NULL));
	CHECK(!is_overlapped(0x1f0, 0x10, NULL));
	CHECK(!is_overlapped(0x200, 0x10, NULL));
	CHECK(!is_overlapped(0x200, 0x40, NULL));
	/* a size that wraps, and none */
	CHECK(is_overlapped(0x100, UINT64_MAX, NULL));
	CHECK(!is_overlapped(0x100, 0, NULL));
	/* Unwind information knows further functions. */
	CHECK(is_overlapped(0x300, 0x20, (uint64_t[]){0x310, 0x320}));
	CHECK(!is_overlapped(0x300, 0x20, (uint64_t[]){0x300, 0x320}));
	CHECK(!is_overlapped(0x300, 0x20, (uint64_t[]){0x2f0, 0x320}));
	CHECK(!is_overlapped(0x300, 0x20, (uint64_t[]){0x320, 0x330}));
}

int main(void)
{
	if (!arch.has_decoder)
		check_skip("memtrace does not follow this machine's code");
	RUN(four_kinds);
	RUN(honest_code);
	RUN(functions_that_overlap);
	return check_done();
}
