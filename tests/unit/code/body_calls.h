/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.code.body_malloc: a process that calls malloc(), and its tracer, which
 * single-steps the calls and checks what each site in them says.
 */
#ifndef TESTS_UNIT_CODE_BODY_CALLS_H
#define TESTS_UNIT_CODE_BODY_CALLS_H

#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/body.h"
#include "unit/code/tracee.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CALLS        "calls" /* argument that makes this program the tracee */

/* --- the tracee --------------------------------------------------------------------- */

/* The C library's functions, even if a sanitizer replaces malloc. */
static void *(*libc_malloc)(size_t size);
static void (*libc_free)(void *block);

#define BLOCKS 256

/* Sizes that always fail. Only _int_malloc() checks the first two. */
static const size_t too_large[] = {(size_t)1 << 62, (size_t)1 << 46, SIZE_MAX,
				   (size_t)1 << 63};

static inline size_t some_size(unsigned *seed)
{
	static const size_t limits[] = {0x80,   0x80,    0x408,   0x408,
					0x2000, 0x10000, 0x100000};

	return (size_t)rand_r(seed) % limits[(size_t)rand_r(seed) % COUNT(limits)];
}

/* Allocates and frees blocks of all sizes: from the thread's cache, fast bins, small,
 * unsorted and large bins, the top, and mmap(2). */
static inline void churn(unsigned rounds, unsigned seed)
{
	void *blocks[BLOCKS] = {NULL};

	for (unsigned i = 0; i < rounds; i++) {
		void **block = &blocks[(size_t)rand_r(&seed) % BLOCKS];

		libc_free(*block);
		*block = libc_malloc(some_size(&seed));
		if (i % 50 == 0)
			libc_free(libc_malloc(too_large[i / 50 % COUNT(too_large)]));
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		libc_free(blocks[i]);
}

static inline void *churn_thread(void *argument)
{
	(void)argument;
	churn(300, 3);
	return NULL;
}

/* The thread's first call has this size. */
static inline void *first_call(void *size)
{
	libc_free(libc_malloc(*(const size_t *)size));
	libc_free(libc_malloc(24));
	return NULL;
}

static inline void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument) ||
	    pthread_join(thread, NULL))
		_exit(1);
}

static inline int make_calls(void)
{
	static const size_t first[] = {0, 24, 2000, 300000, (size_t)1 << 62, SIZE_MAX};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (!libc)
		return 1;
	*(void **)&libc_malloc = dlsym(libc, "malloc");
	*(void **)&libc_free = dlsym(libc, "free");
	if (!libc_malloc || !libc_free)
		return 1;
	churn(800, 1);
	run_thread(churn_thread, NULL);
	churn(300, 2);
	for (size_t i = 0; i < COUNT(first); i++)
		run_thread(first_call, (void *)(uintptr_t)&first[i]);
	return 0;
}

/* --- the tracer --------------------------------------------------------------------- */

struct tracer {
	pid_t pid;
	uint64_t start, end; /* addresses of malloc() */
	const struct body *body;
	bool has_stop_at;    /* result of has_stop_at() */
	uint64_t first_word; /* the word at `start`, which holds a trap instead */
	unsigned calls, failed_calls;
	unsigned hits[BODY_SITES_MAX], parts[BODY_STOP + 1];
};

/* A call of malloc(). */
struct call {
	pid_t tid;
	uint64_t size, return_address, return_sp;
	unsigned entries, wholes, returns, failures, stops;
	uint64_t settled; /* rax at the site where the result is settled */
};

static inline void wait_trap(pid_t tid)
{
	int status;

	REQUIRE(waitpid(tid, &status, __WALL) == tid);
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
}

/* Runs until the function that malloc() has just called returns. */
static inline struct user_regs_struct step_over(const struct tracer *t, pid_t tid,
						const struct user_regs_struct *r)
{
	uint64_t back = peek(tid, r->rsp), sp = r->rsp + sizeof(uint64_t);
	uint64_t word;

	REQUIRE(back > t->start && back < t->end);
	word = set_trap(tid, back);
	REQUIRE(!ptrace(PTRACE_CONT, tid, NULL, NULL));
	wait_trap(tid);

	struct user_regs_struct after = registers_of(tid);

	REQUIRE(after.rip == back + 1 && after.rsp == sp);
	after.rip = back;
	poke(tid, back, word);
	REQUIRE(!ptrace(PTRACE_SETREGS, tid, NULL, &after));
	return after;
}

