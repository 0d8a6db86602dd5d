// SPDX-License-Identifier: Apache-2.0
#include "arch/arch.h"
#include "arch/context.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

/* In probes/kernel/include/uapi/linux/ptrace.h. */
static const struct arch_member members[] = {
	{"bp", 32},  {"ax", 80},  {"cx", 88},  {"dx", 96},
	{"si", 104}, {"di", 112}, {"ip", 128}, {"sp", 152},
};

const struct arch arch = {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.has_decoder = true,
	.code_alignment = 1,
	.nop_bytes = 1,
	.nop = {0x90},
	.breakpoint = 0xcc, /* int3 */
	/* Invalid in 64-bit mode (Intel SDM volume 2, B.1): raises SIGILL. */
	.invalid = 0x06,
	.stop_bytes = 1,
	.kernel_name = "x86",
	.probes_flag = "-D__TARGET_ARCH_x86",
	/* rcx, rdx, rsi and rdi: the first four arguments (psABI 3.2.3). */
	.argument_registers = 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7,
	.members = members,
	.member_count = sizeof(members) / sizeof(*members),
	/* arch/x86/include/asm/page_64_types.h; doubled by CONFIG_KASAN */
	.kernel_stack_bytes = 16384,
	.kernel_stack_kasan_bytes = 32768,
};

enum arch_relocation arch_relocation(uint32_t type)
{
	switch (type) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		return ARCH_RELOCATION_SYMBOLIC;
	case R_X86_64_RELATIVE:
		return ARCH_RELOCATION_RELATIVE;
	case R_X86_64_IRELATIVE:
		return ARCH_RELOCATION_IRELATIVE;
	default:
		return ARCH_RELOCATION_OTHER;
	}
}

/* The words of struct pt_regs (arch/x86/include/uapi/asm/ptrace.h) by the numbers of
 * registers in instructions. */
bool arch_register_offset(uint8_t number, uint8_t *ret)
{
	static const uint8_t words[] = {
		10 /* rax */, 11 /* rcx */, 12 /* rdx */, 5 /* rbx */,
		19 /* rsp */, 4 /* rbp */,  13 /* rsi */, 14 /* rdi */,
		9 /* r8 */,   8 /* r9 */,   7 /* r10 */,  6 /* r11 */,
		3 /* r12 */,  2 /* r13 */,  1 /* r14 */,  0 /* r15 */,
	};

	if (number >= sizeof(words))
		return false;
	*ret = (uint8_t)(words[number] * 8);
	return true;
}

bool arch_pc_read(pid_t tid, uint64_t *ret)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return false;
	*ret = regs.rip;
	return true;
}

bool arch_pointers_read(pid_t tid, uint64_t *stack, uint64_t *storage)
{
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof(regs)};

	/* The filter of the process that searches permits no other way. */
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(long)NT_PRSTATUS, &iov) ||
	    iov.iov_len < sizeof(regs))
		return false;
	*stack = regs.rsp;
	*storage = regs.fs_base;
	return true;
}

bool arch_pc_write(pid_t tid, uint64_t pc)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return false;
	regs.rip = pc;
	return ptrace(PTRACE_SETREGS, tid, NULL, &regs) == 0;
}

struct arch_context arch_context(const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;

	return (struct arch_context){(uint64_t)registers[REG_RSP],
				     (uint64_t)registers[REG_RIP], 2};
}
