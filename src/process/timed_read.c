// SPDX-License-Identifier: Apache-2.0
#include "process/timed_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/procfs.h"
#include "util/budget.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define STACK_BYTES (64 << 10)

/* How often the task is looked at, and how long a killed one is waited for. */
#define LOOK_MS 5
#define END_MS  1000

/* How long a task may wait for a lock. The short time is for when many processes hold
 * their locks: all waiting takes a fifth of the time, after a burst of 3 s. */
#define PATIENCE_NS UINT64_C(1000000000)
#define HASTE_NS    UINT64_C(10000000)
#define SHARE       5
#define AHEAD_NS    (3 * SHARE * PATIENCE_NS)

/* A process that holds its lock is tried again after this time, and after twice as long
 * each further time. */
#define REST_FIRST_NS UINT64_C(4000000000)
#define REST_MAX_NS   UINT64_C(60000000000)

/* Of more such processes the one that is due first is forgotten. */
#define RESTING_MAX 256

struct resting {
	int tid;
	uint64_t pause_ns, until_ns;
};

/* What is known of the machine's processes; under the lock. */
struct state {
	pthread_mutex_t lock;
	pid_t enabled; /* the process that it holds for */
	struct resting resting[RESTING_MAX];
	size_t count;
	struct budget waiting;
};

static struct state state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void timed_read_enable(void)
{
	state.enabled = getpid();
}

/* --- processes that hold their locks ----------------------------------------------- */

static struct resting *find(int tid)
{
	for (size_t i = 0; i < state.count; i++)
		if (state.resting[i].tid == tid)
			return &state.resting[i];
	return NULL;
}

/* How long to wait for the process, ns; 0: it is left alone. */
static uint64_t patience_for(int tid)
{
	uint64_t now_ns = clock_now_ns(), patience_ns = PATIENCE_NS;
	const struct resting *resting;

	pthread_mutex_lock(&state.lock);
	resting = find(tid);
	if (resting && now_ns < resting->until_ns)
		patience_ns = 0;
	else if (resting || budget_is_spent(&state.waiting, now_ns, AHEAD_NS))
		patience_ns = HASTE_NS;
	pthread_mutex_unlock(&state.lock);
	return patience_ns;
}

static struct resting *add(int tid)
{
	struct resting *ret = &state.resting[0];

	if (state.count < RESTING_MAX) {
		ret = &state.resting[state.count++];
	} else {
		for (size_t i = 1; i < state.count; i++)
			if (state.resting[i].until_ns < ret->until_ns)
				ret = &state.resting[i];
	}
	*ret = (struct resting){.tid = tid};
	return ret;
}

static void note_held(int tid, uint64_t begun_ns)
{
	uint64_t now_ns = clock_now_ns();
	struct resting *resting;

	pthread_mutex_lock(&state.lock);
	resting = find(tid);
	if (!resting)
		resting = add(tid);
	resting->pause_ns = resting->pause_ns ? 2 * resting->pause_ns : REST_FIRST_NS;
	if (resting->pause_ns > REST_MAX_NS)
		resting->pause_ns = REST_MAX_NS;
	resting->until_ns = now_ns + resting->pause_ns;
	budget_spend(&state.waiting, begun_ns, now_ns - begun_ns, SHARE);
	pthread_mutex_unlock(&state.lock);
}

static void note_read(int tid)
{
	struct resting *resting;

	pthread_mutex_lock(&state.lock);
	resting = find(tid);
	if (resting)
		*resting = state.resting[--state.count];
	pthread_mutex_unlock(&state.lock);
}

/* --- the task ---------------------------------------------------------------------- */

/* Shared with the task, which may outlive the call. The text follows. */
struct job {
	char path[32];
	size_t limit_bytes, size;
	int fd, errnum;
	bool is_done; /* accessed atomically */
	char text[];
};

static int read_all(struct job *job)
{
	long n;

	job->fd = (int)syscall(SYS_openat, AT_FDCWD, job->path, O_RDONLY | O_CLOEXEC);
	if (job->fd < 0)
		return errno;
	while ((n = syscall(SYS_read, job->fd, job->text + job->size,
			    job->limit_bytes + 1 - job->size)) > 0) {
		job->size += (size_t)n;
		if (job->size > job->limit_bytes)
			return EFBIG;
	}
	return n < 0 ? errno : 0;
}

