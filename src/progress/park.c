// SPDX-License-Identifier: Apache-2.0
#include "progress/park.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* How often, and for how long in all, to look whether the signal has parked the thread.
 */
#define LOOKS   50
#define LOOK_US 2000

/* Static: a signal handler has no argument. There is one main thread. */
static struct stuck_at place; /* the call to park in */
static enum state {
	IDLE,
	WANTED, /* `place` does not change */
	PARKED,
} state; /* accessed atomically */

/* CALL_BYTES is the size of the instruction that enters the kernel. If the call is to be
 * made again, the kernel sets the program counter back to this instruction before a
 * handler runs. */
#if defined(__x86_64__)
#define CALL_BYTES 2

static struct stuck_at at(const ucontext_t *context)
{
	return (struct stuck_at){(uint64_t)context->uc_mcontext.gregs[REG_RSP],
				 (uint64_t)context->uc_mcontext.gregs[REG_RIP]};
}
#elif defined(__aarch64__)
#define CALL_BYTES 4

static struct stuck_at at(const ucontext_t *context)
{
	return (struct stuck_at){context->uc_mcontext.sp, context->uc_mcontext.pc};
}
#else
#define CALL_BYTES 0

static struct stuck_at at(const ucontext_t *context)
{
	(void)context;
	return (struct stuck_at){0, 0};
}
#endif

static bool change(enum state from, enum state to)
{
	return __atomic_compare_exchange_n(&state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* The kernel runs it before the thread executes an instruction after the call. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	struct stuck_at now = at(context);
	bool is_there = now.sp == place.sp &&
			(now.pc == place.pc || now.pc + CALL_BYTES == place.pc);

	(void)number;
	(void)info;
	if (!is_there || !change(WANTED, PARKED))
		return;
	for (;;)
		pause();
}

void park_init(void)
{
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	sigfillset(&action.sa_mask);
	sigaction(SIGRTMIN, &action, NULL);
}

bool park_main(const struct stuck *stuck)
{
	place = stuck_place(stuck);
	if (!place.sp || !CALL_BYTES || !change(IDLE, WANTED))
		return false;
	if (syscall(SYS_tgkill, getpid(), getpid(), SIGRTMIN))
		return !change(WANTED, IDLE);
	for (int i = 0; i < LOOKS; i++) {
		/* If the thread is still in the call, the signal waits for its end. */
		if (__atomic_load_n(&state, __ATOMIC_SEQ_CST) == PARKED ||
		    stuck_is_in_call(stuck))
			return true;
		usleep(LOOK_US);
	}
	return !change(WANTED, IDLE);
}
