// SPDX-License-Identifier: Apache-2.0
#include "confined/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confined/refusal.h"
#include "util/cleanup.h"
#include "util/sanitized.h"

/* Numbers that old headers lack. From 424 on they are the same on all machines. */
#define NUMBER_PROCESS_MADVISE  440
#define NUMBER_MOUNT_SETATTR    442
#define NUMBER_QUOTACTL_FD      443
#define NUMBER_PROCESS_MRELEASE 448

/* The calls that came with Linux 6.6 and later. On x86-64 others begin at 512. */
#define NUMBER_NEWER     452
#define NUMBER_NEWER_END 512

/* The calls of a reader: its descriptors, memory, time, itself. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(preadv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(getdents64),
	SCMP_SYS(fadvise64),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Calls with a path, which confined/broker.c answers. */
static const int asked[] = {
	SCMP_SYS(open),     SCMP_SYS(openat),     SCMP_SYS(openat2),
	SCMP_SYS(stat),     SCMP_SYS(lstat),      SCMP_SYS(newfstatat),
	SCMP_SYS(access),   SCMP_SYS(faccessat),  SCMP_SYS(faccessat2),
	SCMP_SYS(readlink), SCMP_SYS(readlinkat),
};

/* Besides, what a process that opens files needs. (AddressSanitizer asks at the start of
 * a thread for the processors it may use.) */
static const int opening[] = {
	SCMP_SYS(openat2),         SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(statfs),          SCMP_SYS(readlink),   SCMP_SYS(readlinkat),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq),       SCMP_SYS(sched_getaffinity),
};

/* Besides, what a process that writes files needs: it creates them, and gives them their
 * names. It may wait for its child. */
static const int writing[] = {
	SCMP_SYS(open),       SCMP_SYS(openat),     SCMP_SYS(openat2),
	SCMP_SYS(stat),       SCMP_SYS(lstat),      SCMP_SYS(newfstatat),
	SCMP_SYS(statx),      SCMP_SYS(statfs),     SCMP_SYS(access),
	SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(getcwd),     SCMP_SYS(uname),
	SCMP_SYS(pwrite64),   SCMP_SYS(ftruncate),  SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),  SCMP_SYS(linkat),     SCMP_SYS(rename),
	SCMP_SYS(renameat),   SCMP_SYS(renameat2),  SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),   SCMP_SYS(shutdown),   SCMP_SYS(wait4),
	SCMP_SYS(waitid),     SCMP_SYS(getgid),     SCMP_SYS(getegid),
};

/* What the C library asks about terminals. */
static const unsigned terminal_questions[] = {TCGETS, TIOCGWINSZ};

/* These put text into the input of a terminal, which a shell of root may read. */
static const unsigned terminal_inputs[] = {TIOCSTI, TIOCLINUX};

static const int fcntl_commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

/* Calls that memtrace never makes. (The headers for libbcc are in a file system made by
 * fsopen(2). It cannot be mounted anywhere without move_mount(2).) */
static const int refused[] = {
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	NUMBER_MOUNT_SETATTR,
	SCMP_SYS(fspick),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	NUMBER_QUOTACTL_FD,
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(syslog),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(vhangup),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(open_by_handle_at),
	/* READ_IMPLIES_EXEC */
	SCMP_SYS(personality),
	NUMBER_PROCESS_MADVISE,
	NUMBER_PROCESS_MRELEASE,
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(kcmp),
};

/* For a file system that is mounted nowhere: tracefs, and headers for libbcc. */
static const int mounts[] = {SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount)};

/* Besides clone(2) without CLONE_THREAD. */
static const int forks[] = {SCMP_SYS(fork), SCMP_SYS(vfork)};

/* clone(2): new namespaces. Such processes have capabilities of their own, and reach
 * code of the kernel that is for root otherwise. */
static const unsigned namespaces[] = {
	CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWUSER,
	CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP,
};

/* Calls for tracing other processes and for watching the children of the tracing
 * process. */
static const int tracing[] = {
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
};

static const int debugging[] = {SCMP_SYS(ptrace)};

static const int network[] = {
	SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind),
	SCMP_SYS(listen), SCMP_SYS(accept),  SCMP_SYS(accept4),
};

static void release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static struct error *failed(int result)
{
	return error_errno(refusal_code(-result), -result,
			   "no seccomp filter can be loaded");
}

/* seccomp_load(3); 0, or the first error as a negative errno value. */
static int load(scmp_filter_ctx filter)
{
	int result;

	errno = 0;
	result = seccomp_load(filter);
	/* For any error of the kernel, which is still in errno. */
	return result == -ECANCELED && errno ? -errno : result;
}

/* Returns the first error, as a negative errno value, or 0. */
static int add_rules(scmp_filter_ctx filter, uint32_t action, const int calls[],
		     size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		/* Some machines lack some calls. */
		if (calls[i] >= 0)
			result = seccomp_rule_add(filter, action, calls[i], 0);
	}
	return result;
}

