// SPDX-License-Identifier: Apache-2.0
/* Programs of call frame information, for each instruction, and the bounds on them. */
#include "unit/unwind/section.h"

#include "unwind/cfi_row.h"

/* The FDE of `program`. The section is valid until the next call. */
static void build(const uint8_t *program, size_t size, struct cfi_section *section,
		  struct cfi_fde *ret)
{
	static struct built_section s;
	size_t next;

	s.size = 0;

	size_t cie = put_cie(&s, 1, "", NULL, 0);
	size_t at = put_fde(&s, cie, NULL, 0, program, size);

	*section = section_of(&s);
	REQUIRE(cfi_entry_read(section, at, ret, &next) == CFI_ENTRY_FDE);
	CHECK_INT(ret->start, CODE_START);
	CHECK_INT(ret->end, CODE_START + CODE_SIZE);
	CHECK_INT(next, s.size);
}

/* The row at CODE_START + offset. */
static bool row_of(const uint8_t *program, size_t size, uint64_t offset,
		   struct cfi_row *ret)
{
	struct cfi_section section;
	struct cfi_fde fde;

	build(program, size, &section, &fde);
	return cfi_row_find(&section, &fde, CODE_START + offset, ret);
}

/* Results of cfi_row_each(): starts and CFA offsets, and the end of the last row. */
struct given {
	uint64_t start[8], end;
	int64_t offset[8];
	size_t count;
};

static void note_row(void *arg, uint64_t start, uint64_t end, const struct cfi_row *row)
{
	struct given *given = arg;

	REQUIRE(given->count < 8);
	CHECK(start < end);
	CHECK(!given->count || start == given->end);
	given->start[given->count] = start - CODE_START;
	given->offset[given->count++] = row->cfa.offset;
	given->end = end;
}

/* The rows of `program` up to CODE_START + offset. */
static bool rows_of(const uint8_t *program, size_t size, uint64_t offset,
		    struct given *ret)
{
	struct cfi_section section;
	struct cfi_fde fde;
	unsigned steps;

	*ret = (struct given){.count = 0};
	build(program, size, &section, &fde);
	return cfi_row_each(&section, &fde, CODE_START + offset, note_row, ret, &steps);
}

static void check_cfa(const struct cfi_row *row, unsigned reg, int64_t offset)
{
	CHECK_INT(row->cfa.how, CFI_REGISTER);
	CHECK_INT(row->cfa.reg, reg);
	CHECK_INT(row->cfa.offset, offset);
}

static void check_register(const struct cfi_row *row, unsigned reg, enum cfi_how how,
			   int64_t offset)
{
	CHECK_INT(row->registers[reg].how, how);
	CHECK_INT(row->registers[reg].offset, offset);
}

static void locations(void)
{
	/* Each advance is followed by another CFA offset. */
	static const uint8_t program[] = {
		0x41, 0x0e, 16,   0x02, 2,    0x0e, 24, 0x03, 3, 0, 0x0e, 32,   0x04, 4,
		0,    0,    0,    0x0e, 40,   0x1d, 5,  0,    0, 0, 0,    0,    0,    0,
		0x0e, 48,   0x01, 0x20, 0x10, 0,    0,  0,    0, 0, 0,    0x0e, 56,
	};
	static const struct {
		uint64_t at;
		int64_t offset;
	} expected[] = {
		{0, 8},   {1, 16},  {2, 16},  {3, 24},  {5, 24},  {6, 32},   {9, 32},
		{10, 40}, {14, 40}, {15, 48}, {31, 48}, {32, 56}, {255, 56},
	};
	struct cfi_row row;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		REQUIRE(row_of(program, sizeof(program), expected[i].at, &row));
		check_cfa(&row, ARCH_SP, expected[i].offset);
	}
	CHECK(!row_of(program, sizeof(program), CODE_SIZE, &row));
}

