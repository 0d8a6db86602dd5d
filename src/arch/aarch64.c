// SPDX-License-Identifier: Apache-2.0
/* Stubs: memtrace can be built for aarch64, and reads reports there, but does not trace
 * (docs/porting.md). */
#include "arch/arch.h"
#include "arch/context.h"
#include "arch/emulated.h"
#include "arch/go_code.h"
#include "arch/insn.h"
#include "arch/kept_bp.h"

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

bool arch_register_find(const char *name, size_t len, uint8_t *ret_number,
			uint8_t *ret_size)
{
	(void)name;
	(void)len;
	(void)ret_number;
	(void)ret_size;
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

/* --- instructions: none is known ---------------------------------------------------- */

void insn_decode(const uint8_t *code, size_t size, struct insn *ret)
{
	(void)code;
	(void)size;
	*ret = (struct insn){0};
}

bool insn_branch_target(const uint8_t *code, size_t size, int64_t *ret)
{
	(void)code;
	(void)size;
	(void)ret;
	return false;
}

bool insn_is_padding(uint8_t byte)
{
	return byte == 0x00;
}

bool insn_ends_call(const uint8_t *code)
{
	(void)code;
	return false;
}

unsigned emulated_by_kernel(unsigned major, unsigned minor)
{
	(void)major;
	(void)minor;
	return 0;
}

const char *emulated_reason(const uint8_t *function, size_t offset,
			    const struct insn *insn, unsigned kernel)
{
	(void)function;
	(void)offset;
	(void)insn;
	(void)kernel;
	return NULL;
}

void kept_bp_each(const uint8_t *code, size_t size, uint64_t start, kept_bp_fn *each,
		  void *arg)
{
	(void)code;
	(void)size;
	(void)start;
	(void)each;
	(void)arg;
}

bool kept_bp_calls(const uint8_t *code, size_t size, uint64_t start)
{
	(void)code;
	(void)size;
	(void)start;
	return false;
}

enum go_switch go_switch_read(const uint8_t *code, size_t size_bytes, int32_t *ret_offset)
{
	(void)code;
	(void)size_bytes;
	(void)ret_offset;
	return GO_SWITCH_NONE;
}

bool go_saves_bp(const uint8_t *code, int32_t depth)
{
	(void)code;
	(void)depth;
	return false;
}