/* Called before the instruction at a site is executed. */
static inline void see_site(struct tracer *t, struct call *c, size_t n,
			    const struct user_regs_struct *r)
{
	const struct body_site *site = &t->body->sites[n];
	uint64_t sp = r->rsp + (uint64_t)(int64_t)site->sp_delta;

	t->hits[n]++;
	CHECK(sp == c->return_sp);
	CHECK(peek(c->tid, sp) == c->return_address);
	if (site->part == BODY_WHOLE || site->part == BODY_ENTRY)
		CHECK(register_of(r, site->size_reg) == c->size);
	if (site->part == BODY_WHOLE || site->part == BODY_RETURN)
		c->settled = r->rax;
	if (site->part == BODY_RETURN)
		CHECK_INT(c->entries, 1);

	switch (site->part) {
	case BODY_WHOLE:
		c->wholes++;
		break;
	case BODY_ENTRY:
		CHECK_INT(c->wholes + c->returns + c->failures, 0);
		c->entries++;
		break;
	case BODY_RETURN:
		c->returns++;
		break;
	case BODY_FAILURE:
		c->failures++;
		break;
	case BODY_STOP:
		c->stops++;
		break;
	}
}

static inline void check_call(struct tracer *t, const struct call *c, uint64_t result)
{
	unsigned before = check_state.failures;

	CHECK_INT(c->wholes + c->returns + c->failures, 1);
	CHECK(c->entries <= 1);
	CHECK(!c->wholes || !c->entries);
	CHECK(!c->returns || c->entries);
	CHECK_INT(c->stops, 0);
	CHECK(c->failures ? result == 0 : result == c->settled);
	t->calls++;
	t->failed_calls += result == 0;
	t->parts[BODY_WHOLE] += c->wholes;
	t->parts[BODY_ENTRY] += c->entries;
	t->parts[BODY_RETURN] += c->returns;
	t->parts[BODY_FAILURE] += c->failures;
	if (check_state.failures != before)
		fprintf(stderr, "... malloc(%#" PRIx64 ") is %#" PRIx64 "\n", c->size,
			result);
	/* Thousands of calls would fail in the same way. */
	REQUIRE(check_state.failures < 20);
}

/* Follows a call from malloc()'s first instruction. */
static inline void follow_call(struct tracer *t, pid_t tid)
{
	struct user_regs_struct r = registers_of(tid);
	struct call c = {.tid = tid,
			 .size = r.rdi,
			 .return_sp = r.rsp,
			 .return_address = peek(tid, r.rsp)};

	while (r.rip != c.return_address || r.rsp != c.return_sp + sizeof(uint64_t)) {
		if (r.rip < t->start || r.rip >= t->end) {
			r = step_over(t, tid, &r);
			continue;
		}
		for (size_t i = 0; i < t->body->count; i++)
			if (r.rip == t->start + t->body->sites[i].delta)
				see_site(t, &c, i, &r);
		REQUIRE(!ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL));
		wait_trap(tid);
		r = registers_of(tid);
	}
	check_call(t, &c, r.rax);
}

/* Makes threads stop at malloc()'s first instruction. Hardware breakpoints must be set
 * for each thread. */
static inline void watch_start(struct tracer *t, pid_t tid, bool is_new)
{
	if (t->has_stop_at)
		stop_at(tid, t->start);
	else if (!is_new)
		t->first_word = set_trap(tid, t->start);
}

/* Is the thread about to execute the first instruction? */
static inline bool is_at_start(const struct tracer *t, pid_t tid)
{
	if (t->has_stop_at)
		return registers_of(tid).rip == t->start;
	return is_trapped(tid, t->start);
}

/* Runs until the tracee ends. One of its threads runs at a time. */
static inline void follow_calls(struct tracer *t)
{
	int status;
	pid_t tid;

	watch_start(t, t->pid, false);
	REQUIRE(!ptrace(PTRACE_CONT, t->pid, NULL, NULL));
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		long signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid != t->pid)
				continue;
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			return;
		}
		REQUIRE(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGTRAP && !(status >> 16) &&
		    is_at_start(t, tid)) {
			if (!t->has_stop_at)
				poke(tid, t->start, t->first_word);
			follow_call(t, tid);
			if (!t->has_stop_at)
				watch_start(t, tid, false);
		} else if (WSTOPSIG(status) == SIGSTOP)
			watch_start(t, tid, true);
		else if (WSTOPSIG(status) != SIGTRAP)
			signal = WSTOPSIG(status);
		REQUIRE(!ptrace(PTRACE_CONT, tid, NULL, (void *)signal));
	}
	CHECK_FAIL("the tracee is gone");
}

#endif
