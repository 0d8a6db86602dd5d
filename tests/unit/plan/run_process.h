/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.plan.returns_run: a stopped process that has loaded the library, in which
 * functions are called.
 */
#ifndef TESTS_UNIT_PLAN_RUN_PROCESS_H
#define TESTS_UNIT_PLAN_RUN_PROCESS_H

#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf.h"
#include "plan/returns.h"
#include "process/proc.h"
#include "unit/code/tracee.h"
#include "unit/plan/run_library.h"
#include "util/cleanup.h"

#define CLAIMS_MAX 64
#define BLOCKS     24

DEFINE_CLEANUP(struct proc *, proc_close);

/* --- the process -------------------------------------------------------------------- */

struct tracee {
	struct library *library;
	pid_t pid;
	bool has_stop_at;              /* result of has_stop_at() */
	struct user_regs_struct start; /* registers when it stopped */
	uint64_t trap;                 /* address of a trap, to which calls return */
	uint64_t bias;                 /* to be added to the file's addresses */
	uint64_t out;                  /* memory for results */
	/* Argument of mimalloc's functions that take a heap. */
	uint64_t heap;
	const char *name; /* the function that was called last */
	unsigned seed;
	struct {
		uint64_t address;
		size_t size;
	} blocks[BLOCKS];
	const struct function *plain_alloc, *plain_free;
	unsigned calls, caught, left, again[VARIANTS], steps, by_whole;
};

/* The result that a site reads. */
struct claim {
	const struct return_site *site;
	struct return_value value;
	uint64_t result; /* value of the register, word or constant */
	uint64_t stored; /* the word to which the first argument points */
	bool was_last;   /* no function was called since */
};

/* A call that is checked. */
struct call {
	struct function *function;
	uint64_t arguments[6];
	struct user_regs_struct before;
	struct claim claims[VARIANTS][CLAIMS_MAX];
	size_t count[VARIANTS];
	unsigned entries, wholes, results; /* hits of sites of function->whole */
	bool has_caught;                   /* an exception was caught, or may have been */
	bool has_left;                     /* the function has jumped to another one */
	bool is_seen_elsewhere; /* is_seen() of the function to which it jumped */
};

/* Resumes until the next SIGTRAP. */
static inline struct user_regs_struct resume(struct tracee *t, int request)
{
	int status;
	struct user_regs_struct r;

	REQUIRE(!ptrace(request, t->pid, NULL, NULL));
	REQUIRE(waitpid(t->pid, &status, __WALL) == t->pid);
	REQUIRE(WIFSTOPPED(status));
	r = registers_of(t->pid);
	if (WSTOPSIG(status) != SIGTRAP) {
		fprintf(stderr, "%s: %s: signal %d at %#llx of the file\n",
			t->library->label, t->name, WSTOPSIG(status), r.rip - t->bias);
		REQUIRE(WSTOPSIG(status) == SIGTRAP);
	}
	return r;
}

/* Has the call returned and executed the trap? */
static inline bool is_back(const struct tracee *t, const struct user_regs_struct *r)
{
	return r->rip == t->trap + 1;
}

/* run_to() by a trap in the code. */
static inline struct user_regs_struct run_to_trap(struct tracee *t, uint64_t address,
						  uint64_t sp)
{
	uint64_t word = address ? set_trap(t->pid, address) : 0;
	struct user_regs_struct r = resume(t, PTRACE_CONT);

	while (!is_back(t, &r)) {
		REQUIRE(is_trapped(t->pid, address));
		r.rip = address;
		if (r.rsp == sp)
			break;
		poke(t->pid, address, word);
		r = resume(t, PTRACE_SINGLESTEP);
		if (is_back(t, &r))
			break;
		set_trap(t->pid, address);
		r = resume(t, PTRACE_CONT);
	}
	if (address)
		poke(t->pid, address, word);
	return r;
}

/* Runs up to `address` with this stack pointer, or to the end of the call. */
static inline struct user_regs_struct run_to(struct tracee *t, uint64_t address,
					     uint64_t sp)
{
	struct user_regs_struct r;

	if (!t->has_stop_at)
		return run_to_trap(t, address, sp);
	stop_at(t->pid, address);
	do
		r = resume(t, PTRACE_CONT);
	while (!is_back(t, &r) && (r.rip != address || r.rsp != sp));
	stop_at(t->pid, 0);
	return r;
}