/* fcntl(2) or ioctl(2) with this command. The kernel ignores the upper half of it. */
static int add_command(scmp_filter_ctx filter, uint32_t action, int call,
		       unsigned command)
{
	const struct scmp_arg_cmp is_command = {.arg = 1,
						.op = SCMP_CMP_MASKED_EQ,
						.datum_a = UINT32_MAX,
						.datum_b = command};

	return seccomp_rule_add(filter, action, call, 1, is_command);
}

/*
 * Calls that a filter cannot judge: clone3(2), whose flags are in memory, and those newer
 * than these lists. As if the kernel lacked them, so that the C library makes others.
 */
static int refuse_newer(scmp_filter_ctx filter)
{
	int result =
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (int call = NUMBER_NEWER; call < NUMBER_NEWER_END && !result; call++)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
	return result;
}

/* Add calls that are allowed only with some arguments. */
static int add_conditions(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp not_executable = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0};
	int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				      not_executable);

	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
					  not_executable);
	for (size_t i = 0; i < sizeof(fcntl_commands) / sizeof(*fcntl_commands); i++)
		if (!result)
			result = add_command(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl),
					     (unsigned)fcntl_commands[i]);
	return result ? result : refuse_newer(filter);
}

/* Opening a file is allowed if it is for reading alone. */
static int allow_reading(scmp_filter_ctx filter)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	const struct scmp_arg_cmp of_open = {
		.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = writes, .datum_b = 0};
	const struct scmp_arg_cmp of_openat = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = writes, .datum_b = 0};
	int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, of_open);

	return result ? result
		      : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
					 of_openat);
}

static int allow_threads(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp is_thread = {.arg = 0,
					 .op = SCMP_CMP_MASKED_EQ,
					 .datum_a = CLONE_THREAD,
					 .datum_b = CLONE_THREAD};

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		is_thread.datum_a |= namespaces[i];
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, is_thread);
}

struct error *filter_load_opener(void)
{
	_cleanup_(release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return error_no_memory();
	result = add_rules(filter, SCMP_ACT_ALLOW, allowed,
			   sizeof(allowed) / sizeof(*allowed));
	if (!result)
		result = add_rules(filter, SCMP_ACT_ALLOW, opening,
				   sizeof(opening) / sizeof(*opening));
	if (!result)
		result = add_conditions(filter);
	if (!result)
		result = allow_reading(filter);
	if (!result)
		result = allow_threads(filter);
	if (!result)
		result = load(filter);
	return result ? failed(result) : NULL;
}

struct error *filter_load_reader(int *ret_listener)
{
	_cleanup_(release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	/* fstat(3) of glibc 2.33 to 2.38. A filter cannot see whether the path is
	 * empty, and without a listener nothing else checks it. This allows stat(2) of
	 * paths. */
	const struct scmp_arg_cmp of_descriptor = {.arg = 3,
						   .op = SCMP_CMP_MASKED_EQ,
						   .datum_a = UINT32_MAX,
						   .datum_b = AT_EMPTY_PATH};
	int result;

	if (!filter)
		return error_no_memory();
	result = add_rules(filter, SCMP_ACT_ALLOW, allowed,
			   sizeof(allowed) / sizeof(*allowed));
	if (!result && ret_listener)
		result = add_rules(filter, SCMP_ACT_NOTIFY, asked,
				   sizeof(asked) / sizeof(*asked));
	else if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
					  of_descriptor);
	if (!result)
		result = add_conditions(filter);
	if (!result)
		result = load(filter);
	if (result)
		return failed(result);
	if (!ret_listener)
		return NULL;
	/* Duplicated, because libseccomp closes its own descriptor at any time. */
	*ret_listener = fcntl(seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 0);
	return *ret_listener < 0 ? failed(-errno) : NULL;
}

/* A list of calls that fail, if `applies`. */
struct refusal {
	bool applies;
	const int *calls;
	size_t count;
};

#define REFUSAL(applies, calls)                                                          \
	{                                                                                \
		(applies), (calls), sizeof(calls) / sizeof(*(calls))                     \
	}

/* No page becomes executable. */
static int refuse_code(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp executable = {.arg = 2,
						.op = SCMP_CMP_MASKED_EQ,
						.datum_a = PROT_EXEC,
						.datum_b = PROT_EXEC};
	const struct scmp_arg_cmp executable_shared = {.arg = 2,
						       .op = SCMP_CMP_MASKED_EQ,
						       .datum_a = SHM_EXEC,
						       .datum_b = SHM_EXEC};
	static const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect),
				    SCMP_SYS(pkey_mprotect)};
	int result = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !result; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
					  executable);
	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(shmat),
					  1, executable_shared);
	return result;
}

/* Signals to other processes. pthread_kill(3) and abort(3) send them to this one. */
static int refuse_signals(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp is_other = {
		.arg = 0, .op = SCMP_CMP_NE, .datum_a = (scmp_datum_t)getpid()};

	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
				is_other);
}