static int run(void *arg)
{
	struct job *job = arg;

	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	job->errnum = read_all(job);
	__atomic_store_n(&job->is_done, true, __ATOMIC_SEQ_CST);
	return 0;
}

/* Does the task sleep? Otherwise it reads, or waits for a processor. */
static bool sleeps(pid_t task)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat stat;
	size_t size;

	return !procfs_read(task, "stat", PROCFS_SMALL_BYTES, &text, &size) &&
	       procfs_parse_stat(text, &stat) && (stat.state == 'D' || stat.state == 'S');
}

/* Wait for the end of the task. False: it has waited too long. */
static bool await(const struct job *job, pid_t task, uint64_t patience_ns)
{
	uint64_t since_ns = clock_now_ns();
	_cleanup_(closep) int fd = (int)syscall(SYS_pidfd_open, task, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	while (poll(&end, 1, LOOK_MS) <= 0 &&
	       !__atomic_load_n(&job->is_done, __ATOMIC_SEQ_CST)) {
		if (!sleeps(task))
			since_ns = clock_now_ns();
		else if (clock_now_ns() - since_ns >= patience_ns)
			return false;
	}
	return true;
}

/* False: it does not end. */
static bool reap(pid_t task)
{
	if (waitpid(task, NULL, __WALL | WNOHANG) == task)
		return true;
	for (int i = 0; i < END_MS * 10; i++) {
		usleep(100);
		if (waitpid(task, NULL, __WALL | WNOHANG) == task)
			return true;
	}
	return false;
}

static int copy_text(const struct job *job, char **ret, size_t *ret_size)
{
	if (job->errnum)
		return job->errnum;
	*ret = malloc(job->size + 1);
	if (!*ret)
		return ENOMEM;
	memcpy(*ret, job->text, job->size);
	(*ret)[job->size] = '\0';
	*ret_size = job->size;
	return 0;
}

static int read_by_task(int tid, const char *name, size_t limit_bytes,
			uint64_t patience_ns, char **ret, size_t *ret_size)
{
	size_t size = STACK_BYTES + sizeof(struct job) + limit_bytes + 1;
	uint64_t begun_ns = clock_now_ns();
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct job *job = (void *)(memory + STACK_BYTES);
	int task, errnum;

	if ((void *)memory == MAP_FAILED)
		return procfs_read(tid, name, limit_bytes, ret, ret_size);
	*job = (struct job){.limit_bytes = limit_bytes, .fd = -1, .errnum = ETIMEDOUT};
	snprintf(job->path, sizeof(job->path), "/proc/%d/%s", tid, name);
	/* Make the dynamic linker resolve syscall() here. */
	(void)syscall(SYS_gettid);
	/* It shares the descriptors, since copying thousands of them takes long. */
	task = clone(run, memory + STACK_BYTES, CLONE_VM | CLONE_FILES, job);
	if (task < 0) {
		munmap(memory, size);
		return procfs_read(tid, name, limit_bytes, ret, ret_size);
	}
	if (!await(job, task, patience_ns))
		kill(task, SIGKILL);
	/* Then the memory is left to it. */
	if (!reap(task)) {
		note_held(tid, begun_ns);
		return ETIMEDOUT;
	}
	errnum = copy_text(job, ret, ret_size);
	if (errnum == ETIMEDOUT)
		note_held(tid, begun_ns);
	else
		note_read(tid);
	closep(&job->fd);
	munmap(memory, size);
	return errnum;
}

int timed_read_maps(int tid, size_t limit_bytes, char **ret, size_t *ret_size)
{
	uint64_t patience_ns;

	if (state.enabled != getpid())
		return procfs_read(tid, "maps", limit_bytes, ret, ret_size);
	patience_ns = patience_for(tid);
	return patience_ns ? read_by_task(tid, "maps", limit_bytes, patience_ns, ret,
					  ret_size)
			   : ETIMEDOUT;
}

/* The file has 8 bytes for each page, and takes reads of 8 bytes only. */
#define PAGEMAP_LIMIT_BYTES 7

bool timed_read_would_fail(int tid)
{
	_cleanup_(freep) char *text = NULL;
	uint64_t patience_ns;
	size_t size;

	if (state.enabled != getpid())
		return false;
	patience_ns = patience_for(tid);
	return !patience_ns || read_by_task(tid, "pagemap", PAGEMAP_LIMIT_BYTES,
					    patience_ns, &text, &size) == ETIMEDOUT;
}
