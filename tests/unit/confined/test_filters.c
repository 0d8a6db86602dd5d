// SPDX-License-Identifier: Apache-2.0
/*
 * Which system calls each filter of memtrace's processes refuses, and which it leaves.
 * Every call is first made without a filter: it must then not fail with EPERM. So EPERM
 * comes from the filter, not from a missing capability.
 */
#include "apart.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/filter.h"
#include "util/sanitized.h"

/* Groups of calls. */
enum {
	SYSTEM = 1 << 0,      /* programs, mounts, modules, clocks and the like */
	OTHERS = 1 << 1,      /* other processes, BPF */
	DEBUGGING = 1 << 2,   /* ptrace(2) */
	NETWORK = 1 << 3,     /* sockets */
	CODE = 1 << 4,        /* executable memory */
	ATTRIBUTES = 1 << 5,  /* of files, and new directories and links */
	WRITING = 1 << 6,     /* opening for writing */
	READING = 1 << 7,     /* opening for reading */
	DESCRIPTORS = 1 << 8, /* use of those that are open */
	MEMORY = 1 << 9,
	THREADS = 1 << 10,
	PROCESSES = 1 << 11, /* fork(2) */
	SIGNALS = 1 << 12,   /* to threads of other processes */
	NAMES = 1 << 13,     /* of files: given, changed and taken away */
	MOUNTS = 1 << 14,    /* of a file system that is seen nowhere */
	FAMILIES = 1 << 15,  /* sockets for other networks than the Internet's */
	NEWER = 1 << 16,     /* calls that a filter cannot judge: ENOSYS */
	WAITING = 1 << 17,   /* for children */
	LOOKING = 1 << 19,   /* reading other processes' memory */
	ACCEPTING = 1 << 18, /* connections */
	STOPPING = 1 << 20,  /* other processes, by ptrace(2) */
	GROUP_END = 1 << 21,
};

/* A call with arguments that do no harm, mostly because they are not valid. */
struct attempt {
	unsigned group;
	const char *name;
	long number, args[5];
};

#define CALL(group_, name_, ...)                                                         \
	{                                                                                \
		.group = (group_), .name = #name_, .number = SYS_##name_, .args = {      \
			__VA_ARGS__                                                      \
		}                                                                        \
	}

/* Calls whose numbers old headers lack. */
#define NEW_CALL(group_, name_, number_, ...)                                            \
	{                                                                                \
		.group = (group_), .name = #name_, .number = (number_), .args = {        \
			__VA_ARGS__                                                      \
		}                                                                        \
	}

#define NOWHERE   (long)"/nowhere/at/all"
#define BAD       (-1)
#define PAGE      4096

#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

static char page[2 * PAGE];
static struct open_how reading = {.flags = O_RDONLY};

