// SPDX-License-Identifier: Apache-2.0
#include "reach/threads.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/registers.h"
#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/hashmap.h"
#include "util/units.h"

/* Largest state of the vector unit, with AMX: 11 KiB. */
#define STATE_BYTES ((size_t)32 << 10)

/* Between two looks at a thread that is to stop. */
#define PAUSE_NS 50000

/* Pending signals that are read at once. */
#define PENDING 64

/* The tracer of a process; 0: none, or unknown. */
static int tracer_of(int tid)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t pid = 0;
	size_t size;

	if (procfs_read(tid, "status", PROCFS_SMALL_BYTES, &text, &size) ||
	    !procfs_status_number(text, "TracerPid:", 10, &pid) || pid > INT_MAX)
		return 0;
	return (int)pid;
}

struct error *reach_threads_refused(int pid)
{
	return error_create(
		ERROR_PERMISSION,
		"the kernel does not let memtrace stop process %d and read its memory: "
		"memtrace needs CAP_SYS_PTRACE in the process's user namespace, and "
		"/proc/sys/kernel/yama/ptrace_scope below 3",
		pid);
}

static struct error *refused(int pid, int tid, int errnum)
{
	int tracer = tracer_of(tid);

	if (tracer)
		return error_create(
			ERROR_PERMISSION,
			"process %d is being traced by process %d, probably a "
			"debugger: it cannot be stopped a second time",
			pid, tracer);
	return errnum == EPERM ? reach_threads_refused(pid)
			       : error_errno(ERROR_PERMISSION, errnum,
					     "process %d cannot be stopped", pid);
}

/* A thread that has exited, or is exiting, cannot be traced. */
static bool is_dead(int tid)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat stat;
	size_t size;

	return procfs_read(tid, "stat", PROCFS_SMALL_BYTES, &text, &size) ||
	       !procfs_parse_stat(text, &stat) || stat.state == 'Z' || stat.state == 'X';
}

static struct error *gone(int pid)
{
	return error_create(ERROR_GONE, "process %d has exited", pid);
}

/* The numbers of the threads on the list. The target can hardly choose them, so the hash
 * needs no secret seed. False: memory is out. */
static bool gather_known(const struct reach_threads *threads, struct hashmap *ret)
{
	hashmap_init(ret, 0);
	if (!hashmap_reserve(ret, threads->list.len))
		return false;
	vec_foreach (t, &threads->list)
		if (!hashmap_put(ret, (uint64_t)t->tid, 0))
			return false;
	return true;
}

/* Does this process trace the thread already? It was then asked to stop before, and has
 * not done so yet, or not been let go on (reach_threads_release()). Keeps errno. */
static bool is_ours(int tid)
{
	int before = errno;
	bool is_one = !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);

	errno = before;
	return is_one;
}

/*
 * Is it a thread of the kernel that does requests of an io_uring (io_wq_create_worker(),
 * io_uring/io-wq.c)? It never executes the program. A stop would end its request, with an
 * error that the program does not expect. The program can choose the name, but not the
 * flag; the name saves reading the flags of others.
 */
static bool is_worker(int pid, int tid)
{
	_cleanup_(freep) char *text = NULL;
	char name[PROC_COMM_SIZE], path[64];
	struct procfs_stat stat;
	size_t size;

	if (!proc_thread_name(pid, (uint32_t)tid, name) || strncmp(name, "iou-", 4) != 0)
		return false;
	snprintf(path, sizeof(path), "task/%d/stat", tid);
	return !procfs_read(pid, path, PROCFS_SMALL_BYTES, &text, &size) &&
	       procfs_parse_stat(text, &stat) && stat.flags & PROCFS_PF_IO_WORKER;
}

/* Trace the thread, if it is one that executes the program, and is still one of `pid`:
 * another process may have got its number. Sets errno. */
static bool seize(int pid, int tid)
{
	if (is_worker(pid, tid)) {
		errno = ESRCH;
		return false;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) && !is_ours(tid))
		return false;
	if (proc_has_thread(pid, (uint32_t)tid))
		return true;
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	errno = ESRCH;
	return false;
}

static bool add(struct reach_threads *threads, struct hashmap *known, int tid)
{
	return hashmap_put(known, (uint64_t)tid, 0) &&
	       vec_push(&threads->list, (struct reach_thread){.tid = tid});
}

