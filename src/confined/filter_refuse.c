// SPDX-License-Identifier: Apache-2.0
/* The filters that refuse a list of calls. */
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confined/filter.h"
#include "confined/filter_rules.h"
#include "util/cleanup.h"
#include "util/sanitized.h"

/* Numbers that old headers lack. From 424 on they are the same on all machines. */
#define NUMBER_PROCESS_MADVISE  440
#define NUMBER_MOUNT_SETATTR    442
#define NUMBER_QUOTACTL_FD      443
#define NUMBER_PROCESS_MRELEASE 448

/* These put text into the input of a terminal, which a shell of root may read. */
static const unsigned terminal_inputs[] = {TIOCSTI, TIOCLINUX};

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
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
};

static const int accepting[] = {SCMP_SYS(accept), SCMP_SYS(accept4)};

static const unsigned namespaces[] = FILTER_NAMESPACES;

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
			result = filter_add_command(filter, SCMP_ACT_ERRNO(EPERM),
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
	_cleanup_(filter_release) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int result = 0;

	if (!filter)
		return error_no_memory();
	if (refused_too->all_threads)
		result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; i < count && !result; i++)
		if (refusals[i].applies)
			result = filter_add_calls(filter, SCMP_ACT_ERRNO(EPERM),
						  refusals[i].calls, refusals[i].count);
	if (!result)
		result = refuse_arguments(filter, !refused_too->forks);
	if (!result)
		result = filter_refuse_newer(filter);
	if (!result && refused_too->code)
		result = refuse_code(filter);
	if (!result && refused_too->signals && !IS_SANITIZED)
		result = refuse_signals(filter);
	if (!result && refused_too->families)
		result = refuse_families(filter);
	if (!result)
		result = filter_load(filter);
	return result ? filter_failed(result) : NULL;
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

struct error *filter_load_tracing(bool holds_command, bool has_network, bool accepts)
{
	const struct refusal refusals[] = {
		REFUSAL(true, refused),
		REFUSAL(!holds_command && !IS_SANITIZED, debugging),
		REFUSAL(!has_network, network),
		REFUSAL(!has_network && !accepts, accepting),
	};

	return load_refusals(
		refusals, 4,
		&(const struct refused){.families = has_network, .all_threads = true});
}

struct error *filter_load_files_sanitized(void)
{
	const struct refusal refusals[] = {
		REFUSAL(true, refused),
		REFUSAL(true, mounts),
		REFUSAL(true, network),
		REFUSAL(true, accepting),
	};

	return load_refusals(refusals, 4, &(const struct refused){.code = true});
}
