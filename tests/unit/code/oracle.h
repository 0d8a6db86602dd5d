/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capstone's view of an instruction, in the terms of arch/insn.h, and the code of real
 * libraries.
 */
#ifndef TESTS_UNIT_PLAN_ORACLE_H
#define TESTS_UNIT_PLAN_ORACLE_H

#include <capstone/capstone.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "arch/insn.h"

#define ORACLE_SECTIONS 16

/* The executable sections of a file. */
struct oracle_file {
	int fd;
	Elf *elf;
	size_t count;
	struct oracle_section {
		uint64_t address;
		const uint8_t *code;
		size_t size;
		uint8_t *target; /* target[i]: a branch in the file goes to code[i] */
	} sections[ORACLE_SECTIONS];
};

/* The number of a general register or a part of it; -1 for others. */
static inline int oracle_register(unsigned reg)
{
#define NAMES(n, a, b, c, d)                                                             \
	case X86_REG_##a:                                                                \
	case X86_REG_##b:                                                                \
	case X86_REG_##c:                                                                \
	case X86_REG_##d:                                                                \
		return n;
#define NUMBERED(n) NAMES(n, R##n, R##n##D, R##n##W, R##n##B)
	switch (reg) {
		NAMES(0, RAX, EAX, AX, AL)
		NAMES(1, RCX, ECX, CX, CL)
		NAMES(2, RDX, EDX, DX, DL)
		NAMES(3, RBX, EBX, BX, BL)
		NAMES(4, RSP, ESP, SP, SPL)
		NAMES(5, RBP, EBP, BP, BPL)
		NAMES(6, RSI, ESI, SI, SIL)
		NAMES(7, RDI, EDI, DI, DIL)
		NUMBERED(8)
		NUMBERED(9)
		NUMBERED(10)
		NUMBERED(11)
		NUMBERED(12)
		NUMBERED(13)
		NUMBERED(14)
		NUMBERED(15)
	case X86_REG_AH:
		return 0;
	case X86_REG_CH:
		return 1;
	case X86_REG_DH:
		return 2;
	case X86_REG_BH:
		return 3;
	default:
		return -1;
	}
#undef NUMBERED
#undef NAMES
}

/* The general registers that the instruction writes. Corrects five errors of capstone 4
 * and 5: test with an immediate writes nothing; cdq and cqo write only rdx; a system call
 * returns in rax and overwrites rcx and r11; cmpxchg writes rax, too (SDM volume 2,
 * CMPXCHG: the accumulator, if the values differ). */
static inline uint16_t oracle_writes(csh handle, const cs_insn *insn)
{
	cs_regs read, written;
	uint8_t reads, writes;
	uint16_t mask = insn->id == X86_INS_CMPXCHG ? 1u << INSN_RAX : 0;

	if (insn->id == X86_INS_TEST)
		return 0;
	if (insn->id == X86_INS_CDQ || insn->id == X86_INS_CQO || insn->id == X86_INS_CWD)
		return 1u << INSN_RDX;
	if (insn->id == X86_INS_SYSCALL)
		return 1u << INSN_RAX | 1u << INSN_RCX | 1u << 11;
	REQUIRE(!cs_regs_access(handle, insn, read, &reads, written, &writes));
	for (unsigned i = 0; i < writes; i++) {
		int reg = oracle_register(written[i]);

		if (reg >= 0)
			mask |= (uint16_t)(1u << reg);
	}
	return mask;
}

static inline bool oracle_in(csh handle, const cs_insn *insn, unsigned group)
{
	return cs_insn_group(handle, insn, group);
}

/* Is it a jump or call to a constant address? */
static inline bool oracle_branch(csh handle, const cs_insn *insn, uint64_t *target)
{
	const cs_x86 *x86 = &insn->detail->x86;

	if (!oracle_in(handle, insn, CS_GRP_JUMP) &&
	    !oracle_in(handle, insn, CS_GRP_CALL) && insn->id != X86_INS_LOOP &&
	    insn->id != X86_INS_LOOPE && insn->id != X86_INS_LOOPNE)
		return false;
	if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*target = (uint64_t)x86->operands[0].imm;
	return true;
}

static inline csh oracle_open_capstone(void)
{
	csh handle;

	REQUIRE(!cs_open(CS_ARCH_X86, CS_MODE_64, &handle));
	REQUIRE(!cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON));
	return handle;
}

static inline struct oracle_section *oracle_section_of(struct oracle_file *file,
						       uint64_t address)
{
	for (size_t i = 0; i < file->count; i++) {
		struct oracle_section *s = &file->sections[i];

		if (address >= s->address && address - s->address < s->size)
			return s;
	}
	return NULL;
}

/* False if the file does not exist. */
static inline bool oracle_open(const char *path, struct oracle_file *file)
{
	Elf_Scn *scn = NULL;

	*file = (struct oracle_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (file->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	REQUIRE(file->elf);
	while ((scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr shdr;

		REQUIRE(gelf_getshdr(scn, &shdr));
		if (shdr.sh_type != SHT_PROGBITS || !(shdr.sh_flags & SHF_EXECINSTR))
			continue;

		Elf_Data *data = elf_rawdata(scn, NULL);

		REQUIRE(data && data->d_size && file->count < ORACLE_SECTIONS);
		file->sections[file->count++] = (struct oracle_section){
			.address = shdr.sh_addr,
			.code = data->d_buf,
			.size = data->d_size,
			.target = calloc(data->d_size, 1),
		};
		REQUIRE(file->sections[file->count - 1].target);
	}
	return true;
}

static inline void oracle_close(struct oracle_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free(file->sections[i].target);
	elf_end(file->elf);
	close(file->fd);
}

#endif