/* Sets the registers for a call of the function. Registers that a call must preserve get
 * values that occur nowhere else. */
static inline struct user_regs_struct enter(struct tracee *t, uint64_t address,
					    const uint64_t arguments[6])
{
	struct user_regs_struct r = t->start;

	r.rsp = ((t->start.rsp - 8192) & ~(uint64_t)15) - 8;
	poke(t->pid, r.rsp, t->trap);
	r.rip = t->bias + address;
	r.rdi = arguments[0];
	r.rsi = arguments[1];
	r.rdx = arguments[2];
	r.rcx = arguments[3];
	r.r8 = arguments[4];
	r.r9 = arguments[5];
	r.rax = 0x0a0a0a0a0a0a0a0a;
	r.rbx = 0x0b0b0b0b0b0b0b0b;
	r.rbp = 0x7e7e7e7e7e7e0001 + (uint64_t)t->calls;
	r.r10 = 0x1010101010101010;
	r.r11 = 0x1111111111111111;
	r.r12 = 0x1212121212121212;
	r.r13 = 0x1313131313131313;
	r.r14 = 0x1414141414141414;
	r.r15 = 0x1515151515151515;
	/* Do not restart a system call. */
	r.orig_rax = (unsigned long long)-1;
	REQUIRE(!ptrace(PTRACE_SETREGS, t->pid, NULL, &r));
	return r;
}

/* Calls a function without single-stepping. */
static inline uint64_t call(struct tracee *t, uint64_t address, uint64_t a, uint64_t b,
			    uint64_t c, uint64_t d)
{
	const uint64_t arguments[6] = {a, b, c, d, UINT64_MAX, 0};
	struct user_regs_struct r;

	enter(t, address, arguments);
	r = resume(t, PTRACE_CONT);
	REQUIRE(is_back(t, &r));
	return r.rax;
}

/* --- a run -------------------------------------------------------------------------- */

/* Finds what to add to the file's addresses. False: the library is not mapped. */
static inline bool find_bias(struct tracee *t)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	const struct elf_symbol *symbol = &t->library->functions[0].symbol;
	struct proc_maps maps = {0};
	bool found = false;

	REQUIRE(!proc_open(t->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->executable && !strcmp(m->path, t->library->path) &&
		    symbol->file_offset >= m->file_offset &&
		    symbol->file_offset - m->file_offset < m->end - m->start) {
			t->bias = m->start + (symbol->file_offset - m->file_offset) -
				  symbol->address;
			found = true;
		}
	proc_maps_deinit(&maps);
	return found;
}

static inline void become_tracee(const struct library *library)
{
	int nowhere = open("/dev/null", O_WRONLY);

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	/* musl is its own dynamic linker. */
	if (strcmp(library->linker, library->path) != 0)
		setenv("LD_PRELOAD", library->path, 1);
	setenv("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", "0", 1);
	dup2(nowhere, 2);
	if (library->folder)
		execl(library->linker, library->linker, "--library-path", library->folder,
		      TEST_STOPPED, (char *)NULL);
	else
		execl(library->linker, library->linker, TEST_STOPPED, (char *)NULL);
	_exit(3);
}

/* NULL, or why it did not start. */
static inline const char *start(struct tracee *t)
{
	int status;

	fflush(stdout);
	t->has_stop_at = has_stop_at();
	t->pid = fork();
	REQUIRE(t->pid >= 0);
	if (!t->pid)
		become_tracee(t->library);
	REQUIRE(waitpid(t->pid, &status, 0) == t->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		check_skip("ptrace(2) is not allowed here");
	if (WIFEXITED(status))
		return "its linker does not run";
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	REQUIRE(!ptrace(PTRACE_SETOPTIONS, t->pid, NULL,
			(void *)(long)PTRACE_O_EXITKILL));
	REQUIRE(!ptrace(PTRACE_CONT, t->pid, NULL, NULL));
	REQUIRE(waitpid(t->pid, &status, 0) == t->pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return "it cannot be loaded";
	t->start = registers_of(t->pid);
	t->trap = t->start.rip - 1;
	t->out = (t->start.rsp - 4096) & ~(uint64_t)15;
	return find_bias(t) ? NULL : "it is not loaded";
}

static inline void stop(struct tracee *t)
{
	int status;

	kill(t->pid, SIGKILL);
	waitpid(t->pid, &status, __WALL);
}

#endif
