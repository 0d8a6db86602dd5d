// SPDX-License-Identifier: Apache-2.0
#include "attach/trampoline.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "arch/arch.h"
#include "attach/attach_events.h"
#include "bpf/features.h"
#include "bpf/link.h"
#include "bpf/syscall.h"
#include "util/locked_memory.h"

/* After this time the child is killed. */
#define CHILD_TIMEOUT_MS 5000

/* Exit statuses of the child. */
enum {
	CHILD_LIVED,
	CHILD_UNTESTED,   /* no probe could be attached, or the confinement failed */
	CHILD_IMPOSSIBLE, /* this machine does not support the confinement */
};

#define PROGRAM_PATH "/proc/self/exe"

/* --- the probed function ------------------------------------------------------------ */

/* Returns its own return address, which the kernel's trampoline replaces if there is a
 * return probe. */
__attribute__((noinline)) static uintptr_t probed(void)
{
	__asm__ volatile("");
	return (uintptr_t)__builtin_return_address(0);
}

/* Call it from a single place, so that its return address is always the same. */
__attribute__((noinline)) static uintptr_t call_probed(void)
{
	uintptr_t address = probed();

	__asm__ volatile("" : "+r"(address));
	return address;
}

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *offset = arg, address = (uint64_t)(uintptr_t)probed;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && address >= start &&
		    address - start < p->p_filesz)
			*offset = address - start + p->p_offset;
	}
	/* Stop: the program itself comes first, and contains the function. */
	return 1;
}

/* --- the child ---------------------------------------------------------------------- */

/* Attach a return probe to this process. Returns 0 or -errno. */
static int attach_link(uint64_t offset)
{
	int program = kernel_load_empty(BPF_PROG_TYPE_KPROBE, ATTACH_TYPE_UPROBE_MULTI);
	int link = program < 0 ? program
			       : link_uprobe_multi(program, ATTACH_TYPE_UPROBE_MULTI,
						   PROGRAM_PATH, &offset, NULL, NULL, 1,
						   true, (int)getpid());

	return link < 0 ? link : 0;
}

static int attach_event(uint64_t offset)
{
	const struct attach_probe probe = {
		.path = PROGRAM_PATH, .offset = offset, .is_return = true};
	struct uprobe_pmu pmu;
	struct error *err = uprobe_pmu_find(&pmu);
	int event = err ? -ENODEV : uprobe_event_open(&pmu, (int)getpid(), false, &probe);

	error_destroy(err);
	return event < 0 ? event : 0;
}

/* The descriptors stay open: the child's exit closes them. */
static bool attach(uint64_t offset)
{
	locked_memory_lift(NULL);
	/* Kernels before 6.6 have no such links. */
	return !attach_link(offset) || !attach_event(offset);
}

static bool confine(void)
{
	/* SECCOMP_RET_TRAP ends the child like a kill, but is not written to the audit
	 * log. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void run_filtered(uint64_t offset)
{
	uintptr_t plain = call_probed();

	if (!attach(offset) || !confine())
		_exit(CHILD_UNTESTED);
	/* Not by _exit(): sanitizers make system calls before it. */
	syscall(SYS_exit_group, call_probed() == plain ? CHILD_UNTESTED : CHILD_LIVED);
}

static void run_shadowed(uint64_t offset)
{
	long result = arch_shadow_stack_enable();

	if (result == -EOPNOTSUPP || result == -EINVAL)
		_exit(CHILD_IMPOSSIBLE);
	if (result)
		_exit(CHILD_UNTESTED);

	uintptr_t plain = call_probed();

	if (!attach(offset))
		_exit(CHILD_UNTESTED);
	_exit(call_probed() == plain ? CHILD_UNTESTED : CHILD_LIVED);
}

/* prctl(2); not every libc defines them */
#define SET_SYSCALL_USER_DISPATCH 59
#define DISPATCH_ON               1
#define DISPATCH_ALLOW            0
#define DISPATCH_BLOCK            1

/* All system calls are dispatched while the selector is DISPATCH_BLOCK. */
static void run_dispatched(uint64_t offset)
{
	volatile char selector = DISPATCH_ALLOW;
	uintptr_t plain = call_probed(), address;

	if (prctl(SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, 0, 0, &selector))
		_exit(errno == EINVAL ? CHILD_IMPOSSIBLE : CHILD_UNTESTED);
	if (!attach(offset))
		_exit(CHILD_UNTESTED);
	selector = DISPATCH_BLOCK;
	address = call_probed();
	selector = DISPATCH_ALLOW;
	_exit(address == plain ? CHILD_UNTESTED : CHILD_LIVED);
}

/* --- the test -------------------------------------------------------------------------
 */

/* Wait for the child and return its wait status. Kills a child that hangs. */
static int wait_for(pid_t child)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status = 0;
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	if (pidfd >= 0) {
		while (poll(&fd, 1, CHILD_TIMEOUT_MS) < 0 && errno == EINTR)
			;
		if (!fd.revents)
			kill(child, SIGKILL);
		close(pidfd);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* `signal`: the signal that kills the child if the trampoline does not work. */
static enum trampoline_verdict test(void (*run)(uint64_t offset), int signal)
{
	pid_t parent = getpid(), child;
	uint64_t offset = 0;
	int status;

	dl_iterate_phdr(find_offset, &offset);
	child = offset ? fork() : -1;
	if (child < 0)
		return TRAMPOLINE_UNTESTED;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Do not write a core file for an expected death. */
		prctl(PR_SET_DUMPABLE, 0);
		if (getppid() == parent)
			run(offset);
		_exit(CHILD_UNTESTED);
	}
	status = wait_for(child);
	if (WIFSIGNALED(status) && WTERMSIG(status) == signal)
		return TRAMPOLINE_KILLS;
	return WIFEXITED(status) && (WEXITSTATUS(status) == CHILD_LIVED ||
				     WEXITSTATUS(status) == CHILD_IMPOSSIBLE)
		       ? TRAMPOLINE_PASSES
		       : TRAMPOLINE_UNTESTED;
}

enum trampoline_verdict trampoline_test_seccomp(void)
{
	return test(run_filtered, SIGSYS);
}

enum trampoline_verdict trampoline_test_shadow_stack(void)
{
	return test(run_shadowed, SIGSEGV);
}

enum trampoline_verdict trampoline_test_dispatch(void)
{
	return test(run_dispatched, SIGSYS);
}
