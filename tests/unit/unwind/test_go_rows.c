// SPDX-License-Identifier: Apache-2.0
/* Rows of Go's functions, from a file with a handmade table, which is also damaged. */
#include "check.h"

#include <fcntl.h>
#include <string.h>

#include "unit/random.h"
#include "unit/unwind/image_file.h"
#include "unwind/cfi.h"
#include "unwind/rule_runs.h"
#include "unwind/rules.h"

#define FUNCTION_BYTES 0x40u
#define CODE_BYTES     (6 * FUNCTION_BYTES)

static struct {
	uint8_t bytes[1024];
	size_t size;
} table;

static void put(const void *bytes, size_t size)
{
	REQUIRE(size <= sizeof(table.bytes) - table.size);
	memcpy(table.bytes + table.size, bytes, size);
	table.size += size;
}

static void put_number(uint64_t value, size_t size)
{
	put(&value, size);
}

static void set(size_t at, uint64_t value, size_t size)
{
	memcpy(table.bytes + at, &value, size);
}

static const struct {
	const char *name, *code;
	size_t code_size, at;  /* `at`: offset of the code in the function */
	const uint8_t *depths; /* ends with 0 */
	uint8_t flags;
} functions[] = {
	/* sub $24, %rsp; mov %rbp, 16(%rsp): the depth is 24 from offset 4 on. */
	{"main.old", "\x48\x83\xec\x18\x48\x89\x6c\x24\x10", 9, 0,
	 (const uint8_t[]){2, 4, 48, 0x3c, 0}, 0},
	/* push %rbp; mov %rsp, %rbp; sub $16, %rsp: 8 from offset 1 on, 24 from offset 8
	 * on. */
	{"main.new", "\x55\x48\x89\xe5\x48\x83\xec\x10", 8, 0,
	 (const uint8_t[]){2, 1, 16, 7, 32, 0x38, 0}, 0},
	/* sub $24, %rsp; nop ...: bp is unknown there. Then a depth of -8. */
	{"crosscall2", "\x48\x83\xec\x18\x90\x90\x90\x90\x90", 9, 0,
	 (const uint8_t[]){2, 4, 48, 0x20, 63, 4, 0}, 4},
	/* call *%rax, and back from the other stack. */
	{"runtime.asmcgocall",
	 "\xff\xd0\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28"
	 "\x64\x48\x89\x3c\x25\xf8\xff\xff\xff\x48\x89\xf4\xc3",
	 29, 0x10, (const uint8_t[]){2, 4, 128, 0x3c, 0}, 2},
	{"runtime.goexit", "\x90", 1, 0, (const uint8_t[]){2, 0x40, 0}, 1},
	{"runtime.systemstack", "\xff\xd7", 2, 0, (const uint8_t[]){2, 0x40, 0}, 0},
};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* The layout of Go 1.18. */
static void build_table(void)
{
	uint32_t name[FUNCTIONS], depths[FUNCTIONS];
	size_t list;

	table.size = 0;
	put_number(0xfffffff0, 4);
	put_number(0x08010000, 4);
	put_number(FUNCTIONS, 8);
	put_number(0, 8);
	put_number(IMAGE_CODE, 8);
	for (int i = 0; i < 5; i++)
		put_number(72, 8);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		name[i] = (uint32_t)table.size - 72;
		put(functions[i].name, strlen(functions[i].name) + 1);
		depths[i] = (uint32_t)table.size - 72;
		put(functions[i].depths, strlen((const char *)functions[i].depths) + 1);
	}
	list = table.size;
	set(64, list, 8);
	for (size_t i = 0; i <= FUNCTIONS; i++)
		put_number(i * FUNCTION_BYTES, 4 + 4 * (i < FUNCTIONS));
	for (size_t i = 0; i < FUNCTIONS; i++) {
		set(list + 8 * i + 4, table.size - list, 4);
		put_number(i * FUNCTION_BYTES, 4);
		put_number(name[i], 4);
		put_number(0, 8);
		put_number(depths[i], 4);
		put_number(0, 8);
		put_number(0, 8);
		put_number(0, 1);
		put_number(functions[i].flags, 1);
		put_number(0, 2);
	}
}

/* Opens a file with the table in this section and the functions' code. */
static struct cfi *open_image(const char *section, bool is_marked)
{
	char path[] = "/tmp/go_rows_XXXXXX";
	const struct image_section sections[] = {{section, table.bytes, table.size},
						 {".go.buildinfo", "\xff Go", 4}};
	uint8_t code[CODE_BYTES] = {0};
	struct cfi *cfi;
	int fd;

