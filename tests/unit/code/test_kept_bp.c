// SPDX-License-Identifier: Apache-2.0
/* Finds functions that keep a frame pointer in code: in handwritten code, and in compiled
 * code, compared with its unwind information. */
#include "arch/kept_bp.h"

#include "check.h"
#include "unwind/cfi.h"

#include <fcntl.h>
#include <string.h>

#include "code/decode.h"
#include "unwind/rule_runs.h"
#include "unwind/rules.h"
#include "unwind_step.h"

struct found {
	char text[256];
};

static void note(void *arg, uint64_t start, bool is_kept)
{
	struct found *found = arg;
	size_t len = strlen(found->text);

	snprintf(found->text + len, sizeof(found->text) - len, "%s%#jx",
		 is_kept ? "+" : "-", (uintmax_t)start);
}

static void check_code(const uint8_t *code, size_t size, uint64_t start, const char *want)
{
	struct found found = {""};

	kept_bp_each(code, size, start, note, &found);
	CHECK_STR(found.text, want);
}

#define PUSH 0x55, 0x48, 0x89, 0xe5

/* The least number of such functions in a file: with fewer, none is recognized. */
#define MANY 7

/* Adds MANY functions after code of `size` bytes, which has room for them. */
static void add_many(uint8_t *code, size_t size)
{
	memset(code + size, 0xcc, MANY * 16);
	for (size_t i = 0; i < MANY; i++)
		memcpy(code + size + i * 16, (uint8_t[]){PUSH, 0xc3}, 5);
}

static void by_hand(void)
{
	uint8_t code[0x58 + MANY * 16];

	memset(code, 0xcc, sizeof(code));
	add_many(code, 0x58);
	/* 0x08: the end of a function; 0x18: a function that keeps it, longer than 16
	 * bytes. */
	memcpy(code + 0x08, (uint8_t[]){PUSH, 0x31, 0xc0, 0xe8, 1, 0, 0, 0}, 11);
	memset(code + 0x13, 0x40, 0x10);
	memcpy(code + 0x23, (uint8_t[]){0x5d, 0xc3}, 2);
	/* A function that pushes %rbx, and then one that begins with endbr64. */
	memset(code + 0x28, 0x40, 0x10);
	code[0x28] = 0x53;
	memcpy(code + 0x38, (uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa, PUSH}, 8);
	memcpy(code + 0x46, (uint8_t[]){0x5d, 0xc3}, 2);
	memset(code + 0x48, 0x41, 0x10);
	check_code(code, sizeof(code), 0x1008, "+0x1010-0x1030+0x1040");
	/* The same code at unaligned addresses, where no function begins. */
	check_code(code, sizeof(code), 0x1009, "");
	/* Too few functions. */
	for (size_t size = 0; size < 0x58 + (MANY - 2) * 16 + 4; size++)
		check_code(code, size, 0x1008, "");
	check_code(code, 0x58 + (MANY - 2) * 16 + 4, 0x1008, "+0x1010-0x1030+0x1040");
}

