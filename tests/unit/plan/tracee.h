/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped thread that is traced with ptrace(2): its memory and registers. x86-64. */
#ifndef UNIT_PLAN_TRACEE_H
#define UNIT_PLAN_TRACEE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include "check.h"

static inline uint64_t peek(pid_t tid, uint64_t address)
{
	errno = 0;

	long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)address, NULL);

	REQUIRE(errno == 0);
	return (uint64_t)word;
}

/* Also into memory that the thread itself cannot write to. */
static inline void poke(pid_t tid, uint64_t address, uint64_t word)
{
	REQUIRE(!ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)address,
			(void *)(uintptr_t)word));
}

static inline struct user_regs_struct registers_of(pid_t tid)
{
	struct user_regs_struct r;

	REQUIRE(!ptrace(PTRACE_GETREGS, tid, NULL, &r));
	return r;
}

/* A general register by its number, as enum insn_register of plan/decode.h has it. */
static inline uint64_t register_of(const struct user_regs_struct *r, uint8_t n)
{
	const uint64_t values[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
				   r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
				   r->r12, r->r13, r->r14, r->r15};

	REQUIRE(n < sizeof(values) / sizeof(values[0]));
	return values[n];
}

/* Let the thread stop with SIGTRAP before it executes the instruction at `address`, or
 * nowhere if that is 0. This is a breakpoint of the processor (SDM volume 3, 18.2.4),
 * which each thread has of its own. A trap in the code would be lost if somebody removed
 * a uprobe from the same address. */
static inline void stop_at(pid_t tid, uint64_t address)
{
	const size_t registers = offsetof(struct user, u_debugreg);
	const size_t control = registers + 7 * sizeof(uint64_t);

	REQUIRE(!ptrace(PTRACE_POKEUSER, tid, (void *)control, NULL));
	if (!address)
		return;
	REQUIRE(!ptrace(PTRACE_POKEUSER, tid, (void *)registers,
			(void *)(uintptr_t)address));
	REQUIRE(!ptrace(PTRACE_POKEUSER, tid, (void *)control, (void *)1L));
}

#endif
