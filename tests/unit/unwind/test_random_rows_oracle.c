// SPDX-License-Identifier: Apache-2.0
/* Random but valid programs of call frame information, compared with libdw: also
 * instructions that compilers never emit. */
#include "unit/random.h"
#include "unit/unwind/row_compare.h"
#include "unit/unwind/image_file.h"
#include "unit/unwind/section.h"

/* --- random programs -------------------------------------------------------------- */

#define RANDOM_FUNCTIONS 3000
#define FUNCTION_BYTES   64

static uint64_t chance = 0x2545f4914f6cdd1d;

static unsigned pick(unsigned count)
{
	return (unsigned)(random_next(&chance) % count);
}

/* A random LEB128 number of one byte or two. */
static void put_leb(struct built_section *s, bool is_signed)
{
	unsigned value = pick(1 << 14);

	if (pick(2)) {
		put_number(s, value & (is_signed ? 0x7f : 0x3f), 1);
	} else {
		put_number(s, (value & 0x7f) | 0x80, 1);
		put_number(s, is_signed ? value >> 7 : value >> 7 & 7, 1);
	}
}

static void put_register(struct built_section *s)
{
	put_number(s, pick(ARCH_PC), 1);
}

static void put_expression(struct built_section *s)
{
	static const struct {
		uint8_t size, bytes[12];
	} expressions[] = {
		{2, {0x76, 0x70}},
		{3, {0x77, 0x80, 0x01}},
		{3, {0x76, 0x78, 0x06}},
		{5, {0x77, 0x10, 0x06, 0x23, 0x20}},
		{4, {0x92, 10, 0x08, 0x06}},
		{11, {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}},
		{6, {0x73, 0, 0x09, 0xf0, 0x1a, 0x06}},
		{8, {0x7c, 0, 0x0a, 0x10, 0x00, 0x38, 0x1e, 0x22}},
	};
	unsigned i = pick(sizeof(expressions) / sizeof(expressions[0]));

	put_number(s, expressions[i].size, 1);
	put(s, expressions[i].bytes, expressions[i].size);
}

/* A program that every reader must accept. */
static void put_program(struct built_section *s)
{
	bool is_expression = false, remembered[4];
	unsigned depth = 0;

	for (unsigned n = pick(24); n; n--) {
		switch (pick(21)) {
		case 0:
			put_number(s, 0x40 | pick(8), 1);
			break;
		case 1:
			put_number(s, 0x02, 1);
			put_number(s, pick(8), 1);
			break;
		case 2:
			put_number(s, 0x03, 1);
			put_number(s, pick(8), 2);
			break;
		case 3:
			put_number(s, 0x80 | pick(ARCH_PC), 1);
			put_leb(s, false);
			break;
		case 4:
			put_number(s, 0xc0 | pick(ARCH_REGISTERS), 1);
			break;
		case 5: /* offset_extended, val_offset, GNU_negative_offset_extended */
			put_number(s, (const uint8_t[]){0x05, 0x14, 0x2f}[pick(3)], 1);
			put_register(s);
			put_leb(s, false);
			break;
		case 6: /* offset_extended_sf, val_offset_sf */
			put_number(s, pick(2) ? 0x11 : 0x15, 1);
			put_register(s);
			put_leb(s, true);
			break;
		case 7: /* undefined, same_value, restore_extended */
			put_number(s, 0x06 + pick(3), 1);
			put_register(s);
			break;
		case 8:
			put_number(s, 0x09, 1);
			put_register(s);
			put_register(s);
			break;
		case 9:
			if (depth == 4)
				break;
			remembered[depth++] = is_expression;
			put_number(s, 0x0a, 1);
			break;
		case 10:
			if (!depth)
				break;
			is_expression = remembered[--depth];
			put_number(s, 0x0b, 1);
			break;
		case 11:
			put_number(s, 0x0f, 1);
			put_expression(s);
			is_expression = true;
			break;
		case 12: /* expression, val_expression */
			put_number(s, pick(2) ? 0x10 : 0x16, 1);
			put_register(s);
			put_expression(s);
			break;
		case 13:
			if (is_expression)
				break;
			put_number(s, 0x0d, 1);
			put_register(s);
			break;
		case 14:
			if (is_expression)
				break;
			put_number(s, 0x0e, 1);
			put_leb(s, false);
			break;
		case 15:
			if (is_expression)
				break;
			put_number(s, 0x13, 1);
			put_leb(s, true);
			break;
		case 16:
			put_number(s, 0x12, 1);
			put_register(s);
			put_leb(s, true);
			is_expression = false;
			break;
		case 17:
			put_number(s, 0x2e, 1);
			put_leb(s, false);
			break;
		case 18: /* the return address */
			put(s,
			    pick(4) ? (const uint8_t[]){0x90, 1, 0}
				    : (const uint8_t[]){0x07, 16, 0},
			    3);
			break;
		default: /* def_cfa, mostly with rsp or rbp */
			put_number(s, 0x0c, 1);
			put_number(s, pick(4) ? 6 + pick(2) : pick(ARCH_PC), 1);
			put_leb(s, false);
			is_expression = false;
		}
	}
}

static void random_programs(void)
{
	static struct built_section s;
	char path[] = "/tmp/memtrace-rows-XXXXXX";
	size_t cie = put_cie(&s, 1, "", NULL, 0);

	for (size_t i = 0; i < RANDOM_FUNCTIONS; i++) {
		const uint64_t address[2] = {IMAGE_CODE + i * FUNCTION_BYTES,
					     FUNCTION_BYTES};
		size_t at = put_fde(&s, cie, (const uint8_t *)address, sizeof(address),
				    NULL, 0);

		put_program(&s);
		put_length(&s, at);
	}
	put_number(&s, 0, 4);

	const struct image_section section = {".eh_frame", s.bytes, s.size};

	image_file(path, RANDOM_FUNCTIONS * FUNCTION_BYTES, &section, 1);
	compare_file(path, 10000, 0, 5);
	unlink(path);
}

int main(void)
{
	made_up_init(&made_up);
	RUN(random_programs);
	return check_done();
}