/* What can be at the end of a function. */
static void ends(void)
{
	static const struct {
		uint8_t before[2], at[4];
		bool is_end;
	} cases[] = {
		{{0xcc, 0xcc}, {0x31, 0xc0}, true},
		{{0xc3, 0xcc}, {0x31, 0xc0}, true},
		{{0x00, 0xcc}, {0x31, 0xc0}, false},
		{{0x00, 0xc3}, {0x55, 0x31, 0xc0}, true},
		{{0xeb, 0x00}, {0x41, 0x57}, true},
		{{0x0f, 0x0b}, {0x48, 0x83, 0xec, 8}, true},
		{{0x00, 0x90}, {0x48, 0x81, 0xec}, true},
		{{0xff, 0xe0}, {0xf3, 0x0f, 0x1e, 0xfa}, true},
		{{0x00, 0x00}, {0x55, 0x31, 0xc0}, false},
		{{0x00, 0xc3}, {0x31, 0xc0}, false},
		{{0x00, 0x90}, {0x41, 0x89}, false},
		{{0x00, 0xc3}, {0x48, 0x83, 0xc4, 8}, false},
		{{0x00, 0xc3}, {PUSH}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t code[0x30 + MANY * 16];

		memset(code, 0x40, sizeof(code));
		add_many(code, 0x30);
		memcpy(code, (uint8_t[]){PUSH}, 4);
		memcpy(code + 0x1e, cases[i].before, 2);
		memcpy(code + 0x20, cases[i].at, 4);
		check_code(code, sizeof(code), 0x1000,
			   cases[i].is_end ? "+0x1000-0x1020+0x1030" : "+0x1000");
	}
}

/* --- compilers -------------------------------------------------------------------- */

struct compared {
	const struct cfi *cfi;
	const uint8_t *code;
	/* `start`: address of `code`; `from`: begin of a function that keeps rbp; 0:
	 * none. */
	uint64_t start, from;
	unsigned calls, wrong;
};

static void compare_call(struct compared *c, uint64_t behind)
{
	struct cfi_row row;
	uint64_t rule;

	if (cfi_find_row(c->cfi, behind - 1, &row) != CFI_FOUND)
		return;
	rule = rule_from_row(&row, behind);
	c->calls++;
	c->wrong += UNWIND_TYPE(rule) != UNWIND_BP ||
		    UNWIND_BP_MODE(rule) != UNWIND_BP_BELOW || rule >> 32 != 16;
}

/* Decodes from a place where an instruction begins. */
static void compare_stretch(struct compared *c, uint64_t end)
{
	uint64_t at = c->from;

	while (at < end) {
		struct insn insn;

		insn_decode(c->code + (at - c->start), (size_t)(end - at), &insn);
		if (insn.kind == INSN_UNKNOWN)
			return;
		at += insn.length;
		if (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT)
			compare_call(c, at);
	}
}

static void compare(void *arg, uint64_t start, bool is_kept)
{
	struct compared *c = arg;

	if (c->from)
		compare_stretch(c, start);
	c->from = is_kept ? start : 0;
}

static void compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct compared c = {0};
	struct cfi *cfi = NULL;

	REQUIRE(fd >= 0);
	REQUIRE(!cfi_open_file(fd, &cfi));
	c.cfi = cfi;

	/* The whole first executable segment. */
	uint8_t *code = NULL;
	size_t size = 0;

	for (uint64_t page = 0; page < 1 << 24 && (!size || code); page += 4096) {
		uint8_t *more = realloc(code, size + 4096);

		REQUIRE(more);
		code = more;
		if (cfi_read_code(cfi, page, code + size, 4096)) {
			if (!size)
				c.start = page;
			size += 4096;
		} else if (size) {
			break;
		}
	}
	c.code = code;
	kept_bp_each(code, size, c.start, compare, &c);
	if (c.from)
		compare_stretch(&c, c.start + size);
	printf("%s: %u calls in functions that keep it, %u wrong\n", path, c.calls,
	       c.wrong);
	CHECK(c.calls > 100);
	CHECK_INT(c.wrong, 0);
	free(code);
	cfi_close(cfi);
}

static void by_compilers(void)
{
	char *save = NULL, files[] = TEST_KEPT_BP;

	for (char *path = strtok_r(files, ":", &save); path;
	     path = strtok_r(NULL, ":", &save))
		compare_file(path);
}

/* A file without unwind information: its tables have its functions. */
static void tables(void)
{
	int fd = open(TEST_KEPT_BP_BARE, O_RDONLY | O_CLOEXEC);
	struct rule_runs runs = {0};
	struct cfi *cfi = NULL;
	uint64_t kept = 0;

	REQUIRE(fd >= 0 && !cfi_open_file(fd, &cfi));
	for (uint64_t at = 0; at < 1 << 20; at += 1 << 16) {
		REQUIRE(rule_runs_build(cfi, at, at + (1 << 16), &runs));
		for (size_t i = 0; i + 1 < runs.list.len; i++)
			if (runs.list.data[i].rule == UNWIND_RULE_CALLED)
				kept += runs.list.data[i + 1].start -
					runs.list.data[i].start;
	}
	CHECK(kept > 20000);
	rule_runs_deinit(&runs);
	cfi_close(cfi);
}

int main(void)
{
	RUN(by_hand);
	RUN(ends);
	RUN(by_compilers);
	RUN(tables);
	return check_done();
}
