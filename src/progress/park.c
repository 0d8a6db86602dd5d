// SPDX-License-Identifier: Apache-2.0
#include "progress/park.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/context.h"

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

static bool change(enum state from, enum state to)
{
	return __atomic_compare_exchange_n(&state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* The kernel runs it before the thread executes an instruction after the call. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	const struct arch_context now = arch_context(context);
	bool is_there = now.sp == place.sp &&
			(now.pc == place.pc || now.pc + now.call_bytes == place.pc);

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
	if (!place.sp || !change(IDLE, WANTED))
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