/* New namespaces, with `has_forks` false also new processes; and input of terminals. */
static int refuse_arguments(scmp_filter_ctx filter, bool has_forks)
{
	const struct scmp_arg_cmp is_process = {.arg = 0,
						.op = SCMP_CMP_MASKED_EQ,
						.datum_a = CLONE_THREAD,
						.datum_b = 0};
	int result = has_forks ? 0
			       : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
						  SCMP_SYS(clone), 1, is_process);

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces) && !result; i++) {
		const struct scmp_arg_cmp is_new = {.arg = 0,
						    .op = SCMP_CMP_MASKED_EQ,
						    .datum_a = namespaces[i],
						    .datum_b = namespaces[i]};

		result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
					  1, is_new);
	}
	for (size_t i = 0; i < sizeof(terminal_inputs) / sizeof(*terminal_inputs); i++)
		if (!result)
			result = add_command(filter, SCMP_ACT_ERRNO(EPERM),
					     SCMP_SYS(ioctl), terminal_inputs[i]);
	return result;
}

/* Sockets that do not serve the Internet, this machine's services, and the question for
 * the machine's addresses (getaddrinfo(3)). */
static int refuse_families(scmp_filter_ctx filter)
{
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	const struct scmp_arg_cmp is_beyond = {
		.arg = 0, .op = SCMP_CMP_GT, .datum_a = AF_NETLINK};
	const struct scmp_arg_cmp of_netlink = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = AF_NETLINK};
	const struct scmp_arg_cmp not_of_routes = {
		.arg = 2, .op = SCMP_CMP_NE, .datum_a = NETLINK_ROUTE};
	int result = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 1, is_beyond);

	if (!result)
		result = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 2, of_netlink,
					  not_of_routes);
	for (unsigned family = 0; family < AF_NETLINK && !result; family++) {
		const struct scmp_arg_cmp is_it = {
			.arg = 0, .op = SCMP_CMP_EQ, .datum_a = family};

		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			result = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 1,
						  is_it);
	}
	return result;
}

/* Besides lists of calls: what is refused. */
struct refused {
	bool code;        /* new executable memory */
	bool signals;     /* to other processes */
	bool forks;       /* new processes */
	bool families;    /* see refuse_families() */
	bool all_threads; /* the filter is for all threads of the process */
};

/* Load a filter that refuses these calls and allows all others. */
static struct error *load_refusals(const struct refusal refusals[], size_t count,
				   const struct refused *refused_too)
{
	_cleanup_(release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int result = 0;

	if (!filter)
		return error_no_memory();
	if (refused_too->all_threads)
		result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; i < count && !result; i++)
		if (refusals[i].applies)
			result = add_rules(filter, SCMP_ACT_ERRNO(EPERM),
					   refusals[i].calls, refusals[i].count);
	if (!result)
		result = refuse_arguments(filter, !refused_too->forks);
	if (!result)
		result = refuse_newer(filter);
	if (!result && refused_too->code)
		result = refuse_code(filter);
	if (!result && refused_too->signals && !IS_SANITIZED)
		result = refuse_signals(filter);
	if (!result && refused_too->families)
		result = refuse_families(filter);
	if (!result)
		result = load(filter);
	return result ? failed(result) : NULL;
}

struct error *filter_load_client(void)
{
	const struct refusal refusals[] = {
		REFUSAL(true, refused), REFUSAL(true, tracing), REFUSAL(true, debugging),
		REFUSAL(true, mounts),  REFUSAL(true, forks),
	};

	return load_refusals(refusals, 5,
			     &(const struct refused){
				     .signals = true, .forks = true, .families = true});
}

struct error *filter_load_tracing(bool holds_command, bool has_network)
{
	const struct refusal refusals[] = {
		REFUSAL(true, refused),
		REFUSAL(!holds_command && !IS_SANITIZED, debugging),
		REFUSAL(!has_network, network),
	};

	return load_refusals(
		refusals, 3,
		&(const struct refused){.families = has_network, .all_threads = true});
}

/* The leak checker of a sanitized build traces this process from a new one. */
static struct error *load_files_sanitized(void)
{
	const struct refusal refusals[] = {
		REFUSAL(true, refused),
		REFUSAL(true, mounts),
		REFUSAL(true, network),
	};

	return load_refusals(refusals, 3, &(const struct refused){.code = true});
}

struct error *filter_load_files(void)
{
	const struct scmp_arg_cmp is_own = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()};
	const size_t questions = sizeof(terminal_questions) / sizeof(*terminal_questions);
	_cleanup_(release) scmp_filter_ctx filter = NULL;
	int result;

	if (IS_SANITIZED)
		return load_files_sanitized();
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return error_no_memory();
	result = add_rules(filter, SCMP_ACT_ALLOW, allowed,
			   sizeof(allowed) / sizeof(*allowed));
	if (!result)
		result = add_rules(filter, SCMP_ACT_ALLOW, writing,
				   sizeof(writing) / sizeof(*writing));
	if (!result)
		result = add_conditions(filter);
	/* abort(3) and raise(3) */
	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
					  is_own);
	for (size_t i = 0; i < questions && !result; i++)
		result = add_command(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl),
				     terminal_questions[i]);
	if (!result)
		result = load(filter);
	return result ? failed(result) : NULL;
}
