// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that leave their calls and stacks in unusual ways: jumps out of allocation
 * functions, signal handlers that allocate, cancelled threads, coroutines.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>

#include "answer.h"
#include "trap_mmap.h"

#define FORMS       5
#define FORM_CALLOC 1
#define SIZE        (COUNTED_SIZE + 1000)

NOINLINE static void *allocate(unsigned form, size_t size)
{
	void *block;

	switch (form % FORMS) {
	case 0:
		return counted(malloc(size), size);
	case FORM_CALLOC:
		return counted(calloc(size / 100, 100), size / 100 * 100);
	case 2:
		return counted(realloc(NULL, size), size);
	case 3:
		return counted(posix_memalign(&block, 256, size) ? NULL : block, size);
	default:
		size = (size + 63) / 64 * 64;
		return counted(aligned_alloc(64, size), size);
	}
}

/* --- jumps ------------------------------------------------------------------------- */

#define JUMPS 200

static sigjmp_buf before_call;

static void jump_out(int signal)
{
	(void)signal;
	siglongjmp(before_call, 1);
}

/* Does `work` `depth` frames deeper in the stack. */
NOINLINE static void descend(unsigned depth, void (*work)(unsigned form), unsigned form)
{
	volatile char stack[256];

	stack[0] = (char)depth;
	if (depth)
		descend(depth - 1, work, form);
	else
		work(form);
	stack[1] = stack[0];
}

NOINLINE static void complete_call(unsigned form)
{
	counted_free(allocate(form, SIZE));
}

/* A signal handler jumps out of this call. */
NOINLINE static void leave_call(unsigned form)
{
	allocate(form, LARGE);
}

static void jumps(char *line, size_t size)
{
	const struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_NODEFER};

	trap_large_blocks(&action);
	for (volatile unsigned i = 0; i < JUMPS; i++) {
		/* The depth differs from one call to the next. */
		if (!sigsetjmp(before_call, 1)) {
			descend(i * 7 % 20, leave_call, i);
		} else {
			COUNT(left);
			if (i % FORMS == FORM_CALLOC)
				COUNT(unseen);
		}
		/* Then calls with a deeper stack than the call that was left, and with a
		 * shallower one. */
		descend(20, complete_call, i / FORMS);
		descend(0, complete_call, i / FORMS);
	}
	snprintf(line, size, "jumped %lu", truth.left);
}

/* --- a handler --------------------------------------------------------------------- */

#define HANDLED     1000
#define INTERVAL_NS 200000
#define TIMEOUT_S   60

static volatile sig_atomic_t is_inside, handled;
static volatile uint64_t handler_sum;

static void allocate_in_handler(int signal)
{
	int saved = errno;
	unsigned char *block;

	(void)signal;
	if (is_inside || handled == HANDLED)
		return;
	block = allocate((unsigned)handled, SIZE);
	block[100] = (unsigned char)handled;
	handler_sum = handler_sum * 31 + block[100];
	counted_free(block);
	handled = handled + 1;
	errno = saved;
}

static timer_t start_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec every = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
	struct sigaction action = {.sa_handler = allocate_in_handler,
				   .sa_flags = SA_RESTART};
	timer_t timer;

	if (sigaction(SIGALRM, &action, NULL) ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		_exit(2);
	return timer;
}

static void handler_allocates(char *line, size_t size)
{
	time_t until = time(NULL) + TIMEOUT_S;
	timer_t timer = start_timer();

	for (unsigned i = 0; handled < HANDLED && time(NULL) < until; i++) {
		void *block;

		is_inside = 1;
		block = allocate(i, SIZE);
		is_inside = 0;
		for (volatile int spin = 0; spin < 20000; spin++)
			;
		is_inside = 1;
		counted_free(block);
		is_inside = 0;
	}
	timer_delete(timer);
	snprintf(line, size, "handled %d, sum %llu", (int)handled,
		 (unsigned long long)handler_sum);
}

/* --- threads that are cancelled ---------------------------------------------------- */

#define THREADS 100

static unsigned cleaned;

static void clean(void *block)
{
	counted_free(block);
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static volatile bool goes_on = true;

/* Every other thread ends itself instead, in the same depth. */
NOINLINE static void allocate_until_cancelled(unsigned number, unsigned depth)
{
	pthread_cleanup_push(clean, allocate(number + depth, SIZE));
	if (depth)
		allocate_until_cancelled(number, depth - 1);
	else if (number % 2)
		pthread_exit(NULL);
	for (unsigned i = 0; goes_on; i++) {
		counted_free(allocate(i, SIZE));
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
}

static void *run_thread(void *number)
{
	allocate_until_cancelled((unsigned)(uintptr_t)number, 4);
	return number;
}

static void cancel(char *line, size_t size)
{
	unsigned cancelled = 0, ended = 0;

	for (uintptr_t i = 0; i < THREADS; i++) {
		struct timespec pause = {0, 500000};
		void *result = &pause;
		pthread_t thread;

		if (pthread_create(&thread, NULL, run_thread, (void *)i))
			_exit(2);
		nanosleep(&pause, NULL);
		if (i % 2 == 0)
			pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
		ended += result == NULL;
	}
	snprintf(line, size, "cancelled %u, ended %u, cleaned %u", cancelled, ended,
		 cleaned);
}

/* --- coroutines -------------------------------------------------------------------- */

#define COROUTINES 16
#define ROUNDS     200

static ucontext_t contexts[COROUTINES + 1]; /* the last one is main's */
static char stacks[COROUTINES][64 << 10] __attribute__((aligned(16)));
static unsigned running, alive;
static uint64_t order = 1;

/* Switches to the next coroutine, which has another stack. Returns after all others have
 * had their turn. */
NOINLINE static void yield(void)
{
	unsigned from = running;

	running = (running + 5) % COROUTINES;
	order = order * 31 + running;
	swapcontext(&contexts[from], &contexts[running]);
}

NOINLINE static void work_in_turns(unsigned self, unsigned depth)
{
	char *block = allocate(self + depth, SIZE);

	block[0] = (char)self;
	yield();
	if (depth)
		work_in_turns(self, depth - 1);
	yield();
	order = order * 31 + (unsigned char)block[0];
	counted_free(block);
}

static void coroutine(int self)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		work_in_turns((unsigned)self, i % 5);
	/* All coroutines take the same number of turns, so they end one after the
	 * other. */
	if (--alive)
		yield();
}

static void coroutines(char *line, size_t size)
{
	alive = COROUTINES;
	for (unsigned i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &contexts[COROUTINES];
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, (int)i);
	}
	swapcontext(&contexts[COROUTINES], &contexts[0]);
	snprintf(line, size, "left %u, order %llu", alive, (unsigned long long)order);
}

int main(int argc, char *argv[])
{
	static const struct work works[] = {{"jumps", jumps},
					    {"handler", handler_allocates},
					    {"cancel", cancel},
					    {"coroutines", coroutines},
					    {NULL, NULL}};

	return answer(works, argc, argv);
}