static void each(void)
{
	/* One row, an empty one, two more; 0x17 is not an instruction. */
	static const uint8_t program[] = {0x44, 0x0e, 16, 0x40, 0x0e, 24,
					  0x44, 0x0e, 32, 0x44, 0x17};
	struct given given;

	CHECK(rows_of(program, 9, CODE_SIZE, &given));
	CHECK_INT(given.count, 3);
	CHECK_INT(given.start[0], 0);
	CHECK_INT(given.offset[0], 8);
	CHECK_INT(given.start[1], 4);
	CHECK_INT(given.offset[1], 24);
	CHECK_INT(given.start[2], 8);
	CHECK_INT(given.offset[2], 32);
	CHECK_INT(given.end, CODE_START + CODE_SIZE);
	/* Cut off: within the first row, and beyond the function. */
	CHECK(rows_of(program, 9, 8, &given));
	CHECK_INT(given.count, 2);
	CHECK_INT(given.end, CODE_START + 8);
	CHECK(rows_of(program, 9, 1, &given));
	CHECK_INT(given.count, 1);
	CHECK_INT(given.end, CODE_START + 1);
	CHECK(rows_of(program, 9, 2 * CODE_SIZE, &given));
	CHECK_INT(given.end, CODE_START + CODE_SIZE);
	CHECK(rows_of(program, 9, 0, &given));
	CHECK_INT(given.count, 0);
	/* The rows before the error are found. */
	CHECK(!rows_of(program, sizeof(program), CODE_SIZE, &given));
	CHECK_INT(given.count, 3);
	CHECK_INT(given.end, CODE_START + 12);
}

static void cfa(void)
{
	struct cfi_row row;

	REQUIRE(row_of(BYTES(0x0c, 6, 0x90, 1), 0, &row)); /* def_cfa */
	check_cfa(&row, ARCH_BP, 144);
	REQUIRE(row_of(BYTES(0x0d, 10), 0, &row)); /* def_cfa_register */
	check_cfa(&row, 10, 8);
	REQUIRE(row_of(BYTES(0x12, 6, 0x7e), 0, &row)); /* def_cfa_sf */
	check_cfa(&row, ARCH_BP, 16);
	REQUIRE(row_of(BYTES(0x13, 0x02), 0, &row)); /* def_cfa_offset_sf */
	check_cfa(&row, ARCH_SP, -16);
	REQUIRE(row_of(BYTES(0x0f, 2, 0x77, 0), 0, &row)); /* def_cfa_expression */
	CHECK_INT(row.cfa.how, CFI_VAL_EXPRESSION);
	CHECK_INT(row.cfa.size_bytes, 2);
	CHECK_INT(row.cfa.expression[0], 0x77);
	/* GNU_args_size has no effect on registers. */
	REQUIRE(row_of(BYTES(0x2e, 0x80, 1, 0x0e, 16, 0), 0, &row));
	check_cfa(&row, ARCH_SP, 16);
}

static void registers(void)
{
	struct cfi_row row;

	REQUIRE(row_of(BYTES(0x86, 2, 0x05, 3, 3, 0x11, 12, 4, 0x2f, 13, 5), 0, &row));
	check_register(&row, ARCH_BP, CFI_OFFSET, -16);
	check_register(&row, ARCH_RBX, CFI_OFFSET, -24);
	check_register(&row, ARCH_R12, CFI_OFFSET, -32);
	check_register(&row, ARCH_R13, CFI_OFFSET, 40);
	check_register(&row, ARCH_R14, CFI_UNSPECIFIED, 0);
	check_register(&row, ARCH_PC, CFI_OFFSET, -8);

	REQUIRE(row_of(BYTES(0x07, 16, 0x08, 6, 0x14, 7, 1, 0x15, 3, 0x7f), 0, &row));
	check_register(&row, ARCH_PC, CFI_UNDEFINED, 0);
	check_register(&row, ARCH_BP, CFI_SAME, 0);
	check_register(&row, ARCH_SP, CFI_VAL_OFFSET, -8);
	check_register(&row, ARCH_RBX, CFI_VAL_OFFSET, 8);

	REQUIRE(row_of(BYTES(0x09, 6, 11, 0x09, 3, 40), 0, &row));
	CHECK_INT(row.registers[ARCH_BP].how, CFI_REGISTER);
	CHECK_INT(row.registers[ARCH_BP].reg, 11);
	check_register(&row, ARCH_RBX, CFI_UNDEFINED, 0); /* a vector register */

	REQUIRE(row_of(BYTES(0x10, 6, 2, 0x76, 0, 0x16, 3, 2, 0x76, 8), 0, &row));
	CHECK_INT(row.registers[ARCH_BP].how, CFI_EXPRESSION);
	CHECK_INT(row.registers[ARCH_RBX].how, CFI_VAL_EXPRESSION);
	CHECK_INT(row.registers[ARCH_RBX].expression[1], 8);

	/* Registers that are not recorded are skipped. */
	REQUIRE(row_of(BYTES(0xa0, 2, 0x05, 0xff, 0xff, 0x03, 3, 0x07, 17, 0xe0), 0,
		       &row));
	check_cfa(&row, ARCH_SP, 8);
}