/* Ask all threads to stop that are not on the list. A target can create threads faster
 * than they are stopped. */
static struct error *seize_new(struct reach_threads *threads, uint64_t deadline_ns,
			       size_t *ret_new)
{
	_cleanup_(hashmap_deinit) struct hashmap known;
	char path[64];

	*ret_new = 0;
	if (!gather_known(threads, &known))
		return error_no_memory();
	snprintf(path, sizeof(path), "/proc/%d/task", threads->pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	if (!dir)
		return gone(threads->pid);
	for (struct dirent *entry; (entry = readdir(dir));) {
		uint64_t tid;

		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &tid) ||
		    hashmap_get(&known, tid, NULL))
			continue;
		if (clock_now_ns() > deadline_ns)
			return error_create(ERROR_UNSUPPORTED,
					    "process %d has more threads than can be "
					    "stopped in time",
					    threads->pid);
		if (!seize(threads->pid, (int)tid)) {
			int errnum = errno;

			/* It is none of the program, or has exited meanwhile; or only
			 * its entry is left. */
			if (errnum == ESRCH)
				continue;
			if (errnum == EPERM && is_dead((int)tid))
				continue;
			return refused(threads->pid, (int)tid, errnum);
		}
		if (!add(threads, &known, (int)tid)) {
			ptrace(PTRACE_DETACH, (pid_t)tid, NULL, NULL);
			return error_no_memory();
		}
		ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL);
		++*ret_new;
	}
	return NULL;
}

/* The signal that a stopped thread was about to receive, and must get when it goes on: 0
 * if it stopped for another reason (PTRACE_EVENT_STOP). */
static int signal_of(int status)
{
	return status >> 16 ? 0 : WSTOPSIG(status);
}

/* Wait until the thread has stopped. *ret: it has exited instead. */
static struct error *await(struct reach_thread *thread, int pid, uint64_t deadline_ns,
			   bool *ret)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int status;

	for (;;) {
		pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

		*ret = got < 0 || (got && !WIFSTOPPED(status));
		if (*ret)
			return NULL;
		if (got)
			break;
		if (clock_now_ns() > deadline_ns)
			return error_create(
				ERROR_UNSUPPORTED,
				"thread %d of process %d does not stop: it waits in the "
				"kernel",
				thread->tid, pid);
		nanosleep(&pause, NULL);
	}
	thread->signal = signal_of(status);
	return NULL;
}

/* Wait for all from `first` on. */
static struct error *await_all(struct reach_threads *threads, size_t first,
			       uint64_t deadline_ns)
{
	for (size_t i = first; i < threads->list.len;) {
		bool exited;
		struct error *err =
			await(&threads->list.data[i], threads->pid, deadline_ns, &exited);

		if (err)
			return err;
		if (exited)
			threads->list.data[i] = threads->list.data[--threads->list.len];
		else
			i++;
	}
	return NULL;
}

/* Hold back SIGCHLD while threads are waited for. */
static void hold_late(sigset_t *ret_before)
{
	sigset_t late;

	sigemptyset(&late);
	sigaddset(&late, SIGCHLD);
	sigprocmask(SIG_BLOCK, &late, ret_before);
}

struct error *reach_threads_stop(int pid, uint64_t deadline_ns, struct reach_threads *ret)
{
	struct error *err = NULL;
	sigset_t before;
	size_t fresh;

	*ret = (struct reach_threads){.pid = pid};
	hold_late(&before);
	/* A thread that was still running may have created others. */
	do {
		size_t first = ret->list.len;

		err = seize_new(ret, deadline_ns, &fresh);
		if (!err)
			err = await_all(ret, first, deadline_ns);
	} while (!err && fresh);
	if (!err && !ret->list.len)
		err = gone(pid);
	if (err)
		reach_threads_release(ret);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

void reach_threads_continue(const struct reach_threads *threads)
{
	vec_foreach (t, &threads->list)
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal);
}

void reach_threads_release(struct reach_threads *threads)
{
	reach_threads_continue(threads);
	vec_deinit(&threads->list);
}

