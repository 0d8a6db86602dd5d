// SPDX-License-Identifier: Apache-2.0
#include "live/inject.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Below the stack pointer, and what leaf functions use there (the red zone). */
#define BELOW      4096
#define PATH_BYTES 256

static void await_stop(pid_t pid)
{
	int status;

	REQUIRE(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
}

static void transfer(pid_t pid, unsigned long long at, void *bytes, size_t size,
		     bool is_write)
{
	char path[32];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0);
	n = is_write ? pwrite(fd, bytes, size, (off_t)at)
		     : pread(fd, bytes, size, (off_t)at);
	REQUIRE(n == (ssize_t)size);
	close(fd);
}

long inject(pid_t pid, long number, const char *path, long second, long third)
{
	struct user_regs_struct own, regs;
	char text[PATH_BYTES] = "", before[PATH_BYTES];
	unsigned char instruction[2];
	unsigned long long at;

	REQUIRE(!ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	REQUIRE(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	await_stop(pid);
	REQUIRE(!ptrace(PTRACE_GETREGS, pid, NULL, &own));
	/* It waits behind a "syscall" instruction. */
	transfer(pid, own.rip - 2, instruction, 2, false);
	REQUIRE(instruction[0] == 0x0f && instruction[1] == 0x05);
	at = (own.rsp - BELOW) & ~0xfULL;
	transfer(pid, at, before, sizeof(before), false);
	snprintf(text, sizeof(text), "%s", path ? path : "");
	transfer(pid, at, text, sizeof(text), true);

	regs = own;
	regs.rip -= 2;
	regs.rax = (unsigned long long)number;
	/* Not the call that it waits in: that one is not to be made again now. */
	regs.orig_rax = (unsigned long long)-1;
	regs.rdi = path ? at : 0;
	regs.rsi = (unsigned long long)second;
	regs.rdx = (unsigned long long)third;
	REQUIRE(!ptrace(PTRACE_SETREGS, pid, NULL, &regs));
	REQUIRE(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
	await_stop(pid);
	REQUIRE(!ptrace(PTRACE_GETREGS, pid, NULL, &regs));
	transfer(pid, at, before, sizeof(before), true);
	REQUIRE(!ptrace(PTRACE_SETREGS, pid, NULL, &own));
	REQUIRE(!ptrace(PTRACE_DETACH, pid, NULL, NULL));
	return (long)regs.rax;
}