static void restoring(void)
{
	struct cfi_row row;

	/* Saved, then restored to the CIE's rule. */
	REQUIRE(row_of(BYTES(0x86, 2, 0x90, 9, 0xc6, 0x06, 16), 0, &row));
	check_register(&row, ARCH_BP, CFI_UNSPECIFIED, 0);
	check_register(&row, ARCH_PC, CFI_OFFSET, -8);
	/* The whole row including the CFA; nested. */
	REQUIRE(row_of(BYTES(0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x86, 2, 0x0e, 32, 0x0b), 0,
		       &row));
	check_cfa(&row, ARCH_SP, 24);
	check_register(&row, ARCH_BP, CFI_UNSPECIFIED, 0);
	REQUIRE(row_of(BYTES(0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x0b, 0x0b), 0,
		       &row));
	check_cfa(&row, ARCH_SP, 16);
}

static void malformed(void)
{
	uint8_t nested[40], many[4000];
	struct cfi_row row;

	CHECK(!row_of(BYTES(0x0b), 0, &row));             /* nothing remembered */
	CHECK(!row_of(BYTES(0x3f), 0, &row));             /* not an instruction */
	CHECK(!row_of(BYTES(0x0e), 0, &row));             /* cut off */
	CHECK(!row_of(BYTES(0x0e, 0x80), 0, &row));       /* within a number */
	CHECK(!row_of(BYTES(0x0f, 9, 0x77, 0), 0, &row)); /* within an expression */
	CHECK(!row_of(BYTES(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0), 0, &row));
	/* The CFA in a vector register. */
	CHECK(!row_of(BYTES(0x0c, 17, 8), 0, &row));
	/* An offset for an expression. */
	CHECK(!row_of(BYTES(0x0f, 0, 0x0e, 8), 0, &row));
	CHECK(!row_of(BYTES(0x01, 0, 0, 0, 0, 0, 0, 0, 0), 0, &row)); /* backwards */

	/* Too many remembered rows. */
	memset(nested, 0x0a, sizeof(nested));
	CHECK(row_of(nested, 16, 0, &row));
	CHECK(!row_of(nested, sizeof(nested), 0, &row));

	/* Beyond the function the last row counts. And all addresses as one function. */
	memset(many, 0x7f, sizeof(many));
	CHECK(row_of(many, sizeof(many), CODE_SIZE - 1, &row));
	CHECK(row_of(BYTES(0x1d, 255, 255, 255, 255, 255, 255, 255, 255), 0, &row));
}

/* More instructions than any real program has. */
static void endless(void)
{
	static uint8_t program[1 << 17]; /* of DW_CFA_nop */
	struct cfi_section section = {program, sizeof(program), 0, false};
	struct cfi_fde fde = {.start = 0x1000,
			      .end = 0x2000,
			      .cie = {.code_align = 1, .data_align = -8},
			      .program = program,
			      .program_size = sizeof(program)};
	struct cfi_row row;

	fde.cie.program = (const uint8_t[]){0x0c, 7, 8};
	fde.cie.program_size = 3;
	CHECK(!cfi_row_find(&section, &fde, 0x1000, &row));
	fde.program_size = 1000;
	CHECK(cfi_row_find(&section, &fde, 0x1000, &row));
	/* No CFA is set. */
	fde.cie.program_size = 0;
	CHECK(!cfi_row_find(&section, &fde, 0x1000, &row));
	/* A CIE's program that advances. */
	fde.cie.program = (const uint8_t[]){0x0c, 7, 8, 0x41};
	fde.cie.program_size = 4;
	CHECK(!cfi_row_find(&section, &fde, 0x1000, &row));
}

int main(void)
{
	RUN(locations);
	RUN(each);
	RUN(cfa);
	RUN(registers);
	RUN(restoring);
	RUN(malformed);
	RUN(endless);
	return check_done();
}
