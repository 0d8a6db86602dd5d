/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memtrace knows of the processor. Files for each processor define `arch` and the
 * functions below; src/CMakeLists.txt chooses them. insn.h, emulated.h, kept_bp.h and
 * go_code.h are about instructions. registers.h has the numbers that must be constants.
 * docs/porting.md says what else a port has to write.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the dynamic linker does at a relocation. */
enum arch_relocation {
	ARCH_RELOCATION_OTHER,
	ARCH_RELOCATION_SYMBOLIC,  /* stores the address of a symbol */
	ARCH_RELOCATION_RELATIVE,  /* adds where the file is loaded */
	ARCH_RELOCATION_IRELATIVE, /* calls a function and stores its result */
};

/* A member of the kernel's struct pt_regs, and its offset in probes/kernel. */
struct arch_member {
	const char *name;
	uint32_t offset; /* bytes */
};

struct arch {
	const char *name;     /* for messages */
	uint16_t elf_machine; /* e_machine of ELF files */
	/* NULL, or why memtrace cannot trace here: words that follow "memtrace". */
	const char *refuses;
	/* The decoder (arch/insn.h) knows the instructions. If not, probes are only at
	 * first instructions and at returns. */
	bool has_decoder;
	uint8_t code_alignment; /* instructions begin at multiples of so many bytes */
	uint8_t nop_bytes;      /* of the nop that stands for a USDT probe */
	uint8_t nop[4];
	/* The instruction that the kernel writes for a uprobe, and one that is invalid:
	 * first bytes. A program that stops at the first has gone on by `stop_bytes`. */
	uint8_t breakpoint, invalid, stop_bytes;
	const char *kernel_name; /* the folder of the kernel's arch/, as x86 */
	const char *probes_flag; /* the definition that selects a part of probes/regs.c */
	/* Bit n: an argument of a function may be in register n (arch/insn.h). */
	unsigned argument_registers;
	/* Members of struct pt_regs that the probes read; member_count of them. 0: the
	 * layout is not checked. */
	const struct arch_member *members;
	size_t member_count;
	/* Size of a kernel stack, bytes (THREAD_SIZE), and with KASAN; 0: unknown. */
	uint32_t kernel_stack_bytes, kernel_stack_kasan_bytes;
};

/* The processor that memtrace is built for. */
extern const struct arch arch;

/* What a relocation of this type does (R_... of elf.h). */
enum arch_relocation arch_relocation(uint32_t type);

/* The offset in struct pt_regs, bytes, of the register `number` as in arch/insn.h.
 * Returns false if the number is of no register. */
bool arch_register_offset(uint8_t number, uint8_t *ret);

/* Find a register, or a part of one, by its name in assembler, which has `len` bytes.
 * Sets its number and its size in bytes. Returns false if no register has the name. */
bool arch_register_find(const char *name, size_t len, uint8_t *ret_number,
			uint8_t *ret_size);

/* The program counter of a thread that is stopped by ptrace(2). They return false, with
 * errno set, if the thread has gone. */
bool arch_pc_read(pid_t tid, uint64_t *ret);
bool arch_pc_write(pid_t tid, uint64_t pc);

/* Its stack pointer, and the address of its thread-local storage. */
bool arch_pointers_read(pid_t tid, uint64_t *stack, uint64_t *storage);

/* Give the calling thread a shadow stack. Functions that were called before cannot return
 * any more, so it is inlined. Returns 0 or -errno; -EOPNOTSUPP: the processor has none.
 */
static inline __attribute__((always_inline)) long arch_shadow_stack_enable(void);

#if defined(__x86_64__)
#include "arch/x86_64.h"
#else
#include "arch/other.h"
#endif

#endif
