// SPDX-License-Identifier: Apache-2.0
#include "target/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/elf.h"
#include "target/linker.h"
#include "target/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

/* Stops on the way to the announcement; a program that makes more is left as it is. */
#define MAX_STOPS 64

#if defined(__x86_64__)
#define BREAKPOINT_BYTE 0xcc /* int3; the stop is one byte further */
#endif

/* --- the child -------------------------------------------------------------------- */

_Noreturn static void run_child(const char *file, char *const argv[], int error_fd)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		execvp(file, argv);

	int err = errno;
	ssize_t written = write(error_fd, &err, sizeof(err));

	_exit(written == sizeof(err) ? SPAWN_NOT_FOUND : SPAWN_NOT_EXECUTABLE);
}

/* --- the tracer ------------------------------------------------------------------- */

static struct error *ended(struct spawn *s, int status)
{
	s->reaped = true;
	s->status = status;
	s->held = false;
	return error_create(ERROR_GONE, "pid %d ended before it could be traced", s->pid);
}

/* Wait for the next stop; its signal in *ret. */
static struct error *wait_stop(struct spawn *s, int *ret)
{
	int status;

	while (waitpid(s->pid, &status, __WALL) < 0) {
		if (errno != EINTR)
			return error_errno(ERROR_IO, errno, "cannot wait for pid %d",
					   s->pid);
	}
	if (!WIFSTOPPED(status))
		return ended(s, status);
	*ret = WSTOPSIG(status);
	return NULL;
}

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The address of LINKER_NOTICE in the code mapping `m`, or 0. */
static uint64_t find_announcement(const struct proc *proc, const struct proc_mapping *m)
{
	_cleanup_(freep) char *path = NULL;
	uint64_t offset = 0;
	_cleanup_(error_destroyp) struct error *err = proc_mapping_path(proc, m, &path);

	if (!err)
		err = linker_find_function(path, LINKER_NOTICE, &offset);
	if (err || !offset || offset < m->file_offset ||
	    offset - m->file_offset >= m->end - m->start)
		return 0;
	return m->start + (offset - m->file_offset);
}

/* Where the dynamic linker announces the libraries; 0: it does not. */
static struct error *find_linker(const struct proc *proc, uint64_t base, uint64_t *ret)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(proc, &maps);
	uint64_t inode = 0;

	*ret = 0;
	for (size_t i = 0; !err && i < maps.mappings.len && !*ret; i++) {
		const struct proc_mapping *m = &maps.mappings.data[i];

		if (m->start == base)
			inode = m->inode;
		if (inode && m->inode == inode && m->executable)
			*ret = find_announcement(proc, m);
	}
	proc_maps_deinit(&maps);
	return err;
}

#if defined(__x86_64__)

/* DT_DEBUG of the program's dynamic section is filled in by the linker with the address
 * of struct r_debug; it is found through the auxiliary vector's program headers. */
static uint64_t find_r_debug(pid_t pid)
{
	uint64_t bias = 0, dynamic = 0;
	struct auxv auxv;

	auxv_read(pid, &auxv);
	for (uint64_t i = 0; auxv.phdr && i < auxv.phnum && i < 64; i++) {
		Elf64_Phdr p;

		if (!read_memory(pid, auxv.phdr + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type == PT_PHDR)
			bias = auxv.phdr - p.p_vaddr;
		if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_vaddr;
	}
	for (uint64_t i = 0; dynamic && i < 256; i++) {
		Elf64_Dyn d;

		if (!read_memory(pid, bias + dynamic + i * sizeof(d), &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

/* Does the linker say that its list of libraries is whole? */
static bool is_consistent(pid_t pid)
{
	uint64_t r_debug = find_r_debug(pid);
	struct r_debug record;

	return !r_debug || !read_memory(pid, r_debug, &record, sizeof(record)) ||
	       (record.r_state == RT_CONSISTENT && record.r_map);
}

/* Where the program is to stop. */
struct stop {
	uint64_t address;
	bool by_processor;
	uint8_t old; /* what the breakpoint stands for; nothing, by the processor */
};

/* Replace one byte of the program's code; the old one in *old. */
static bool poke_byte(pid_t pid, uint64_t address, uint8_t byte, uint8_t *old)
{
	uint64_t aligned = address & ~(uint64_t)7;
	unsigned shift = (unsigned)(address & 7) * 8;

	errno = 0;

	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)aligned, NULL);

	if (errno)
		return false;
	*old = (uint8_t)((uint64_t)word >> shift);
	if (*old == byte)
		return true;

	uint64_t patched =
		((uint64_t)word & ~((uint64_t)0xff << shift)) | (uint64_t)byte << shift;

	return ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)aligned,
		      (void *)(uintptr_t)patched) == 0;
}

/* Breakpoint 0 of the processor, where it executes `address`; 0: none (Intel SDM volume
 * 3, 17.2). */
static bool set_processor_stop(pid_t pid, uint64_t address)
{
	const size_t at = offsetof(struct user, u_debugreg);
	const size_t word = sizeof(((struct user *)NULL)->u_debugreg[0]);

	if (address &&
	    ptrace(PTRACE_POKEUSER, pid, (void *)at, (void *)(uintptr_t)address))
		return false;
	return ptrace(PTRACE_POKEUSER, pid, (void *)(at + 7 * word),
		      (void *)(uintptr_t)(address != 0)) == 0;
}

/* A breakpoint that is there already is another tracer's uprobe, whose hit ours would be
 * taken for; the processor stops before it. */
static bool set_stop(pid_t pid, struct stop *stop)
{
	if (!poke_byte(pid, stop->address, BREAKPOINT_BYTE, &stop->old))
		return false;
	stop->by_processor = stop->old == BREAKPOINT_BYTE;
	return !stop->by_processor || set_processor_stop(pid, stop->address);
}

static bool is_at(const struct stop *stop, const struct user_regs_struct *regs)
{
	return regs->rip == stop->address + !stop->by_processor;
}

/* The program, which is there, is to go on as if there were none. */
static bool end_stop(pid_t pid, const struct stop *stop, struct user_regs_struct *regs)
{
	uint8_t ours;

	if (stop->by_processor)
		return set_processor_stop(pid, 0);
	/* Back to the instruction that the breakpoint stands for. */
	regs->rip = stop->address;
	return poke_byte(pid, stop->address, stop->old, &ours) &&
	       ptrace(PTRACE_SETREGS, pid, NULL, regs) == 0;
}

/* Run to the announcement. Signals that arrive meanwhile are the program's own. */
static struct error *run_to(struct spawn *s, uint64_t address)
{
	struct stop stop = {.address = address};
	struct user_regs_struct regs;
	int deliver = 0;
	struct error *err;

	if (!set_stop(s->pid, &stop))
		return error_errno(ERROR_IO, errno, "cannot stop pid %d in its linker",
				   s->pid);
	for (int stops = 0; stops < MAX_STOPS; stops++) {
		int sig;

		if (ptrace(PTRACE_CONT, s->pid, NULL, (void *)(intptr_t)deliver))
			return error_errno(ERROR_GONE, errno, "cannot run pid %d",
					   s->pid);
		err = wait_stop(s, &sig);
		if (err)
			return err;
		deliver = sig;
		if (sig != SIGTRAP || ptrace(PTRACE_GETREGS, s->pid, NULL, &regs) ||
		    !is_at(&stop, &regs))
			continue;
		deliver = 0;

		if (!end_stop(s->pid, &stop, &regs))
			return error_errno(ERROR_IO, errno, "cannot resume pid %d",
					   s->pid);
		if (is_consistent(s->pid))
			return NULL;
		/* The first announcement: over this instruction, and on to the next. */
		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL))
			return error_errno(ERROR_GONE, errno, "cannot step pid %d",
					   s->pid);
		err = wait_stop(s, &sig);
		if (err)
			return err;
		deliver = sig == SIGTRAP ? 0 : sig;
		if (!set_stop(s->pid, &stop))
			return error_errno(ERROR_IO, errno, "cannot stop pid %d", s->pid);
	}
	return error_create(ERROR_UNSUPPORTED,
			    "pid %d never finished loading its libraries", s->pid);
}

