/* SPDX-License-Identifier: Apache-2.0 */
/* Registers by role: the one place of the probes that knows the architecture. */
#if defined(__TARGET_ARCH_x86)

/* x86-64 psABI 3.2.3: integer arguments in rdi, rsi, rdx, rcx, r8, r9; result in rax. */
#define REG_ARG0(ctx)	((u64)(ctx)->di)
#define REG_ARG1(ctx)	((u64)(ctx)->si)
#define REG_ARG2(ctx)	((u64)(ctx)->dx)
#define REG_ARG3(ctx)	((u64)(ctx)->cx)
#define REG_RESULT(ctx) ((u64)(ctx)->ax)
#define REG_PC(ctx)	((u64)(ctx)->ip)
#define REG_SP(ctx)	((u64)(ctx)->sp)
#define REG_FP(ctx)	((u64)(ctx)->bp)
/* The return probe runs after `ret` has popped the return address. */
#define RETURNED_SP(ctx) ((u64)(ctx)->sp - 8)

#else
#error "memtrace does not know this architecture's registers yet"
#endif

/* Argument number `n` (ABI_ARG_NONE gives 0). A probe's context cannot be indexed. */
ALWAYS_INLINE u64 reg_arg(struct pt_regs *ctx, u32 n)
{
	u64 a0 = REG_ARG0(ctx), a1 = REG_ARG1(ctx), a2 = REG_ARG2(ctx), a3 = REG_ARG3(ctx);

	/* Values, not addresses: the compiler must not select the address to load from. */
	__asm__ __volatile__("" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3));
	return n == 0 ? a0 : n == 1 ? a1 : n == 2 ? a2 : n == 3 ? a3 : 0;
}