static void release_stopped(int signal)
{
	int before = errno, status;
	pid_t tid;

	(void)signal;
	/* Those that were waited for are not reported again. */
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tid, NULL,
			       (void *)(intptr_t)signal_of(status));
	errno = before;
}

void reach_threads_release_late(void)
{
	const struct sigaction action = {.sa_handler = release_stopped,
					 .sa_flags = SA_RESTART};

	sigaction(SIGCHLD, &action, NULL);
}

static void scan(struct reach_marks *marks, const void *words, size_t size)
{
	reach_marks_scan(marks, &(struct reach_piece){0, words, size, 0}, REACH_REACHED);
}

static void scan_set(int tid, unsigned long set, uint64_t *state,
		     struct reach_marks *marks)
{
	struct iovec iov = {state, STATE_BYTES};

	if (!ptrace(PTRACE_GETREGSET, tid, (void *)set, &iov))
		scan(marks, state, iov.iov_len);
}

static void read_pointers(struct reach_thread *thread)
{
	uint64_t stack, storage;

	if (!arch_pointers_read(thread->tid, &stack, &storage))
		return;
	thread->stack_pointer = stack;
	thread->thread_pointer = storage;
}

/* The values that come with signals which wait for the thread (sigqueue(3)). There are at
 * most as many as RLIMIT_SIGPENDING says; the kernel counts up to the first one anew for
 * each request. False: `deadline_ns` came first. */
static bool scan_pending(int tid, uint32_t flags, uint64_t deadline_ns,
			 struct reach_marks *marks)
{
	siginfo_t infos[PENDING];
	struct __ptrace_peeksiginfo_args args = {.flags = flags, .nr = PENDING};
	long count;

	do {
		count = ptrace(PTRACE_PEEKSIGINFO, tid, &args, infos);
		if (count > 0)
			scan(marks, infos, (size_t)count * sizeof(*infos));
		args.off += PENDING;
	} while (count == PENDING && clock_now_ns() <= deadline_ns);
	return count != PENDING;
}

/* The value of the signal that the thread was about to receive: it waits no more. */
static void scan_arriving(int tid, struct reach_marks *marks)
{
	siginfo_t info;

	if (!ptrace(PTRACE_GETSIGINFO, tid, NULL, &info))
		scan(marks, &info, sizeof(info));
}

/* The list of mutexes that the kernel unlocks when the thread dies. */
static void scan_robust_list(int tid, struct reach_marks *marks)
{
	uint64_t head = 0, size;

	if (!syscall(SYS_get_robust_list, tid, &head, &size))
		scan(marks, &head, sizeof(head));
}

void reach_threads_find(struct reach_threads *threads)
{
	vec_foreach (t, &threads->list)
		read_pointers(t);
}

uint64_t reach_thread_stack_pointer(int pid, int tid, uint64_t deadline_ns)
{
	struct reach_threads one = {.pid = pid};
	sigset_t before;
	struct error *err;

	if (!seize(pid, tid))
		return 0;
	if (!vec_push(&one.list, (struct reach_thread){.tid = tid})) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return 0;
	}
	hold_late(&before);
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	err = await_all(&one, 0, deadline_ns);

	uint64_t sp = 0;

	if (!err && one.list.len) {
		read_pointers(&one.list.data[0]);
		sp = one.list.data[0].stack_pointer;
	}
	error_destroy(err);
	reach_threads_release(&one);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return sp;
}

bool reach_threads_scan(const struct reach_threads *threads, uint64_t deadline_ns,
			struct reach_marks *marks)
{
	uint64_t *state = malloc(STATE_BYTES);
	bool is_whole = true;

	if (!state) {
		marks->no_memory = true;
		return false;
	}
	vec_foreach (t, &threads->list) {
		scan_set(t->tid, NT_PRSTATUS, state, marks);
		scan_set(t->tid, ARCH_VECTOR_STATE, state, marks);
		scan_arriving(t->tid, marks);
		is_whole &= scan_pending(t->tid, 0, deadline_ns, marks);
		/* Those that wait for any thread. */
		if (t == threads->list.data)
			is_whole &= scan_pending(t->tid, PTRACE_PEEKSIGINFO_SHARED,
						 deadline_ns, marks);
		scan_robust_list(t->tid, marks);
	}
	free(state);
	return is_whole;
}