static const struct attempt attempts[] = {
	CALL(SYSTEM, process_vm_writev, 0),
	CALL(SYSTEM, execve, NOWHERE),
	CALL(SYSTEM, execveat, BAD, NOWHERE),
	CALL(SYSTEM, mount, 0, NOWHERE),
	CALL(SYSTEM, umount2, NOWHERE),
	CALL(SYSTEM, move_mount, BAD, NOWHERE, BAD, NOWHERE),
	CALL(SYSTEM, open_tree, BAD, NOWHERE),
	CALL(SYSTEM, pivot_root, NOWHERE, NOWHERE),
	CALL(SYSTEM, chroot, NOWHERE),
	CALL(SYSTEM, setns, BAD),
	CALL(SYSTEM, unshare, 0),
	CALL(SYSTEM, init_module, 0),
	CALL(SYSTEM, finit_module, BAD),
	CALL(SYSTEM, delete_module, 0),
	CALL(SYSTEM, kexec_load, 0, 0, 0, BAD),
	CALL(SYSTEM, kexec_file_load, BAD, BAD, 0, 0, BAD),
	CALL(SYSTEM, reboot, 0),
	CALL(SYSTEM, swapon, 0, BAD),
	CALL(SYSTEM, swapoff, 0),
	CALL(SYSTEM, acct, NOWHERE),
	CALL(SYSTEM, quotactl, BAD),
	CALL(SYSTEM, settimeofday, 1),
	CALL(SYSTEM, clock_settime, 99),
	CALL(SYSTEM, sethostname, 0, BAD),
	CALL(SYSTEM, setdomainname, 0, BAD),
	CALL(SYSTEM, iopl, 99),
	CALL(SYSTEM, ioperm, BAD, 1, 1),
	CALL(SYSTEM, mknod, NOWHERE),
	CALL(SYSTEM, mknodat, BAD, NOWHERE),
	CALL(SYSTEM, add_key, 0),
	CALL(SYSTEM, request_key, 0),
	CALL(SYSTEM, keyctl, BAD),
	CALL(SYSTEM, userfaultfd, BAD),
	CALL(SYSTEM, io_uring_setup, 1, 0),
	CALL(SYSTEM, open_by_handle_at, BAD, 0),
	CALL(SYSTEM, clock_adjtime, 99),
	CALL(SYSTEM, adjtimex, 0),
	CALL(SYSTEM, syslog, BAD),
	CALL(SYSTEM, fanotify_init, BAD),
	CALL(SYSTEM, personality, 0xffffffff),
	CALL(SYSTEM, move_pages, BAD),
	CALL(SYSTEM, migrate_pages, BAD),
	CALL(SYSTEM, kcmp, BAD, BAD),
	CALL(SYSTEM, fspick, BAD, NOWHERE),
	NEW_CALL(SYSTEM, process_madvise, 440, BAD),
	NEW_CALL(SYSTEM, mount_setattr, 442, BAD, NOWHERE),
	NEW_CALL(SYSTEM, quotactl_fd, 443, BAD),
	NEW_CALL(SYSTEM, process_mrelease, 448, BAD),
	/* Input for the shell on the terminal. */
	CALL(SYSTEM, ioctl, BAD, TIOCSTI),
	CALL(SYSTEM, ioctl, BAD, TIOCSTI + (1L << 32)),
	CALL(SYSTEM, ioctl, BAD, TIOCLINUX),
	CALL(SYSTEM, clone, CLONE_NEWNS | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWUSER | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWPID | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWNET | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWIPC | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWUTS | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWCGROUP | CLONE_SIGHAND),
	CALL(SYSTEM, clone, CLONE_NEWUSER | CLONE_THREAD),
	CALL(MOUNTS, fsopen, 0),
	CALL(MOUNTS, fsconfig, BAD),
	CALL(MOUNTS, fsmount, BAD),
	NEW_CALL(NEWER, clone3, 435, 0, 0),
	NEW_CALL(NEWER, fchmodat2, 452, BAD, NOWHERE, 0, 0),
	NEW_CALL(NEWER, listmount, 458, 0),
	CALL(LOOKING, process_vm_readv, 0),
	CALL(STOPPING, ptrace, PTRACE_SEIZE, BAD),
	CALL(STOPPING, ptrace, PTRACE_INTERRUPT, BAD),
	CALL(STOPPING, ptrace, PTRACE_DETACH, BAD),
	CALL(STOPPING, ptrace, PTRACE_GETREGSET, BAD),
	CALL(STOPPING, ptrace, PTRACE_PEEKSIGINFO, BAD),
	CALL(STOPPING, ptrace, PTRACE_GETSIGINFO, BAD),
	CALL(OTHERS, pidfd_getfd, BAD),
	CALL(OTHERS, pidfd_send_signal, BAD),
	CALL(OTHERS, kill, 1, 0),
	CALL(OTHERS, tkill, 1, 0),
	CALL(OTHERS, rt_sigqueueinfo, 1, 0, 0),
	CALL(OTHERS, rt_tgsigqueueinfo, 1, 1, 0, 0),
	CALL(SIGNALS, tgkill, 1, 1, 0),
	CALL(OTHERS, bpf, BAD),
	CALL(OTHERS, perf_event_open, 0),
	CALL(DEBUGGING, ptrace, PTRACE_PEEKDATA, BAD),
	CALL(NETWORK, socket, AF_INET, BAD),
	CALL(NETWORK, socket, AF_INET6, BAD),
	CALL(NETWORK, socket, AF_UNIX, BAD),
	CALL(NETWORK, socket, AF_NETLINK, BAD, NETLINK_ROUTE),
	CALL(NETWORK | FAMILIES, socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
	CALL(NETWORK | FAMILIES, socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
	CALL(NETWORK | FAMILIES, socket, AF_AX25, BAD),
	CALL(NETWORK | FAMILIES, socket, AF_PACKET, BAD),
	CALL(NETWORK | FAMILIES, socket, AF_ALG, BAD),
	CALL(NETWORK | FAMILIES, socket, AF_ALG + (1L << 32), BAD),
	CALL(NETWORK | FAMILIES, socket, AF_VSOCK, BAD),
	CALL(NETWORK | FAMILIES, socket, BAD, BAD),
	CALL(NETWORK, connect, BAD),
	CALL(NETWORK, bind, BAD),
	CALL(NETWORK, listen, BAD),
	CALL(ACCEPTING, accept, BAD),
	CALL(ACCEPTING, accept4, BAD),
	CALL(CODE, mmap, 0, PAGE, PROT_READ | PROT_EXEC, ANONYMOUS, BAD),
	CALL(CODE, mprotect, 1, PAGE, PROT_EXEC),
	CALL(CODE, pkey_mprotect, 1, PAGE, PROT_EXEC, BAD),
	CALL(CODE, shmat, BAD, 0, SHM_EXEC),
	CALL(ATTRIBUTES, chmod, NOWHERE),
	CALL(ATTRIBUTES, fchmod, BAD),
	CALL(ATTRIBUTES, fchmodat, BAD, NOWHERE),
	CALL(ATTRIBUTES, chown, NOWHERE),
	CALL(ATTRIBUTES, fchown, BAD),
	CALL(ATTRIBUTES, setxattr, NOWHERE),
	CALL(ATTRIBUTES, fsetxattr, BAD),
	CALL(ATTRIBUTES, utimensat, BAD, NOWHERE),
	CALL(ATTRIBUTES, truncate, NOWHERE),
	CALL(NAMES, unlinkat, BAD, NOWHERE),
	CALL(NAMES, renameat, BAD, NOWHERE, BAD, NOWHERE),
	CALL(NAMES, renameat2, BAD, NOWHERE, BAD, NOWHERE, 0),
	CALL(NAMES, linkat, BAD, NOWHERE, BAD, NOWHERE, 0),
	CALL(NAMES, ftruncate, BAD),
	CALL(NAMES, fsync, BAD),
	CALL(ATTRIBUTES, symlink, NOWHERE, NOWHERE),
	CALL(ATTRIBUTES, mkdir, NOWHERE),
	CALL(ATTRIBUTES, prlimit64, 0),
	CALL(WRITING, open, (long)"/dev/null", O_WRONLY),
	CALL(WRITING, open, (long)"/dev/null", O_RDWR),
	CALL(WRITING, open, (long)"/dev/null", O_RDONLY | O_TRUNC),
	CALL(WRITING, open, NOWHERE, O_RDONLY | O_CREAT, 0600),
	CALL(WRITING, openat, AT_FDCWD, (long)"/dev/null", O_WRONLY),
	CALL(WRITING, openat, AT_FDCWD, NOWHERE, O_CREAT, 0600),
	CALL(ATTRIBUTES, creat, NOWHERE, 0600),
	CALL(READING, open, (long)"/dev/null", O_RDONLY),
	CALL(READING, openat, AT_FDCWD, (long)"/dev/null", O_RDONLY | O_CLOEXEC),
	CALL(READING, openat2, AT_FDCWD, (long)"/dev/null", (long)&reading,
	     sizeof(reading)),
	CALL(READING, readlink, (long)"/proc/self/exe", (long)page, PAGE),
	CALL(READING, statfs, (long)"/", (long)page),
	CALL(DESCRIPTORS, read, 0, (long)page, 0),
	CALL(DESCRIPTORS, write, 1, (long)page, 0),
	CALL(DESCRIPTORS, fstat, 0, (long)page),
	CALL(DESCRIPTORS, sendmsg, BAD),
	CALL(DESCRIPTORS, recvmsg, BAD),
	CALL(DESCRIPTORS, poll, 0, 0, 0),
	CALL(DESCRIPTORS, close, BAD),
	CALL(MEMORY, mmap, 0, PAGE, PROT_READ | PROT_WRITE, ANONYMOUS, BAD),
	CALL(MEMORY, mprotect, 1, PAGE, PROT_READ),
	CALL(MEMORY, brk, 0),
	CALL(MEMORY, futex, (long)page, BAD),
	CALL(WAITING, wait4, BAD, 0, BAD),
	/* Flags that clone(2) refuses. */
	CALL(THREADS, clone, CLONE_THREAD),
	CALL(PROCESSES, clone, CLONE_SIGHAND),
	CALL(PROCESSES, clone, CLONE_SIGHAND | CLONE_VFORK),
};

#define ATTEMPTS (sizeof(attempts) / sizeof(*attempts))

/* 0, or the errno value. */
static int make(const struct attempt *a)
{
	long result = syscall(a->number, a->args[0], a->args[1], a->args[2], a->args[3],
			      a->args[4], 0L);

	return result < 0 ? errno : 0;
}

/* Errors without a filter. */
static int plain[ATTEMPTS];

static struct error *load_nothing(void)
{
	return NULL;
}

static struct error *load_tracing(void)
{
	return filter_load_tracing(false, false, false);
}

static struct error *load_command(void)
{
	return filter_load_tracing(true, false, false);
}

static struct error *load_listening(void)
{
	return filter_load_tracing(false, false, true);
}

static struct error *load_network(void)
{
	return filter_load_tracing(false, true, false);
}

static struct error *load_reader(void)
{
	return filter_load_reader(NULL);
}

/* Make all attempts in another process, with this filter. */
static void make_all(struct error *(*load)(void), int ret[ATTEMPTS])
{
	int *shared = mmap(NULL, sizeof(plain), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	REQUIRE(shared != MAP_FAILED);
	memset(shared, 0xff, sizeof(plain));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		struct error *err = load();

		for (size_t i = 0; !err && i < ATTEMPTS; i++)
			shared[i] = make(&attempts[i]);
		_exit(err != NULL);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	memcpy(ret, shared, sizeof(plain));
	munmap(shared, sizeof(plain));
}

static void without_a_filter(void)
{
	make_all(load_nothing, plain);
	for (size_t i = 0; i < ATTEMPTS; i++) {
		CHECK(plain[i] >= 0);
		/* A sandbox, or a setting of the machine. */
		if (plain[i] == EPERM)
			printf("%s is refused here anyway\n", attempts[i].name);
	}
}

/* The calls of `refused` fail with EPERM, or NEWER ones with ENOSYS, and all others as
 * they do without a filter. */
static void check_filter(const char *name, struct error *(*load)(void), unsigned refused)
{
	int got[ATTEMPTS];

	make_all(load, got);
	for (size_t i = 0; i < ATTEMPTS; i++) {
		int want = attempts[i].group & refused ? EPERM : plain[i];

		if (attempts[i].group & refused & NEWER)
			want = ENOSYS;

		check_state.checks++;
		if (got[i] != want)
			CHECK_FAIL("%s: %s(%ld, %ld, %ld): %s, expected: %s", name,
				   attempts[i].name, attempts[i].args[0],
				   attempts[i].args[1], attempts[i].args[2],
				   strerror(got[i]), strerror(want));
	}
}

static void while_it_traces(void)
{
	const unsigned debugging = IS_SANITIZED ? 0 : DEBUGGING | STOPPING;

	check_filter("tracing", load_tracing,
		     SYSTEM | NETWORK | ACCEPTING | FAMILIES | NEWER | debugging);
	check_filter("a command", load_command,
		     SYSTEM | NETWORK | ACCEPTING | FAMILIES | NEWER);
	check_filter("a server", load_listening,
		     SYSTEM | NETWORK | FAMILIES | NEWER | debugging);
	check_filter("the network", load_network, SYSTEM | FAMILIES | NEWER | debugging);
}

static void while_it_reads_snapshots(void)
{
	const unsigned always =
		SYSTEM | NETWORK | ACCEPTING | FAMILIES | NEWER | MOUNTS | CODE;

	if (IS_SANITIZED)
		check_filter("files", filter_load_files, always);
	else
		check_filter("files", filter_load_files,
			     (GROUP_END - 1) &
				     ~(unsigned)(DESCRIPTORS | MEMORY | READING |
						 WRITING | NAMES | WAITING));
}

static void while_it_draws(void)
{
	const unsigned always =
		SYSTEM | NETWORK | ACCEPTING | FAMILIES | NEWER | MOUNTS | CODE;

	if (IS_SANITIZED)
		check_filter("screen", filter_load_screen, always);
	else
		check_filter("screen", filter_load_screen,
			     (GROUP_END - 1) &
				     ~(unsigned)(DESCRIPTORS | MEMORY | READING |
						 WRITING | NAMES | WAITING | THREADS));
}

static void of_clients(void)
{
	check_filter("client", filter_load_client,
		     SYSTEM | OTHERS | LOOKING | DEBUGGING | STOPPING | FAMILIES | NEWER |
			     MOUNTS | PROCESSES | (IS_SANITIZED ? 0 : SIGNALS));
}

static void of_readers(void)
{
	check_filter("reader", load_reader,
		     (GROUP_END - 1) & ~(unsigned)(DESCRIPTORS | MEMORY));
}

static void of_the_opener(void)
{
	check_filter("opener", filter_load_opener,
		     (GROUP_END - 1) &
			     ~(unsigned)(READING | DESCRIPTORS | MEMORY | THREADS));
}

static void of_the_scanner(void)
{
	check_filter("scanner", filter_load_scanner,
		     (GROUP_END - 1) &
			     ~(unsigned)(READING | DESCRIPTORS | MEMORY | THREADS |
					 WAITING | LOOKING | STOPPING));
}

static void of_the_server(void)
{
	check_filter("server", filter_load_server,
		     (GROUP_END - 1) &
			     ~(unsigned)(DESCRIPTORS | MEMORY | THREADS | ACCEPTING));
}

/* --- threads ------------------------------------------------------------------------ */

static int go[2];

/* Not with REQUIRE(): check_state belongs to the other thread. */
static void *call_later(void *arg)
{
	char byte;
	int *errnum = arg;

	if (read(go[0], &byte, 1) != 1)
		*errnum = EIO;
	else
		*errnum = execl("/nowhere/at/all", "x", NULL) ? errno : 0;
	return NULL;
}

/* The filter for tracing also applies to threads that exist already. */
static void of_all_threads(void)
{
	pthread_t thread;
	int status, errnum = 0;
	pid_t pid;

	REQUIRE(!pipe(go));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		REQUIRE(!pthread_create(&thread, NULL, call_later, &errnum));
		REQUIRE(!filter_load_tracing(false, false, false));
		REQUIRE(write(go[1], "x", 1) == 1);
		REQUIRE(!pthread_join(thread, NULL));
		_exit(errnum);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), EPERM);
}

static void *nothing(void *arg)
{
	return arg;
}

/* As memtrace-open does. */
static void open_and_start_a_thread(void)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_NO_MAGICLINKS};
	pthread_t thread;
	char link[32];
	int place;

	REQUIRE(!filter_load_opener());
	place = (int)syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how));
	CHECK(place >= 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	CHECK(open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) >= 0);
	CHECK(open(link, O_WRONLY | O_CLOEXEC) < 0 && errno == EPERM);
	CHECK(!pthread_create(&thread, NULL, nothing, NULL) &&
	      !pthread_join(thread, NULL));
	CHECK(fork() < 0 && errno == EPERM);
}

static void a_signal_to_itself(void)
{
	signal(SIGUSR1, SIG_IGN);
	REQUIRE(!filter_load_files());
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK(kill(getpid(), SIGUSR1) && errno == EPERM);
}

static void what_is_left(void)
{
	CHECK_APART(open_and_start_a_thread());
	if (!IS_SANITIZED)
		CHECK_APART(a_signal_to_itself());
}

int main(void)
{
	RUN(without_a_filter);
	RUN(while_it_traces);
	RUN(while_it_reads_snapshots);
	RUN(while_it_draws);
	RUN(of_clients);
	RUN(of_readers);
	RUN(of_the_opener);
	RUN(of_the_scanner);
	RUN(of_the_server);
	RUN(of_all_threads);
	RUN(what_is_left);
	return check_done();
}
