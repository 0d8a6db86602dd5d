// SPDX-License-Identifier: Apache-2.0
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/elf.h"
#include "elf/elf_file.h"
#include "process/linker.h"
#include "process/proc.h"
#include "process/target_elf.h"
#include "process/target_file.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);
DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

/* Bound on stops before the announcement. If there are more, the start fails. */
#define MAX_STOPS 64

/* --- the child -------------------------------------------------------------------- */

/* Why the child has not executed the program. */
struct failure {
	int error; /* errno */
	bool is_untraced;
};

/* The child stops before the exec, so that the parent can trace it. Until then
 * the kernel kills it when the parent dies. */
_Noreturn static void run_child(const char *file, char *const argv[], int error_fd,
				pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(SPAWN_NOT_EXECUTABLE); /* the parent died before prctl() */

	bool is_traced = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;

	if (is_traced && raise(SIGSTOP) == 0 && prctl(PR_SET_PDEATHSIG, 0) == 0)
		execvp(file, argv);

	struct failure why = {errno, !is_traced};
	ssize_t written = write(error_fd, &why, sizeof(why));

	_exit(written == sizeof(why) ? SPAWN_NOT_FOUND : SPAWN_NOT_EXECUTABLE);
}

/* --- the tracer ------------------------------------------------------------------- */

static struct error *ended(struct spawn *s, int status)
{
	s->reaped = true;
	s->status = status;
	s->held = false;
	return error_create(ERROR_GONE, "pid %d exited before it could be traced",
			    s->pid);
}

/* Wait for the next stop, and store its signal in *ret. */
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

/* The place where the dynamic linker announces the libraries. */
struct announcement {
	uint64_t address; /* 0: no such place */
	uint8_t byte;     /* the byte at this place in the file */
};

/* Find LINKER_NOTICE in the code mapping `m`. */
static struct announcement find_announcement(const struct proc *proc,
					     const struct proc_mapping *m)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(proc, m, &from);
	struct announcement found = {0};
	struct elf_symbol symbol;

	if (!err)
		err = target_elf_open_function(from, LINKER_NOTICE, &file, &symbol);
	if (err || !symbol.name || symbol.file_offset < m->file_offset ||
	    symbol.file_offset - m->file_offset >= m->end - m->start)
		return found;
	if (elf_file_read_at(file, symbol.file_offset, &found.byte, 1) == 1)
		found.address = m->start + (symbol.file_offset - m->file_offset);
	return found;
}

static struct error *find_linker(const struct proc *proc, uint64_t base,
				 struct announcement *ret)
{
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(proc, &maps);
	uint64_t inode = 0;

	*ret = (struct announcement){0};
	for (size_t i = 0; !err && i < maps.mappings.len && !ret->address; i++) {
		const struct proc_mapping *m = &maps.mappings.data[i];

		if (m->start == base)
			inode = m->inode;
		if (inode && m->inode == inode && m->executable)
			*ret = find_announcement(proc, m);
	}
	proc_maps_deinit(&maps);
	return err;
}

/* Find struct r_debug: the linker stores its address in DT_DEBUG of the program's
 * dynamic section, which the program headers in the auxiliary vector lead to. */
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

/* Does the linker report that its list of libraries is complete? Also true if this
 * cannot be read. */
static bool is_consistent(pid_t pid)
{
	uint64_t r_debug = find_r_debug(pid);
	struct r_debug record;

	return !r_debug || !read_memory(pid, r_debug, &record, sizeof(record)) ||
	       (record.r_state == RT_CONSISTENT && record.r_map);
}

/* The place where the program must stop. */
struct stop {
	struct announcement at;
	uint8_t old; /* the byte that was there before */
};

/* Replace one byte of the program's code. *old gets the previous byte. */
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

/* Make the program stop at stop->at. A breakpoint already there belongs to another
 * tracer's uprobe, and the kernel would take ours for a hit of that uprobe. In this
 * case an invalid instruction stops the program. Hardware breakpoints would not be
 * reliable: some virtual machines ignore them. */
static struct error *set_stop(pid_t pid, struct stop *stop)
{
	uint8_t ours;

	if (poke_byte(pid, stop->at.address, arch.breakpoint, &stop->old) &&
	    (stop->old != arch.breakpoint ||
	     poke_byte(pid, stop->at.address, arch.invalid, &ours)))
		return NULL;
	return error_errno(ERROR_IO, errno,
			   "cannot set a breakpoint in the dynamic linker of pid %d "
			   "(start the program first, and trace it with -p PID)",
			   pid);
}

static bool is_at(const struct stop *stop, int sig, uint64_t pc)
{
	if (stop->old == arch.breakpoint)
		return sig == SIGILL && pc == stop->at.address;
	return sig == SIGTRAP && pc == stop->at.address + arch.stop_bytes;
}

/* Make `byte` at `to`, with the bytes after it, the next instruction to execute. */
static bool go_back(pid_t pid, const struct announcement *to, uint8_t byte)
{
	uint8_t replaced;

	return poke_byte(pid, to->address, byte, &replaced) &&
	       arch_pc_write(pid, to->address);
}

/* Execute one instruction. *ret gets the signal that arrived instead, or 0; then *code
 * gets the si_code of the stop. */
static struct error *step(struct spawn *s, int *ret, int *code)
{
	siginfo_t info = {0};
	struct error *err;

	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL))
		return error_errno(ERROR_GONE, errno,
				   "cannot single-step pid %d (ptrace)", s->pid);
	err = wait_stop(s, ret);
	if (err || *ret != SIGTRAP)
		return err;
	*ret = 0;
	ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info);
	*code = info.si_code;
	return NULL;
}

