// SPDX-License-Identifier: Apache-2.0
/* The filters that allow a list of calls. */
#include "confined/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "confined/filter_rules.h"
#include "util/cleanup.h"
#include "util/sanitized.h"

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

/* Besides, what a process that answers clients needs. (AddressSanitizer as above.) */
static const int serving[] = {
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(shutdown),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
};

/* Besides, what a process needs that looks into others. */
static const int scanning[] = {
	SCMP_SYS(openat2),
	SCMP_SYS(newfstatat),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(get_robust_list),
	SCMP_SYS(wait4),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(statfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(timer_create),
	SCMP_SYS(timer_settime),
};

/* Of ptrace(2), whose first argument is the request. */
static const unsigned scanning_requests[] = {
	PTRACE_SEIZE,     PTRACE_INTERRUPT,   PTRACE_DETACH,
	PTRACE_GETREGSET, PTRACE_PEEKSIGINFO, PTRACE_GETSIGINFO,
};

/* The request PAGEMAP_SCAN of ioctl(2): include/uapi/linux/fs.h, Linux 6.7. */
#define SCAN_PAGES _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96)

/* What the C library asks about terminals. */
static const unsigned terminal_questions[] = {TCGETS, TIOCGWINSZ};

/* What ncurses does with terminals. */
static const unsigned terminal_settings[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGPGRP};

/* Besides, what a screen needs. */
static const int drawing[] = {
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq),   SCMP_SYS(sched_getaffinity),
	SCMP_SYS(eventfd2),        SCMP_SYS(select), SCMP_SYS(pselect6),
};

static const int fcntl_commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

static const unsigned namespaces[] = FILTER_NAMESPACES;

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
			result = filter_add_command(filter, SCMP_ACT_ALLOW,
						    SCMP_SYS(fcntl),
						    (unsigned)fcntl_commands[i]);
	return result ? result : filter_refuse_newer(filter);
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

/* Load a filter that allows the calls of a reader, `more` of them, and what `allow` adds.
 */
static struct error *load_allowed(const int more[], size_t count,
				  int (*allow)(scmp_filter_ctx filter))
{
	_cleanup_(filter_release) scmp_filter_ctx filter =
		seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return error_no_memory();
	result = filter_add_calls(filter, SCMP_ACT_ALLOW, allowed,
				  sizeof(allowed) / sizeof(*allowed));
	if (!result)
		result = filter_add_calls(filter, SCMP_ACT_ALLOW, more, count);
	if (!result)
		result = add_conditions(filter);
	if (!result)
		result = allow(filter);
	if (!result)
		result = filter_load(filter);
	return result ? filter_failed(result) : NULL;
}

static int allow_opening(scmp_filter_ctx filter)
{
	int result = allow_reading(filter);

	return result ? result : allow_threads(filter);
}

struct error *filter_load_opener(void)
{
	return load_allowed(opening, sizeof(opening) / sizeof(*opening), allow_opening);
}

/* fstat(3) of glibc 2.33 to 2.38. A filter cannot see whether the path is empty, and
 * without a listener nothing else checks it. This allows stat(2) of paths. */
static int allow_fstat(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp of_descriptor = {.arg = 3,
						   .op = SCMP_CMP_MASKED_EQ,
						   .datum_a = UINT32_MAX,
						   .datum_b = AT_EMPTY_PATH};

	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				of_descriptor);
}

static int allow_serving(scmp_filter_ctx filter)
{
	int result = allow_fstat(filter);

	if (!result)
		result = filter_add_command(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl),
					    F_SETFL);
	return result ? result : allow_threads(filter);
}

struct error *filter_load_server(void)
{
	return load_allowed(serving, sizeof(serving) / sizeof(*serving), allow_serving);
}

static int allow_scanning(scmp_filter_ctx filter)
{
	int result =
		filter_add_command(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), SCAN_PAGES);

	for (size_t i = 0; i < sizeof(scanning_requests) / sizeof(*scanning_requests);
	     i++) {
		const struct scmp_arg_cmp is_request = {
			.arg = 0, .op = SCMP_CMP_EQ, .datum_a = scanning_requests[i]};

		if (!result)
			result = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
						  SCMP_SYS(ptrace), 1, is_request);
	}
	return result ? result : allow_opening(filter);
}

struct error *filter_load_scanner(void)
{
	return load_allowed(scanning, sizeof(scanning) / sizeof(*scanning),
			    allow_scanning);
}

struct error *filter_load_reader(int *ret_listener)
{
	_cleanup_(filter_release) scmp_filter_ctx filter =
		seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return error_no_memory();
	result = filter_add_calls(filter, SCMP_ACT_ALLOW, allowed,
				  sizeof(allowed) / sizeof(*allowed));
	if (!result && ret_listener)
		result = filter_add_calls(filter, SCMP_ACT_NOTIFY, asked,
					  sizeof(asked) / sizeof(*asked));
	else if (!result)
		result = allow_fstat(filter);
	if (!result)
		result = add_conditions(filter);
	if (!result)
		result = filter_load(filter);
	if (result)
		return filter_failed(result);
	if (!ret_listener)
		return NULL;
	/* Duplicated, because libseccomp closes its own descriptor at any time. */
	*ret_listener = fcntl(seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 0);
	return *ret_listener < 0 ? filter_failed(-errno) : NULL;
}

static int add_ioctls(scmp_filter_ctx filter, const unsigned commands[], size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = filter_add_command(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl),
					    commands[i]);
	return result;
}

/* What filter_load_files() allows. */
static int allow_files(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp is_own = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()};
	int result = filter_add_calls(filter, SCMP_ACT_ALLOW, allowed,
				      sizeof(allowed) / sizeof(*allowed));

	if (!result)
		result = filter_add_calls(filter, SCMP_ACT_ALLOW, writing,
					  sizeof(writing) / sizeof(*writing));
	if (!result)
		result = add_conditions(filter);
	/* abort(3) and raise(3) */
	if (!result)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
					  is_own);
	return result ? result
		      : add_ioctls(filter, terminal_questions,
				   sizeof(terminal_questions) /
					   sizeof(*terminal_questions));
}

static int allow_screen(scmp_filter_ctx filter)
{
	int result = filter_add_calls(filter, SCMP_ACT_ALLOW, drawing,
				      sizeof(drawing) / sizeof(*drawing));

	if (!result)
		result = add_ioctls(filter, terminal_settings,
				    sizeof(terminal_settings) /
					    sizeof(*terminal_settings));
	return result ? result : allow_threads(filter);
}

static struct error *load_files(bool for_screen)
{
	_cleanup_(filter_release) scmp_filter_ctx filter = NULL;
	int result;

	if (IS_SANITIZED)
		return filter_load_files_sanitized();
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return error_no_memory();
	result = allow_files(filter);
	if (!result && for_screen)
		result = allow_screen(filter);
	if (!result)
		result = filter_load(filter);
	return result ? filter_failed(result) : NULL;
}

struct error *filter_load_files(void)
{
	return load_files(false);
}

struct error *filter_load_screen(void)
{
	return load_files(true);
}
