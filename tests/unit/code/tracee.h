/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped thread that is traced with ptrace(2): its memory and registers. x86-64. */
#ifndef UNIT_PLAN_TRACEE_H
#define UNIT_PLAN_TRACEE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static inline uint64_t peek(pid_t tid, uint64_t address)
{
	errno = 0;

	long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)address, NULL);

	REQUIRE(errno == 0);
	return (uint64_t)word;
}

/* Works for memory that the thread itself cannot write, too. */
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

/* A general register by its number (enum insn_register of arch/insn_registers.h). */
static inline uint64_t register_of(const struct user_regs_struct *r, uint8_t n)
{
	const uint64_t values[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
				   r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
				   r->r12, r->r13, r->r14, r->r15};

	REQUIRE(n < sizeof(values) / sizeof(values[0]));
	return values[n];
}

/* Lets the thread stop with SIGTRAP before it executes the instruction at `address`; 0:
 * nowhere. Uses a hardware breakpoint (SDM volume 3, 18.2.4), which belongs to the
 * thread. A trap in the code would be lost if a tracer removed a uprobe from the same
 * address. */
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

/* Do hardware breakpoints work? On some virtual machines they never stop the thread. */
static inline bool has_stop_at(void)
{
	pid_t pid = fork();
	int status;

	REQUIRE(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(2);
		raise(SIGSTOP);
		getppid();
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, __WALL) == pid);
	if (WIFSTOPPED(status)) {
		stop_at(pid, (uint64_t)(uintptr_t)getppid);
		REQUIRE(!ptrace(PTRACE_CONT, pid, NULL, NULL));
		REQUIRE(waitpid(pid, &status, __WALL) == pid);
	}

	bool has = WIFSTOPPED(status);

	if (has) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, __WALL);
	}
	return has;
}

#define TRAP 0xcc /* int3 */

/* Writes a trap into the code. Returns the word that was there. */
static inline uint64_t set_trap(pid_t tid, uint64_t address)
{
	uint64_t word = peek(tid, address);

	poke(tid, address, (word & ~(uint64_t)0xff) | TRAP);
	return word;
}

/* Removes the trap. `word`: the result of set_trap(). */
static inline void clear_trap(pid_t tid, uint64_t address, uint64_t word)
{
	poke(tid, address, (peek(tid, address) & ~(uint64_t)0xff) | (word & 0xff));
}

/* Has the thread executed the trap at `address`? Then sets its pc back to the trap. */
static inline bool is_trapped(pid_t tid, uint64_t address)
{
	struct user_regs_struct r = registers_of(tid);

	if (r.rip != address + 1)
		return false;
	r.rip = address;
	REQUIRE(!ptrace(PTRACE_SETREGS, tid, NULL, &r));
	return true;
}

#endif
