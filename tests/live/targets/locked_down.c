// SPDX-License-Identifier: Apache-2.0
/*
 * locked_down PROGRAM ARG...: runs a program as on a kernel that was booted with
 * lockdown=confidentiality. Such a kernel (checked on Debian's 6.1)
 * - refuses with EINVAL each BPF program that calls a helper which reads kernel memory,
 * - has an empty tracefs.
 * A seccomp filter stops the program's processes at bpf(BPF_PROG_LOAD), and this process
 * inspects the instructions. The exit status is the program's.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	dprintf(STDERR_FILENO, "locked_down: %s: %s\n", what, strerror(errno));
	_exit(90);
}

static void hide_tracefs(void)
{
	check(unshare(CLONE_NEWNS), "unshare");
	check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	check(mount("tmpfs", "/sys/kernel/tracing", "tmpfs", MS_RDONLY, NULL), "tracing");
	/* A debugfs contains a tracefs. */
	mount("tmpfs", "/sys/kernel/debug", "tmpfs", MS_RDONLY, NULL);
}

/* Returns the descriptor that receives the stopped system calls. */
static int install_filter(void)
{
	/* fsopen() could mount the hidden tracefs again. x86_64 only, like memtrace. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsopen, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_LOAD, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static int read_memory(pid_t pid, uint64_t from, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The helpers that bpf_tracing_func_proto() (kernel/trace/bpf_trace.c) refuses by
 * LOCKDOWN_BPF_READ_KERNEL. */
static int reads_kernel(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 &&
	       (insn->imm == BPF_FUNC_probe_read ||
		insn->imm == BPF_FUNC_probe_read_str ||
		insn->imm == BPF_FUNC_probe_read_kernel ||
		insn->imm == BPF_FUNC_probe_read_kernel_str);
}

static int is_refused(const struct seccomp_notif *call)
{
	struct {
		uint32_t type, count;
		uint64_t insns;
	} attr; /* the first fields of union bpf_attr */

	if (!read_memory((pid_t)call->pid, call->data.args[1], &attr, sizeof(attr)) ||
	    attr.count > 1000000)
		return 0;

	size_t size = attr.count * sizeof(struct bpf_insn);
	struct bpf_insn *insns = malloc(size);
	int found = 0;

	check(!insns || !read_memory((pid_t)call->pid, attr.insns, insns, size),
	      "looking at a BPF program");
	for (uint32_t i = 0; i < attr.count; i++)
		found |= reads_kernel(&insns[i]);
	free(insns);
	return found;
}

static void judge(int listener)
{
	struct seccomp_notif call = {0};

	/* Fails if the process was killed meanwhile. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;

	int refused = is_refused(&call);
	struct seccomp_notif_resp answer = {
		.id = call.id,
		.error = refused ? -EINVAL : 0,
		.flags = refused ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int main(int argc, char *argv[])
{
	int tell[2], listener = -1, status;

	if (argc < 2)
		return 91;
	hide_tracefs();
	check(pipe(tell), "pipe");

	/* CLONE_FILES: both have the descriptor of the filter, until exec() gives the
	 * child its own table. */
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	check(pid < 0, "clone");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listener = install_filter();
		check(listener < 0, "seccomp");
		check(write(tell[1], &listener, sizeof(listener)) < 0, "pipe");
		execv(argv[1], argv + 1);
		check(1, argv[1]);
	}
	check(read(tell[0], &listener, sizeof(listener)) != sizeof(listener), "pipe");

	/* POLLHUP: the last process with the filter has ended. */
	struct pollfd p = {listener, POLLIN, 0};

	do {
		check(poll(&p, 1, -1) < 0, "poll");
		if (p.revents & POLLIN)
			judge(listener);
	} while (!(p.revents & POLLHUP));
	check(waitpid(pid, &status, 0) != pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
