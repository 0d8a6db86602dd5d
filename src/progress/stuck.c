// SPDX-License-Identifier: Apache-2.0
#include "progress/stuck.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/mm_locks.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/lanes.h"

/* A task waits for its memory, and not in a system call. */
#define PAGE_FAULT (-1)

/* The longest time between two calls that counts. */
#define PAUSE_NS UINT64_C(2000000000)

struct call {
	int64_t number;
	uint64_t first, second; /* arguments */
};

/* Read a short file of /proc, of one line. False: it is empty, or cannot be read. Without
 * stdio, because this is done all the time. */
static bool read_line(const char *path, char *ret, size_t size)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* False: the thread runs. */
static bool parse(const char *text, struct call *ret)
{
	*ret = (struct call){.number = 0};
	return sscanf(text, "%" SCNd64 " %" SCNx64 " %" SCNx64, &ret->number, &ret->first,
		      &ret->second) >= 1;
}

/* Reads of pipes and sockets wait for children, whose time is bounded elsewhere. */
static bool is_file(uint64_t fd)
{
	struct stat st;

	return fd <= INT_MAX && !fstat((int)fd, &st) && S_ISREG(st.st_mode);
}

/* Calls that wait for a file system or for the memory of another process. */
static bool is_read(const struct call *call)
{
	switch (call->number) {
	case SYS_read:
	case SYS_pread64:
		return is_file(call->first);
#ifdef SYS_open
	case SYS_open:
	case SYS_stat:
	case SYS_readlink:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_fstatfs:
	case SYS_readlinkat:
	case SYS_process_vm_readv:
	case PAGE_FAULT:
		return true;
	default:
		return false;
	}
}

/* Time that the task has run, ns; 0: unknown. */
static uint64_t worked_ns(uint64_t pid)
{
	char path[48], text[96];
	uint64_t ret = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/schedstat", pid);
	return read_line(path, text, sizeof(text)) && sscanf(text, "%" SCNu64, &ret) == 1
		       ? ret
		       : 0;
}

/* Find another thread that waits in a read: the one of before in the same call, or else
 * any. Returns its number, and its call in *text; 0: none does. */
static int find_other(int before_tid, const char *before, char *text, size_t size)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/task");
	struct call call;
	int found = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int tid = (int)strtol(entry->d_name, NULL, 10);
		char path[64], line[256];

		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
		if (tid <= 0 || tid == getpid() || tid == (int)syscall(SYS_gettid) ||
		    lanes_are_thread(tid) || !read_line(path, line, sizeof(line)) ||
		    !parse(line, &call) || !is_read(&call))
			continue;
		found = tid;
		snprintf(text, size, "%s", line);
		if (tid == before_tid && !strcmp(line, before))
			break;
	}
	return found;
}

/* Does another thread wait in a read? The main thread then waits for that thread. */
static bool other_is_stuck(void)
{
	char text[256];

	return find_other(0, "", text, sizeof(text));
}

/* Is the thread stuck, if it stays in this call? *ret_worked_ns must then stay the same,
 * too. */
static bool may_be_stuck(const struct call *call, uint64_t *ret_worked_ns)
{
	*ret_worked_ns = 0;
	if (call->number == SYS_futex)
		return other_is_stuck();
	/* A task that sets or removes probes (bpf/shield.h). */
	if (call->number == SYS_wait4) {
		*ret_worked_ns = worked_ns(call->first);
		return *ret_worked_ns;
	}
	return is_read(call);
}

/* The thread waits in this call. Returns for how long. */
static uint64_t note(struct stuck *stuck, int tid, const char *text, uint64_t worked,
		     uint64_t now_ns)
{
	if (!stuck->looked_ns || strcmp(text, stuck->call) != 0 ||
	    worked != stuck->worked_ns || tid != stuck->tid)
		stuck->stuck_ns = 0;
	else
		stuck->stuck_ns += now_ns - stuck->looked_ns < PAUSE_NS
					   ? now_ns - stuck->looked_ns
					   : PAUSE_NS;
	snprintf(stuck->call, sizeof(stuck->call), "%s", text);
	stuck->tid = tid;
	stuck->worked_ns = worked;
	stuck->looked_ns = now_ns;
	return stuck->stuck_ns;
}

uint64_t stuck_look(struct stuck *stuck)
{
	char path[64], text[sizeof(stuck->call)] = "";
	uint64_t now_ns = clock_now_ns(), worked = 0;
	struct call call;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	if (!read_line(path, text, sizeof(text)) || !parse(text, &call) ||
	    !may_be_stuck(&call, &worked)) {
		stuck->looked_ns = stuck->stuck_ns = 0;
		return 0;
	}
	return note(stuck, getpid(), text, worked, now_ns);
}

uint64_t stuck_look_at_others(struct stuck *stuck)
{
	char text[sizeof(stuck->call)] = "";
	uint64_t now_ns = clock_now_ns();
	int tid = find_other(stuck->tid, stuck->call, text, sizeof(text));

	if (tid)
		return note(stuck, tid, text, 0, now_ns);
	stuck->looked_ns = stuck->stuck_ns = 0;
	return 0;
}

bool stuck_is_in_call(const struct stuck *stuck)
{
	char path[64], text[sizeof(stuck->call)];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	return read_line(path, text, sizeof(text)) && !strcmp(text, stuck->call);
}

struct stuck_at stuck_place(const struct stuck *stuck)
{
	const char *pc = strrchr(stuck->call, ' '), *sp = pc;

	/* They come last, after the arguments if there are any. */
	while (sp && sp > stuck->call && sp[-1] != ' ')
		sp--;
	return pc ? (struct stuck_at){strtoull(sp, NULL, 16), strtoull(pc, NULL, 16)}
		  : (struct stuck_at){0, 0};
}

static void append_file(uint64_t fd, struct strbuf *ret)
{
	char link[48], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%" PRIu64, fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	strbuf_append(ret, "the file ");
	escape_text(ret, n > 0 ? path : "?");
}

/* The kernel sets or removes probes, and waits for a process. */
static void append_holder(struct strbuf *ret)
{
	int pid = mm_locks_find_held(MM_LOCKS_REMOVE_NS);
	_cleanup_(freep) char *holder = pid ? mm_locks_holder(pid) : NULL;

	strbuf_append(ret, "the memory of ");
	strbuf_append(ret, holder ? holder : "a process that has probes");
}

void stuck_describe(const struct stuck *stuck, struct strbuf *ret)
{
	struct call call;

	if (parse(stuck->call, &call) &&
	    (call.number == SYS_read || call.number == SYS_pread64))
		append_file(call.first, ret);
	else if (call.number == SYS_process_vm_readv)
		strbuf_appendf(ret, "the memory of process %" PRIu64, call.first);
	else if (call.number == SYS_wait4)
		append_holder(ret);
	else
		strbuf_append(ret, "a file of the target");
}
