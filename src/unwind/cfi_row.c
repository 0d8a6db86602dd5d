// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_row.h"

#include "unwind/dwarf_codes.h"

/* Bounds on the work for one row. The longest programs of real libraries have some
 * thousand instructions, and compilers nest two remembered rows. */
#define STEPS_MAX      (1u << 16)
#define REMEMBERED_MAX 16

struct machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	uint64_t pc, location; /* location <= pc */
	/* Called for each row that ends at or before pc; NULL: only the last row is
	 * wanted. */
	cfi_row_fn *each;
	void *arg;
	struct cfi_row row;
	const struct cfi_row *initial; /* NULL while the CIE's program runs */
	struct cfi_row remembered[REMEMBERED_MAX];
	unsigned depth, steps;
};

enum outcome {
	GO_ON,
	REACHED, /* the next row begins after pc */
	MALFORMED,
};

static void set(struct machine *m, uint64_t reg, struct cfi_rule rule)
{
	if (reg < ARCH_REGISTERS)
		m->row.registers[reg] = rule;
}

static int64_t factored(const struct machine *m, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)m->cie->data_align);
}

static void set_offset(struct machine *m, uint64_t reg, enum cfi_how how, int64_t offset)
{
	set(m, reg, (struct cfi_rule){.how = how, .offset = offset});
}

/* Begin the next row at `location`, which is at most m->pc. */
static enum outcome begin_row(struct machine *m, uint64_t location)
{
	if (m->each && location > m->location && m->row.cfa.how != CFI_UNSPECIFIED)
		m->each(m->arg, m->location, location, &m->row);
	m->location = location;
	return GO_ON;
}

static enum outcome advance(struct machine *m, uint64_t delta)
{
	if (!m->initial)
		return MALFORMED;
	/* Compare the quotient, since the product may overflow. */
	if (delta > (m->pc - m->location) / m->cie->code_align)
		return REACHED;
	return begin_row(m, m->location + delta * m->cie->code_align);
}

static enum outcome set_location(struct machine *m, struct cursor *c)
{
	uint64_t address = m->section->address + (uint64_t)(c->at - m->section->data);
	uint64_t location;

	if (!m->initial ||
	    !cfi_read_pointer(c, m->cie->pointer_encoding, address, 0, &location) ||
	    location < m->location)
		return MALFORMED;
	if (location > m->pc)
		return REACHED;
	return begin_row(m, location);
}

static enum outcome define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_REGISTERS)
		return MALFORMED;
	m->row.cfa = (struct cfi_rule){
		.how = CFI_REGISTER, .reg = (uint8_t)reg, .offset = offset};
	return GO_ON;
}

/* Change the register or the offset of the CFA. */
static enum outcome change_cfa(struct machine *m, bool is_register, uint64_t value)
{
	if (m->row.cfa.how != CFI_REGISTER)
		return MALFORMED;
	return is_register ? define_cfa(m, value, m->row.cfa.offset)
			   : define_cfa(m, m->row.cfa.reg, (int64_t)value);
}

static struct cfi_rule read_expression(struct cursor *c, enum cfi_how how)
{
	uint64_t size = cursor_uleb(c);
	const uint8_t *data = cursor_take(c, size);

	if (size > UINT32_MAX)
		cursor_fail(c);
	return (struct cfi_rule){
		.how = how, .size_bytes = (uint32_t)size, .expression = data};
}

static void set_register(struct machine *m, uint64_t reg, uint64_t other)
{
	/* Registers that are not kept have no known value. */
	if (other >= ARCH_REGISTERS)
		set_offset(m, reg, CFI_UNDEFINED, 0);
	else
		set(m, reg,
		    (struct cfi_rule){.how = CFI_REGISTER, .reg = (uint8_t)other});
}

static enum outcome restore(struct machine *m, uint64_t reg)
{
	if (!m->initial)
		return MALFORMED;
	if (reg < ARCH_REGISTERS)
		m->row.registers[reg] = m->initial->registers[reg];
	return GO_ON;
}

static enum outcome remember(struct machine *m)
{
	if (m->depth == REMEMBERED_MAX)
		return MALFORMED;
	m->remembered[m->depth++] = m->row;
	return GO_ON;
}

static enum outcome recall(struct machine *m)
{
	if (!m->depth)
		return MALFORMED;
	m->row = m->remembered[--m->depth];
	return GO_ON;
}

/* Run an instruction that says where one register is saved, if it is one. */
static enum outcome run_register(struct machine *m, uint8_t code, struct cursor *c)
{
	uint64_t reg = cursor_uleb(c);