#else

static struct error *run_to(struct spawn *s, uint64_t address)
{
	(void)address;
	return error_create(ERROR_UNSUPPORTED,
			    "pid %d: this machine's programs cannot be held yet", s->pid);
}

#endif

static struct error *hold(struct spawn *s)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct auxv auxv;
	uint64_t announcement = 0;
	struct error *err;
	int sig;

	err = wait_stop(s, &sig);
	if (err)
		return err;
	s->held = true;
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)PTRACE_O_EXITKILL);
	err = proc_open(s->pid, &proc);
	auxv_read(s->pid, &auxv);
	if (!err && auxv.linker_base)
		err = find_linker(proc, auxv.linker_base, &announcement);
	if (!err && announcement)
		err = run_to(s, announcement);
	return err;
}

struct error *spawn_start(const char *file, char *const argv[], struct spawn *ret)
{
	int pipe_fds[2], child_error;
	struct error *err;

	if (!file)
		file = argv[0];

	*ret = (struct spawn){0};
	if (pipe2(pipe_fds, O_CLOEXEC))
		return error_errno(ERROR_IO, errno, "cannot make a pipe");
	fflush(NULL);
	ret->pid = fork();
	if (ret->pid < 0) {
		int fork_errno = errno;

		close(pipe_fds[0]);
		close(pipe_fds[1]);
		ret->pid = 0;
		return error_errno(ERROR_IO, fork_errno, "cannot start %s", file);
	}
	if (ret->pid == 0) {
		close(pipe_fds[0]);
		run_child(file, argv, pipe_fds[1]);
	}
	close(pipe_fds[1]);

	ssize_t n = read(pipe_fds[0], &child_error, sizeof(child_error));

	close(pipe_fds[0]);
	if (n == sizeof(child_error)) {
		waitpid(ret->pid, &ret->status, 0);
		ret->pid = 0;
		return error_errno(child_error == ENOENT || child_error == ENOTDIR
					   ? ERROR_NOT_FOUND
					   : ERROR_PERMISSION,
				   child_error, "cannot run %s", file);
	}
	err = hold(ret);
	if (err)
		spawn_deinit(ret);
	return err;
}

struct error *spawn_release(struct spawn *s)
{
	if (!s->held)
		return NULL;
	s->held = false;
	if (ptrace(PTRACE_DETACH, s->pid, NULL, NULL))
		return error_errno(ERROR_GONE, errno, "cannot let pid %d go", s->pid);
	return NULL;
}

void spawn_deinit(struct spawn *s)
{
	if (s->held && !s->reaped) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, &s->status, __WALL);
	}
	*s = (struct spawn){0};
}

int spawn_wait(struct spawn *s)
{
	while (!s->reaped) {
		if (waitpid(s->pid, &s->status, 0) == s->pid)
			s->reaped = true;
		else if (errno != EINTR)
			return 1;
	}
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status)
				      : WEXITSTATUS(s->status);
}
