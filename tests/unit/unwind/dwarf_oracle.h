/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates libdw's unwind rows on invented registers and memory, so that they can be
 * compared with memtrace's rows, whatever the form of either. */
#ifndef TESTS_UNIT_UNWIND_DWARF_ORACLE_H
#define TESTS_UNIT_UNWIND_DWARF_ORACLE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "check.h"
#include "unit/random.h"
#include "unwind/expression.h"

/* Memory whose words each point to another word, and registers that point into it. */
struct made_up {
	uint64_t words[4096];
	struct stack_copy stack;
	struct unwind_registers registers;
};

#define MADE_UP_BASE 0x7ffe00000000u

static inline void made_up_init(struct made_up *m)
{
	const size_t count = sizeof(m->words) / sizeof(m->words[0]);
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < count; i++)
		m->words[i] = MADE_UP_BASE + random_next(&state) % count * 8;
	m->stack = (struct stack_copy){
		.base = MADE_UP_BASE, .bytes = m->words, .size_bytes = sizeof(m->words)};
	for (size_t i = 0; i < ARCH_REGISTERS; i++)
		m->registers.value[i] =
			MADE_UP_BASE + count * 2 + random_next(&state) % (count / 2) * 8;
	m->registers.known = (1u << ARCH_REGISTERS) - 1;
}

/* A value, if it is known. */
struct oracle_value {
	bool known;
	uint64_t value;
};

static inline struct oracle_value oracle_read(const struct made_up *m, uint64_t address,
					      unsigned size)
{
	struct oracle_value v = {0};
	uint64_t at = address - MADE_UP_BASE;

	if (at <= sizeof(m->words) - size) {
		memcpy(&v.value, (const char *)m->words + at, size);
		v.known = true;
	}
	return v;
}

/* Evaluates operations from libdw. `cfa` is the value of DW_OP_call_frame_cfa. *is_value:
 * the result is not an address. */
static inline struct oracle_value oracle_eval(const struct made_up *m,
					      const Dwarf_Op *ops, size_t count,
					      uint64_t cfa, bool *is_value)
{
	struct oracle_value none = {0}, read;
	uint64_t s[64];
	size_t n = 0;

	*is_value = false;
	for (size_t i = 0; i < count; i++) {
		const Dwarf_Op *op = &ops[i];
		uint8_t code = op->atom;

		REQUIRE(n < 60);
		if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
			s[n++] = code - DW_OP_lit0;
			continue;
		}
		if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
			REQUIRE(code - DW_OP_breg0 < ARCH_REGISTERS);
			s[n++] = m->registers.value[code - DW_OP_breg0] + op->number;
			continue;
		}
		switch (code) {
		case DW_OP_call_frame_cfa:
			s[n++] = cfa;
			break;
		case DW_OP_bregx:
			if (op->number >= ARCH_REGISTERS)
				return none;
			s[n++] = m->registers.value[op->number] + op->number2;
			break;
		case DW_OP_regx:
			if (op->number >= ARCH_REGISTERS)
				return none;
			s[n++] = m->registers.value[op->number];
			*is_value = true;
			break;
		case DW_OP_const1u:
		case DW_OP_const2u:
		case DW_OP_const4u:
		case DW_OP_const8u:
		case DW_OP_const1s:
		case DW_OP_const2s:
		case DW_OP_const4s:
		case DW_OP_const8s:
		case DW_OP_constu:
		case DW_OP_consts:
			s[n++] = op->number;
			break;
		case DW_OP_plus_uconst:
			REQUIRE(n >= 1);
			s[n - 1] += op->number;
			break;
		case DW_OP_deref:
			REQUIRE(n >= 1);
			read = oracle_read(m, s[n - 1], 8);
			if (!read.known)
				return none;
			s[n - 1] = read.value;
			break;
		case DW_OP_plus:
			REQUIRE(n >= 2);
			s[n - 2] += s[n - 1];
			n--;
			break;
		case DW_OP_and:
			REQUIRE(n >= 2);
			s[n - 2] &= s[n - 1];
			n--;
			break;
		case DW_OP_mul:
			REQUIRE(n >= 2);
			s[n - 2] *= s[n - 1];
			n--;
			break;
		case DW_OP_ge:
			REQUIRE(n >= 2);
			s[n - 2] = (int64_t)s[n - 2] >= (int64_t)s[n - 1];
			n--;
			break;
		case DW_OP_shl:
			REQUIRE(n >= 2);
			s[n - 2] <<= s[n - 1];
			n--;
			break;
		case DW_OP_stack_value:
			*is_value = true;
			break;
		default:
			CHECK_FAIL("the oracle does not know operation 0x%x", code);
			return none;
		}
	}
	REQUIRE(n >= 1);
	return (struct oracle_value){true, s[n - 1]};
}

static inline struct oracle_value oracle_cfa(const struct made_up *m, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t count;
	bool is_value;

	REQUIRE(dwarf_frame_cfa(frame, &ops, &count) == 0);
	return oracle_eval(m, ops, count, 0, &is_value);
}

/* A register of the caller. *undefined: libdw says that it is undefined. */
static inline struct oracle_value oracle_register(const struct made_up *m,
						  Dwarf_Frame *frame, int reg,
						  uint64_t cfa, bool *undefined)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	bool is_value;

	*undefined = false;
	REQUIRE(dwarf_frame_register(frame, reg, memory, &ops, &count) == 0);
	if (!count && !ops)
		return (struct oracle_value){true, m->registers.value[reg]};
	if (!count) {
		*undefined = true;
		return (struct oracle_value){0};
	}

	struct oracle_value v = oracle_eval(m, ops, count, cfa, &is_value);

	return v.known && !is_value ? oracle_read(m, v.value, 8) : v;
}

#endif