/* Execute the instruction under the breakpoint. *ret is as in step(). */
static struct error *step_over(struct spawn *s, const struct stop *stop, int *ret)
{
	uint8_t byte = stop->old;
	struct error *err;

	for (;;) {
		int code = 0;

		if (!go_back(s->pid, &stop->at, byte))
			return error_errno(ERROR_GONE, errno,
					   "cannot single-step pid %d (ptrace)", s->pid);
		err = step(s, ret, &code);
		/* A breakpoint instead of a step (arch/x86/kernel/traps.c,
		 * do_int3_user())? Then the other tracer has removed its uprobe while
		 * our byte replaced its breakpoint: use the file's byte. */
		if (err || code != SI_KERNEL || byte == stop->at.byte)
			return err;
		byte = stop->at.byte;
	}
}

/* Run to the announcement. Other signals are delivered to the program. */
static struct error *run_to(struct spawn *s, const struct announcement *to)
{
	struct stop stop = {.at = *to};
	int deliver = 0;
	struct error *err;

	if (arch.refuses)
		return error_create(ERROR_UNSUPPORTED, "pid %d: memtrace %s", s->pid,
				    arch.refuses);

	err = set_stop(s->pid, &stop);
	if (err)
		return err;
	for (int stops = 0; stops < MAX_STOPS; stops++) {
		bool is_last;
		uint64_t pc;
		int sig;

		if (ptrace(PTRACE_CONT, s->pid, NULL, (void *)(intptr_t)deliver))
			return error_errno(ERROR_GONE, errno,
					   "cannot continue pid %d (ptrace)", s->pid);
		err = wait_stop(s, &sig);
		if (err)
			return err;
		deliver = sig;
		if (!arch_pc_read(s->pid, &pc) || !is_at(&stop, sig, pc))
			continue;
		is_last = is_consistent(s->pid);
		err = step_over(s, &stop, &deliver);
		if (err)
			return err;
		if (is_last) {
			if (deliver)
				kill(s->pid, deliver); /* delivered at spawn_release() */
			return NULL;
		}
		/* The first announcement comes before the libraries are mapped. */
		err = set_stop(s->pid, &stop);
		if (err)
			return err;
	}
	return error_create(
		ERROR_UNSUPPORTED,
		"the dynamic linker of pid %d does not say when libraries are loaded: "
		"start the program first, and trace it with -p PID",
		s->pid);
}

static struct error *hold(struct spawn *s)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct auxv auxv;
	struct announcement announcement = {0};
	struct error *err;
	int sig;

	err = wait_stop(s, &sig);
	if (err)
		return err;
	err = proc_open(s->pid, &proc);
	auxv_read(s->pid, &auxv);
	if (!err)
		proc->elf_reader = s->elf_reader;
	if (!err && auxv.linker_base)
		err = find_linker(proc, auxv.linker_base, &announcement);
	if (!err && announcement.address)
		err = run_to(s, &announcement);
	return err;
}

/* Take control of the child, which has stopped before its exec. From now on it dies
 * with us. */
static struct error *take_up(struct spawn *s)
{
	int sig;
	struct error *err = wait_stop(s, &sig);

	/* Other signals may come first; deliver them to the child. */
	while (!err && sig != SIGSTOP &&
	       !ptrace(PTRACE_CONT, s->pid, NULL, (void *)(intptr_t)sig))
		err = wait_stop(s, &sig);
	if (err)
		return err;
	if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_CONT, s->pid, NULL, NULL)) {
		err = error_errno(ERROR_IO, errno, "cannot take hold of pid %d (ptrace)",
				  s->pid);
		kill(s->pid, SIGKILL);
		waitpid(s->pid, &s->status, __WALL);
		return err;
	}
	s->held = true;
	return NULL;
}

static struct error *not_run(const char *file, const struct failure *why)
{
	if (why->is_untraced)
		return error_errno(ERROR_PERMISSION, why->error,
				   "cannot trace the start of %s: "
				   "/proc/sys/kernel/yama/ptrace_scope must be below 3, "
				   "and a sandbox must permit ptrace",
				   file);
	return error_errno(why->error == ENOENT || why->error == ENOTDIR
				   ? ERROR_NOT_FOUND
				   : ERROR_PERMISSION,
			   why->error, "cannot run %s", file);
}

struct error *spawn_start(const char *file, char *const argv[],
			  struct elf_reader *elf_reader, struct spawn *ret)
{
	struct failure why;
	int pipe_fds[2];
	pid_t self = getpid();
	struct error *err;

	if (!file)
		file = argv[0];

	*ret = (struct spawn){.elf_reader = elf_reader};
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
		run_child(file, argv, pipe_fds[1], self);
	}
	close(pipe_fds[1]);
	err = take_up(ret);

	ssize_t n = ret->held || ret->reaped ? read(pipe_fds[0], &why, sizeof(why)) : 0;

	close(pipe_fds[0]);
	if (n == sizeof(why)) {
		if (!ret->reaped)
			waitpid(ret->pid, &ret->status, 0);
		*ret = (struct spawn){0};
		error_destroy(err);
		return not_run(file, &why);
	}
	if (!err)
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
		return error_errno(ERROR_GONE, errno,
				   "cannot detach from pid %d (ptrace)", s->pid);
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
