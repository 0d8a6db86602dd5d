/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Registers by role: most of the probes' code that depends on the architecture. */
#if defined(__TARGET_ARCH_x86)

/* x86-64 psABI 3.2.3: at a function's first instruction the integer arguments are in rdi,
 * rsi, rdx, rcx, r8, r9. The result is in rax. */
#define REG_ARG0(ctx)   ((u64)(ctx)->di)
#define REG_ARG1(ctx)   ((u64)(ctx)->si)
#define REG_ARG2(ctx)   ((u64)(ctx)->dx)
#define REG_ARG3(ctx)   ((u64)(ctx)->cx)
#define REG_ARG4(ctx)   ((u64)(ctx)->r8)
#define REG_RESULT(ctx) ((u64)(ctx)->ax)
#define REG_PC(ctx)     ((u64)(ctx)->ip)
#define REG_SP(ctx)     ((u64)(ctx)->sp)
#define REG_FP(ctx)     ((u64)(ctx)->bp)
/* Privilege level of the code segment (Intel SDM volume 3, 5.5): 3 is user space. */
#define REG_IS_USER(ctx) (((ctx)->cs & 3) == 3)
/* A system call (x86-64 psABI A.2.1): orig_ax keeps its number, ax has the result, and
 * the arguments stay in their registers. */
#define REG_CALL(ctx)      ((u64)(ctx)->orig_ax)
#define REG_CALL_ARG0(ctx) ((u64)(ctx)->di)
#define REG_CALL_ARG1(ctx) ((u64)(ctx)->si)
#define REG_CALL_ARG2(ctx) ((u64)(ctx)->dx)
#define REG_CALL_ARG3(ctx) ((u64)(ctx)->r10)
/* The return probe runs after `ret` has popped the return address. */
#define RETURNED_SP(ctx) ((u64)(ctx)->sp - 8)

/* Returns 1 if a condition of conditional jumps holds (Intel SDM volume 1, appendix B).
 * Each odd condition is the opposite of the even one before it. They depend on CF, PF,
 * ZF, SF and OF. */
ALWAYS_INLINE u64 REG_CONDITION(struct pt_regs *ctx, u64 condition)
{
	u64 flags = ctx->flags, cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1;
	u64 sf = flags >> 7 & 1, of = flags >> 11 & 1, less = sf ^ of;
	u64 all = of | cf << 1 | zf << 2 | (cf | zf) << 3 | sf << 4 | pf << 5 | less << 6 |
		  (zf | less) << 7;

	return (all >> (condition >> 1) ^ condition) & 1;
}

#else
#error "memtrace does not know this architecture's registers yet"
#endif

/* Set `value` to the register if `n` is its number. Load the value here: the compiler
 * must not select an address to load from, because a probe's context cannot be indexed.
 * Registers that no site of this run uses are not compiled in. */
#define REG_SELECT(field, n, number, value)                                              \
	do {                                                                             \
		if (registers & 1u << (number)) {                                        \
			u64 held = (field);                                              \
                                                                                         \
			barrier_var(held);                                                    \
			(value) = (n) == (number) ? held : (value);                      \
		}                                                                        \
	} while (0)

/* The register with number `n` of enum insn_register (arch/insn_registers.h). `registers` is the
 * constant set of registers that can be asked for. Returns 0 for all others, such as
 * ABI_ARG_NONE. */
ALWAYS_INLINE u64 reg_of(struct pt_regs *ctx, u32 n, u32 registers)
{
	u64 value = 0;

	REG_SELECT(ctx->ax, n, 0, value);
	REG_SELECT(ctx->cx, n, 1, value);
	REG_SELECT(ctx->dx, n, 2, value);
	REG_SELECT(ctx->bx, n, 3, value);
	REG_SELECT(ctx->bp, n, 5, value);
	REG_SELECT(ctx->si, n, 6, value);
	REG_SELECT(ctx->di, n, 7, value);
	REG_SELECT(ctx->r8, n, 8, value);
	REG_SELECT(ctx->r9, n, 9, value);
	REG_SELECT(ctx->r10, n, 10, value);
	REG_SELECT(ctx->r11, n, 11, value);
	REG_SELECT(ctx->r12, n, 12, value);
	REG_SELECT(ctx->r13, n, 13, value);
	REG_SELECT(ctx->r14, n, 14, value);
	REG_SELECT(ctx->r15, n, 15, value);
	return value;
}

/* The register of an argument, where a call begins. */
#define reg_arg(ctx, n) reg_of((ctx), (n), ARG_REGISTERS)

/* Each load is in a branch of its own: the verifier refuses a variable offset from
 * `ctx`. */
#define REG_WORD_CASE(n, field)                                                          \
	case n:                                                                          \
		value = (field);                                                         \
		barrier_var(value);                                                           \
		break

/* Word `n` (0 to 15) of struct pt_regs. bpf_probe_read_kernel() would take some 20 ns
 * more. */
ALWAYS_INLINE u64 reg_word(struct pt_regs *ctx, u64 n)
{
	u64 value = 0;

	switch (n & 15) {
		REG_WORD_CASE(0, ctx->r15);
		REG_WORD_CASE(1, ctx->r14);
		REG_WORD_CASE(2, ctx->r13);
		REG_WORD_CASE(3, ctx->r12);
		REG_WORD_CASE(4, ctx->bp);
		REG_WORD_CASE(5, ctx->bx);
		REG_WORD_CASE(6, ctx->r11);
		REG_WORD_CASE(7, ctx->r10);
		REG_WORD_CASE(8, ctx->r9);
		REG_WORD_CASE(9, ctx->r8);
		REG_WORD_CASE(10, ctx->ax);
		REG_WORD_CASE(11, ctx->cx);
		REG_WORD_CASE(12, ctx->dx);
		REG_WORD_CASE(13, ctx->si);
		REG_WORD_CASE(14, ctx->di);
	default:
		break;
	}
	return value;
}
