// SPDX-License-Identifier: Apache-2.0
#include "bpf/mm_locks.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/priority.h"

#define STACK_BYTES   (64 << 10)
#define ENTRIES_BYTES 8192

/* How often the sweep is looked at, and how long a killed one is waited for. */
#define LOOK_MS 5
#define END_MS  1000

/* Goes through all processes in a task of its own, which can be killed alone. */
struct sweep {
	int pid; /* of the process that is looked at; accessed atomically */
	bool is_done;
};

/* linux_dirent64 of getdents64(2). */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t size; /* of the entry, bytes */
	uint8_t type;
	char name[];
};

/* The number that the name is; 0: it is none. */
static int number(const char *name)
{
	int n = 0;

	for (size_t i = 0; name[i]; i++) {
		if (name[i] < '0' || name[i] > '9' || n > (1 << 26))
			return 0;
		n = n * 10 + (name[i] - '0');
	}
	return n;
}

/* Take and release the lock of one process. */
static void touch(int proc, const char *name)
{
	char path[32] = "", byte[8];
	long fd;

	/* number() bounds the name. */
	strcat(strcpy(path, name), "/pagemap");
	fd = syscall(SYS_openat, proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	syscall(SYS_pread64, fd, byte, sizeof(byte), 0);
	syscall(SYS_close, fd);
}

/* Go through /proc. */
static void look_at_all(struct sweep *sweep)
{
	_Alignas(struct entry) char entries[ENTRIES_BYTES];
	long proc = syscall(SYS_openat, AT_FDCWD, "/proc",
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long bytes = 0;

	while (proc >= 0 &&
	       (bytes = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < bytes;) {
			const struct entry *entry = (const void *)(entries + at);
			int pid = number(entry->name);

			at += entry->size;
			if (!pid)
				continue;
			__atomic_store_n(&sweep->pid, pid, __ATOMIC_SEQ_CST);
			touch((int)proc, entry->name);
		}
	}
	if (proc >= 0)
		syscall(SYS_close, proc);
}

static int run(void *arg)
{
	struct sweep *sweep = arg;

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	look_at_all(sweep);
	__atomic_store_n(&sweep->is_done, true, __ATOMIC_SEQ_CST);
	return 0;
}

void mm_locks_wait(void)
{
	struct sweep sweep = {.pid = 0};

	look_at_all(&sweep);
}

/* Does the task sleep? Otherwise it may only wait for a processor. */
static bool sleeps(pid_t task)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat stat;
	size_t size;

	return !procfs_read(task, "stat", PROCFS_SMALL_BYTES, &text, &size) &&
	       procfs_parse_stat(text, &stat) && (stat.state == 'D' || stat.state == 'S');
}

/* Wait for the end of the task. Returns the process whose lock it waits for, or 0. */
static int await(const struct sweep *sweep, pid_t task, uint64_t patience_ns)
{
	uint64_t since_ns = clock_now_ns();
	int last = 0;
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, task, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	while (!__atomic_load_n(&sweep->is_done, __ATOMIC_SEQ_CST)) {
		int now;

		if (poll(&end, 1, LOOK_MS) > 0)
			break;
		now = __atomic_load_n(&sweep->pid, __ATOMIC_SEQ_CST);
		if (now != last || !sleeps(task)) {
			last = now;
			since_ns = clock_now_ns();
		} else if (clock_now_ns() - since_ns >= patience_ns) {
			return now;
		}
	}
	return 0;
}

/* False: it does not end. */
static bool reap(pid_t task)
{
	for (int i = 0; i < END_MS; i++) {
		if (waitpid(task, NULL, __WALL | WNOHANG) == task)
			return true;
		usleep(1000);
	}
	return false;
}

/* Call look() at most this often while it finds nothing: a look at 100 processes takes
 * some ms. */
#define FRESH_NS UINT64_C(50000000)

static int look(uint64_t patience_ns)
{
	/* Shared with the task, which may outlive this call. */
	char *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	_cleanup_(priority_restore) struct priority priority = {0};
	struct sweep *sweep = (void *)memory;
	int task, pid = 0;

	if ((void *)memory == MAP_FAILED)
		return 0;
	priority_raise(&priority);
	/* Make the dynamic linker resolve syscall() here. */
	(void)syscall(SYS_gettid);
	/* It has a copy of the descriptors: what it leaves open when it is killed is
	 * closed. */
	task = priority_clone(run, memory + STACK_BYTES, CLONE_VM, sweep);
	if (task > 0) {
		pid = await(sweep, task, patience_ns);
		if (pid)
			kill(task, SIGKILL);
		if (!reap(task))
			return pid;
	}
	munmap(memory, STACK_BYTES);
	return pid;
}

int mm_locks_find_held(uint64_t patience_ns)
{
	/* When the last look found nothing. Static: it is true of the machine. */
	static uint64_t found_none_ns;
	uint64_t last_ns = __atomic_load_n(&found_none_ns, __ATOMIC_RELAXED);
	int pid;

	if (last_ns && clock_now_ns() - last_ns < FRESH_NS)
		return 0;
	pid = look(patience_ns);
	__atomic_store_n(&found_none_ns, pid ? 0 : clock_now_ns(), __ATOMIC_RELAXED);
	return pid;
}

char *mm_locks_holder(int pid)
{
	char name[PROC_COMM_SIZE + 1] = "", *text = NULL;
	_cleanup_(freep) char *escaped = NULL;

	(void)proc_thread_name(pid, (uint32_t)pid, name);
	escaped = escape_dup(name);
	return escaped && asprintf(&text, "process %d (%s)", pid, escaped) > 0 ? text
									       : NULL;
}

struct error *mm_locks_check(uint64_t patience_ns)
{
	int pid = mm_locks_find_held(patience_ns);
	_cleanup_(freep) char *holder = pid ? mm_locks_holder(pid) : NULL;

	if (!pid)
		return NULL;
	return error_create(
		ERROR_IO,
		"%s holds the lock of its address space, as in mmap() of a file whose "
		"server does not answer: a probe would now keep all processes from "
		"forking, so none is set; end the process, or the server of its file",
		holder ? holder : "a process");
}
