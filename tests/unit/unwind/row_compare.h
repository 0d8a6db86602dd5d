/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the rows of a file with libdw's, for every register of the caller, on invented
 * registers. Also applies the packed rule of each row by the probes' step, and compares
 * the result with the row.
 */
#ifndef TESTS_UNIT_UNWIND_ROW_COMPARE_H
#define TESTS_UNIT_UNWIND_ROW_COMPARE_H

#include "unit/unwind/dwarf_oracle.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "unwind/cfi.h"
#include "unwind/frame.h"
#include "unwind/rules.h"

/* At most this many rows of a file are compared, evenly spread. */
#define ROWS_MAX 150000

static struct made_up made_up;

struct subject {
	const char *path;
	struct cfi *cfi;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	unsigned rows, debug_rows, packed, slow, ends, signals, gaps, differences;
};

static inline uint64_t word_at(uint64_t address)
{
	struct oracle_value v = oracle_read(&made_up, address, 8);

	return v.known ? v.value : 0;
}

/* The rule must give the row's pc, sp and bp. */
static inline bool check_rule(struct subject *s, const struct cfi_row *row, uint64_t pc,
			      const struct unwind_registers *caller, bool is_known)
{
	const uint64_t *value = made_up.registers.value;
	struct unwind_regs regs = {value[ARCH_PC], value[ARCH_SP], value[ARCH_BP]};
	uint64_t rule = rule_from_row(row, pc);

	switch (UNWIND_TYPE(rule)) {
	case UNWIND_SLOW:
		s->slow++;
		return true;
	case UNWIND_END:
		s->ends++;
		return row->registers[ARCH_PC].how == CFI_UNDEFINED;
	case UNWIND_SIGNAL:
		s->signals++;
		if (!row->is_signal_frame)
			return false;
		unwind_step_signal(&regs, word_at(regs.sp + UNWIND_SIGNAL_BP),
				   word_at(regs.sp + UNWIND_SIGNAL_SP),
				   word_at(regs.sp + UNWIND_SIGNAL_PC));
		break;
	default:
		if (!unwind_can_step(rule))
			return false;
		s->packed++;

		uint64_t cfa = unwind_cfa_at(&regs, rule);

		if (unwind_derefs(rule))
			cfa = unwind_cfa_from(rule, word_at(cfa));

		uint64_t bp = unwind_bp_saved(rule)
				      ? word_at(unwind_bp_at(&regs, rule, cfa))
				      : 0xdead;

		unwind_step(&regs, rule, cfa, word_at(unwind_return_address_at(cfa)), bp);
	}
	/* The invented memory is small: values outside of it cannot be compared. */
	if (!is_known)
		return true;
	return regs.pc == caller->value[ARCH_PC] && regs.sp == caller->value[ARCH_SP] &&
	       regs.bp == (caller->known >> ARCH_BP & 1 ? caller->value[ARCH_BP] : 0);
}

static inline bool same_registers(const struct cfi_row *row, Dwarf_Frame *frame,
				  const struct unwind_registers *caller, bool is_known)
{
	struct oracle_value cfa = oracle_cfa(&made_up, frame);
	bool undefined;

	if (!cfa.known)
		return !is_known;

	struct oracle_value pc =
		oracle_register(&made_up, frame, ARCH_PC, cfa.value, &undefined);

	if (undefined)
		return row->registers[ARCH_PC].how == CFI_UNDEFINED;

	struct oracle_value sp =
		oracle_register(&made_up, frame, ARCH_SP, cfa.value, &undefined);

	/* Without these two the caller is unknown. */
	if (!pc.known || !sp.known)
		return !is_known;
	if (!is_known)
		return false;
	for (int reg = 0; reg < ARCH_REGISTERS; reg++) {
		/* libdw assumes that rax is preserved and rbx is not (x86_64_cfi.c of
		 * elfutils 0.188 numbers rbx 0). In the psABI it is the other way
		 * round. */
		if (row->registers[reg].how == CFI_UNSPECIFIED &&
		    (reg == 0 || reg == ARCH_RBX)) {
			if ((caller->known >> reg & 1) != (reg == ARCH_RBX))
				return false;
			continue;
		}

		struct oracle_value v =
			oracle_register(&made_up, frame, reg, cfa.value, &undefined);

		if (v.known != (caller->known >> reg & 1) ||
		    (v.known && v.value != caller->value[reg]))
			return false;
	}
	return true;
}