	for (size_t i = 0; i < FUNCTIONS; i++)
		memcpy(code + i * FUNCTION_BYTES + functions[i].at, functions[i].code,
		       functions[i].code_size);
	image_file(path, sizeof(code), sections, 1 + is_marked);
	fd = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0);
	image_write(fd, code, sizeof(code), IMAGE_CODE);
	REQUIRE(unlink(path) == 0);
	REQUIRE(!cfi_open_file(fd, &cfi));
	REQUIRE(!cfi_close_fd(cfi, NULL));
	return cfi;
}

static uint64_t rule_at(const struct cfi *cfi, unsigned function, uint64_t at)
{
	uint64_t address = IMAGE_CODE + function * FUNCTION_BYTES + at;
	struct cfi_row row;

	if (cfi_find_row(cfi, address, &row) != CFI_FOUND)
		return UNWIND_NONE;
	return rule_from_row(&row, address);
}

#define SP(cfa, mode, at) UNWIND_RULE(UNWIND_SP, cfa, 0, mode, at)

static void rows(void)
{
	struct cfi *cfi;

	build_table();
	cfi = open_image(".gopclntab", false);
	for (unsigned i = 0; i < 3; i++)
		CHECK_INT(rule_at(cfi, i, 0), SP(8, UNWIND_BP_SAME, 0));
	CHECK_INT(rule_at(cfi, 0, 4), SP(32, UNWIND_BP_BELOW, -16));
	CHECK_INT(rule_at(cfi, 0, 0x3f), SP(32, UNWIND_BP_BELOW, -16));
	CHECK_INT(rule_at(cfi, 1, 1), SP(16, UNWIND_BP_BELOW, -16));
	CHECK_INT(rule_at(cfi, 1, 8), SP(32, UNWIND_BP_BELOW, -16));
	CHECK_INT(rule_at(cfi, 2, 4),
		  UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_UNDEFINED, 0));
	CHECK_INT(rule_at(cfi, 2, 0x24), UNWIND_NONE);
	/* Only the last byte of the call. */
	CHECK_INT(rule_at(cfi, 3, 0x11),
		  UNWIND_RULE(UNWIND_SP_SWITCH, 48, 8, UNWIND_BP_SAME, 0));
	CHECK_INT(rule_at(cfi, 3, 0x10), UNWIND_NONE);
	CHECK_INT(rule_at(cfi, 3, 0x12), UNWIND_NONE);
	CHECK_INT(rule_at(cfi, 4, 0), UNWIND_RULE_END);
	CHECK_INT(rule_at(cfi, 5, 1), UNWIND_NONE);
	CHECK_INT(rule_at(cfi, 6, 0), UNWIND_NONE);
	cfi_close(cfi);
}

/* The linker may put the table into a section with other data. */
static void a_table_within_a_section_is_found(void)
{
	struct cfi *cfi;

	build_table();
	memmove(table.bytes + 64, table.bytes, table.size);
	memset(table.bytes, 0, 64);
	table.size += 64;
	cfi = open_image(".data.rel.ro", true);
	CHECK_INT(rule_at(cfi, 0, 4), SP(32, UNWIND_BP_BELOW, -16));
	cfi_close(cfi);
	/* Not a Go program. */
	cfi = open_image(".data.rel.ro", false);
	CHECK_INT(rule_at(cfi, 0, 4), UNWIND_NONE);
	cfi_close(cfi);
}

/* The tables for the probes must have the same rule for each address. Returns the number
 * of addresses with a rule. */
static unsigned compare_runs(const struct cfi *cfi)
{
	struct rule_runs runs = {0};
	unsigned count = 0, wrong = 0;
	size_t run = 0;

	REQUIRE(rule_runs_build(cfi, IMAGE_CODE, IMAGE_CODE + CODE_BYTES, &runs));
	for (uint64_t at = 0; at < CODE_BYTES; at++) {
		while (run + 1 < runs.list.len &&
		       runs.list.data[run + 1].start <= IMAGE_CODE + at)
			run++;
		uint64_t rule = rule_at(cfi, 0, at);

		wrong += rule != runs.list.data[run].rule;
		count += rule != UNWIND_NONE;
	}
	CHECK_INT(wrong, 0);
	rule_runs_deinit(&runs);
	return count;
}

static void runs(void)
{
	struct cfi *cfi;

	build_table();
	cfi = open_image(".gopclntab", false);
	CHECK(compare_runs(cfi) > 3 * FUNCTION_BYTES);
	cfi_close(cfi);
}

static void damaged(void)
{
	for (int i = 0; i < 300; i++) {
		struct cfi *cfi;

		build_table();
		random_damage(table.bytes + 8, table.size - 8, 1 + random_below(6));
		cfi = open_image(".gopclntab", false);
		(void)compare_runs(cfi);
		cfi_close(cfi);
	}
}

int main(void)
{
	RUN(rows);
	RUN(a_table_within_a_section_is_found);
	RUN(runs);
	RUN(damaged);
	return check_done();
}
