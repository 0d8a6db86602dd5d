// SPDX-License-Identifier: Apache-2.0
/* Stubs: memtrace can be built for aarch64, and reads reports there, but does not trace
 * (docs/porting.md). */
#include "arch/arch.h"
#include "arch/context.h"

#include <elf.h>
#include <errno.h>

const struct arch arch = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.refuses = "cannot trace on aarch64 yet",
	.code_alignment = 4,
	.nop_bytes = 4,
	.nop = {0x1f, 0x20, 0x03, 0xd5},
	.kernel_name = "arm64",
	.probes_flag = "-D__TARGET_ARCH_arm64",
};

enum arch_relocation arch_relocation(uint32_t type)
{
	switch (type) {
	case R_AARCH64_JUMP_SLOT:
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_ABS64:
		return ARCH_RELOCATION_SYMBOLIC;
	case R_AARCH64_RELATIVE:
		return ARCH_RELOCATION_RELATIVE;
	case R_AARCH64_IRELATIVE:
		return ARCH_RELOCATION_IRELATIVE;
	default:
		return ARCH_RELOCATION_OTHER;
	}
}

bool arch_register_offset(uint8_t number, uint8_t *ret)
{
	(void)number;
	(void)ret;
	return false;
}

bool arch_pc_read(pid_t tid, uint64_t *ret)
{
	(void)tid;
	(void)ret;
	errno = ENOSYS;
	return false;
}

bool arch_pointers_read(pid_t tid, uint64_t *stack, uint64_t *storage)
{
	(void)tid;
	(void)stack;
	(void)storage;
	errno = ENOSYS;
	return false;
}

bool arch_pc_write(pid_t tid, uint64_t pc)
{
	(void)tid;
	(void)pc;
	errno = ENOSYS;
	return false;
}

struct arch_context arch_context(const ucontext_t *context)
{
	return (struct arch_context){context->uc_mcontext.sp, context->uc_mcontext.pc, 4};
}