/* Compares one address. Returns the end of libdw's row there, or 0 without a row. */
static inline uint64_t compare_at(struct subject *s, uint64_t address)
{
	Dwarf_Frame *frame = NULL;
	struct cfi_row row;
	bool is_signal = false;
	Dwarf_Addr start = 0, end = 0;

	if (s->eh && dwarf_cfi_addrframe(s->eh, address, &frame))
		frame = NULL;
	if (!frame && s->debug) {
		if (dwarf_cfi_addrframe(s->debug, address, &frame))
			frame = NULL;
		s->debug_rows += frame != NULL;
	}

	enum cfi_result result = cfi_find_row(s->cfi, address, &row);

	if (!frame) {
		s->differences += result != CFI_NONE;
		s->gaps++;
		return 0;
	}
	s->rows++;
	REQUIRE(dwarf_frame_info(frame, &start, &end, &is_signal) == ARCH_PC);

	bool same = result == CFI_FOUND && is_signal == row.is_signal_frame;

	if (same) {
		struct unwind_registers caller;

		made_up.registers.value[ARCH_PC] = address;

		bool is_known = frame_step(&row, &made_up.registers, &made_up.stack,
					   &caller) == EVAL_OK;

		same = same_registers(&row, frame, &caller, is_known) &&
		       check_rule(s, &row, address, &caller, is_known);
	}
	if (!same && s->differences++ < 5)
		CHECK_FAIL("%s: the row at 0x%" PRIx64 " is another", s->path, address);
	free(frame);
	return end;
}

static inline void compare_segment(struct subject *s, uint64_t start, uint64_t end)
{
	/* On average a row covers about 10 bytes of code. */
	uint64_t spread = (end - start) / ROWS_MAX / 10, gap = 0;

	for (uint64_t at = start; at < end;) {
		uint64_t row_end = compare_at(s, at);

		if (!row_end || row_end <= at) {
			at += ++gap < 64 ? 1 : 16;
			continue;
		}
		gap = 0;
		compare_at(s, row_end - 1);
		at = row_end + spread * 10;
	}
}

/* Compares the rows of the file at `path`. There must be at least `rows_min` rows,
 * `debug_rows_min` of them in .debug_frame, and `packed_percent` of the rows must fit a
 * rule. Call made_up_init() first. */
static inline void compare_file(const char *path, unsigned rows_min,
				unsigned debug_rows_min, unsigned packed_percent)
{
	struct subject s = {.path = path};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t count;

	REQUIRE(fd >= 0);
	REQUIRE(!cfi_open_file(dup(fd), &s.cfi));
	REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
	s.elf = elf_begin(fd, ELF_C_READ, NULL);
	REQUIRE(s.elf);
	s.eh = dwarf_getcfi_elf(s.elf);
	s.dwarf = dwarf_begin_elf(s.elf, DWARF_C_READ, NULL);
	s.debug = s.dwarf ? dwarf_getcfi(s.dwarf) : NULL;
	REQUIRE(s.eh || s.debug);
	REQUIRE(elf_getphdrnum(s.elf, &count) == 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		REQUIRE(gelf_getphdr(s.elf, (int)i, &p));
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			compare_segment(&s, p.p_vaddr, p.p_vaddr + p.p_filesz);
	}
	printf("     %s: %u rows, %u packed, %u slow, %u ends, %u signals, %u gaps\n",
	       path, s.rows, s.packed, s.slow, s.ends, s.signals, s.gaps);
	CHECK_INT(s.differences, 0);
	CHECK(s.rows >= rows_min);
	CHECK(s.debug_rows >= debug_rows_min);
	CHECK(s.packed > s.rows / 100 * packed_percent);
	cfi_close(s.cfi);
	if (s.eh)
		dwarf_cfi_end(s.eh);
	dwarf_end(s.dwarf);
	elf_end(s.elf);
	close(fd);
}

#endif