	switch (code) {
	case DW_CFA_undefined:
		set_offset(m, reg, CFI_UNDEFINED, 0);
		return GO_ON;
	case DW_CFA_same_value:
		set_offset(m, reg, CFI_SAME, 0);
		return GO_ON;
	case DW_CFA_register:
		set_register(m, reg, cursor_uleb(c));
		return GO_ON;
	case DW_CFA_offset_extended:
		set_offset(m, reg, CFI_OFFSET, factored(m, cursor_uleb(c)));
		return GO_ON;
	case DW_CFA_offset_extended_sf:
		set_offset(m, reg, CFI_OFFSET, factored(m, cursor_sleb(c)));
		return GO_ON;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(m, reg, CFI_OFFSET, factored(m, -cursor_uleb(c)));
		return GO_ON;
	case DW_CFA_val_offset:
		set_offset(m, reg, CFI_VAL_OFFSET, factored(m, cursor_uleb(c)));
		return GO_ON;
	case DW_CFA_val_offset_sf:
		set_offset(m, reg, CFI_VAL_OFFSET, factored(m, cursor_sleb(c)));
		return GO_ON;
	case DW_CFA_expression:
		set(m, reg, read_expression(c, CFI_EXPRESSION));
		return GO_ON;
	case DW_CFA_val_expression:
		set(m, reg, read_expression(c, CFI_VAL_EXPRESSION));
		return GO_ON;
	}
	return MALFORMED;
}

/* Run an instruction with an opcode of its own (DWARF 5 section 7.24). */
static enum outcome run_extended(struct machine *m, uint8_t code, struct cursor *c)
{
	uint64_t reg;

	switch (code) {
	case DW_CFA_nop:
		return GO_ON;
	case DW_CFA_GNU_args_size:
		cursor_uleb(c);
		return GO_ON;
	case DW_CFA_set_loc:
		return set_location(m, c);
	case DW_CFA_advance_loc1:
		return advance(m, cursor_unsigned(c, 1));
	case DW_CFA_advance_loc2:
		return advance(m, cursor_unsigned(c, 2));
	case DW_CFA_advance_loc4:
		return advance(m, cursor_unsigned(c, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(m, cursor_unsigned(c, 8));
	case DW_CFA_remember_state:
		return remember(m);
	case DW_CFA_restore_state:
		return recall(m);
	case DW_CFA_def_cfa:
		reg = cursor_uleb(c);
		return define_cfa(m, reg, (int64_t)cursor_uleb(c));
	case DW_CFA_def_cfa_sf:
		reg = cursor_uleb(c);
		return define_cfa(m, reg, factored(m, cursor_sleb(c)));
	case DW_CFA_def_cfa_register:
		return change_cfa(m, true, cursor_uleb(c));
	case DW_CFA_def_cfa_offset:
		return change_cfa(m, false, cursor_uleb(c));
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa(m, false, (uint64_t)factored(m, cursor_sleb(c)));
	case DW_CFA_def_cfa_expression:
		m->row.cfa = read_expression(c, CFI_VAL_EXPRESSION);
		return GO_ON;
	case DW_CFA_restore_extended:
		return restore(m, cursor_uleb(c));
	default:
		return run_register(m, code, c);
	}
}

static bool run(struct machine *m, const uint8_t *program, size_t size)
{
	struct cursor c = cursor_of(program, size);
	enum outcome outcome = GO_ON;

	while (outcome == GO_ON && cursor_left(&c)) {
		if (++m->steps > STEPS_MAX)
			return false;

		uint8_t code = cursor_u8(&c), low = code & 0x3f;

		switch (code & 0xc0) {
		case DW_CFA_advance_loc:
			outcome = advance(m, low);
			break;
		case DW_CFA_offset:
			set_offset(m, low, CFI_OFFSET, factored(m, cursor_uleb(&c)));
			break;
		case DW_CFA_restore:
			outcome = restore(m, low);
			break;
		default:
			outcome = run_extended(m, code, &c);
		}
		if (c.bad)
			return false;
	}
	return outcome != MALFORMED;
}

/* Run the programs of CIE and FDE up to `pc`, which lies within the FDE. `initial` is
 * memory for the machine. */
static bool run_both(struct machine *m, struct cfi_row *initial,
		     const struct cfi_section *section, const struct cfi_fde *fde,
		     uint64_t pc)
{
	/* Set each field: clearing all would also clear the large array of rows. */
	m->section = section;
	m->cie = &fde->cie;
	m->pc = pc;
	m->location = fde->start;
	m->row = (struct cfi_row){.is_signal_frame = fde->cie.is_signal_frame};
	m->initial = NULL;
	m->depth = m->steps = 0;

	if (!run(m, fde->cie.program, fde->cie.program_size))
		return false;
	*initial = m->row;
	m->initial = initial;
	m->depth = 0;
	return run(m, fde->program, fde->program_size) &&
	       m->row.cfa.how != CFI_UNSPECIFIED;
}

bool cfi_row_find(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t pc, struct cfi_row *ret)
{
	struct machine m;
	struct cfi_row initial;

	if (pc < fde->start || pc >= fde->end)
		return false;
	m.each = NULL;
	if (!run_both(&m, &initial, section, fde, pc))
		return false;
	*ret = m.row;
	return true;
}

bool cfi_row_each(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t end, cfi_row_fn *each, void *arg, unsigned *ret_steps)
{
	struct machine m;
	struct cfi_row initial;
	bool is_good = false;

	*ret_steps = 0;
	end = end < fde->end ? end : fde->end;
	if (end <= fde->start)
		return true;
	m.each = each;
	m.arg = arg;
	is_good = run_both(&m, &initial, section, fde, end - 1);
	*ret_steps = m.steps;
	if (is_good)
		each(arg, m.location, end, &m.row);
	return is_good;
}
