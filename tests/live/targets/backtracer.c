// SPDX-License-Identifier: Apache-2.0
/*
 * A program with a profiler of its own: a handler of SIGPROF takes backtraces in the
 * middle of allocation functions. Each must reach main().
 */
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "allocate_each.h"
#include "answer.h"

#define WANTED      1000
#define INTERVAL_NS 200000
#define TIMEOUT_S   60
#define FRAMES_MAX  64
#define MARKED      __attribute__((section("marked_text"), noinline))

/* Defined by the linker: the bounds of the section of the MARKED functions. */
extern const char __start_marked_text[], __stop_marked_text[];

static volatile sig_atomic_t is_inside, taken, whole, shortest = FRAMES_MAX;

/* Are both MARKED functions among the callers? */
static bool is_whole(void *const frames[], int count)
{
	int marked = 0;

	for (int i = 0; i < count; i++) {
		const char *frame = frames[i];

		marked += frame > __start_marked_text && frame <= __stop_marked_text;
	}
	return marked == 2;
}

static void take(int signal)
{
	void *frames[FRAMES_MAX];
	int saved = errno, count;

	(void)signal;
	if (!is_inside || taken == WANTED)
		return;
	count = backtrace(frames, FRAMES_MAX);
	taken = taken + 1;
	if (is_whole(frames, count))
		whole = whole + 1;
	if (count < shortest)
		shortest = count;
	errno = saved;
}

static timer_t start_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	struct itimerspec every = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		_exit(2);
	return timer;
}

/* The timer's signal may interrupt any of these calls. */
NOINLINE static void allocate(void)
{
	is_inside = 1;
	allocate_each();
	is_inside = 0;
}

MARKED void work(char *line, size_t size);

void work(char *line, size_t size)
{
	time_t until = time(NULL) + TIMEOUT_S;
	timer_t timer = start_timer();

	while (taken < WANTED && time(NULL) < until)
		allocate();
	timer_delete(timer);
	snprintf(line, size, "backtraces %d, whole %d", (int)taken, (int)whole);
	if (whole < taken)
		fprintf(stderr, "the shortest has %d frames\n", (int)shortest);
}

MARKED int main(int argc, char *argv[])
{
	static const struct work works[] = {{"backtraces", work}, {NULL, NULL}};
	struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
	void *frame;

	/* The first backtrace() loads libgcc: not in the signal handler. */
	backtrace(&frame, 1);
	if (sigaction(SIGPROF, &action, NULL))
		return 2;
	return answer(works, argc, argv);
}
