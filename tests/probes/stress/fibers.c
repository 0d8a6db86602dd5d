// SPDX-License-Identifier: Apache-2.0
#include "probes/stress/fibers.h"

#include <limits.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"
#include "unit/random.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__SANITIZE_THREAD__)
#define WITH_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#elif __has_feature(thread_sanitizer)
#define WITH_TSAN
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* AddressSanitizer clears its notes on a stack at each switch, and maps new memory for
 * that from 512 KiB on, which takes ten times as long. */
#define FIBER_STACK (256u << 10)
#define BESIDE      THREADS_MAX

struct fiber {
	ucontext_t context;
	void *stack;
	void *sanitizer; /* its state of the fiber */
};

struct fibers {
	struct machine *machine;
	struct fiber scheduler, fiber[THREADS_MAX + 1];
	struct fiber *current;
	uint64_t random;
	unsigned long acts, acts_wanted, switches;
	void (*beside)(void *arg); /* NULL: nothing runs there */
	void *beside_arg;
};

/* One machine at a time: makecontext() passes numbers only. */
static struct fibers *the_fibers;

static void switch_to(struct fibers *f, struct fiber *to)
{
	struct fiber *from = f->current;

	f->current = to;
#ifdef WITH_ASAN
	void *fake = NULL;

	__sanitizer_start_switch_fiber(&fake, to->stack, to->stack ? FIBER_STACK : 0);
#endif
#ifdef WITH_TSAN
	__tsan_switch_to_fiber(to->sanitizer, 0);
#endif
	swapcontext(&from->context, &to->context);
#ifdef WITH_ASAN
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

static void fiber_main(void)
{
	struct fibers *f = the_fibers;
	size_t index = (size_t)(f->current - f->fiber);
	struct sim_thread *t = &f->machine->threads[index];

#ifdef WITH_ASAN
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	for (;;) {
		if (index == BESIDE) {
			f->beside(f->beside_arg);
			f->beside = NULL;
		} else {
			t->is_idle = false;
			f->acts++;
			sim_act(t);
			t->is_idle = true;
		}
		switch_to(f, &f->scheduler);
	}
}

static void switch_away(struct sim_thread *t)
{
	(void)t;
	switch_to(the_fibers, &the_fibers->scheduler);
}

void fibers_pause(struct fibers *f)
{
	switch_to(f, &f->scheduler);
}

static void fiber_init(struct fiber *fiber)
{
	fiber->stack = mmap(NULL, FIBER_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(fiber->stack != MAP_FAILED);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = FIBER_STACK;
	makecontext(&fiber->context, fiber_main, 0);
#ifdef WITH_TSAN
	fiber->sanitizer = __tsan_create_fiber(0);
#endif
}

struct fibers *fibers_new(struct machine *m, uint64_t seed)
{
	struct fibers *f = calloc(1, sizeof(*f));

	REQUIRE(f);
	f->machine = m;
	f->random = seed * UINT64_C(0xd6e8feb86659fd93) + 1;
	f->current = &f->scheduler;
#ifdef WITH_TSAN
	f->scheduler.sanitizer = __tsan_get_current_fiber();
#endif
	for (int i = 0; i <= BESIDE; i++)
		fiber_init(&f->fiber[i]);
	for (int i = 0; i < THREADS_MAX; i++)
		m->threads[i].is_idle = true;
	m->switch_away = switch_away;
	the_fibers = f;
	return f;
}

void fibers_free(struct fibers *f)
{
	for (int i = 0; i <= BESIDE; i++) {
#ifdef WITH_TSAN
		__tsan_destroy_fiber(f->fiber[i].sanitizer);
#endif
		munmap(f->fiber[i].stack, FIBER_STACK);
	}
	the_fibers = NULL;
	free(f);
}

/* May the thread run on? When no further acts are wanted: only in the middle of one, or
 * to end with its process. */
static bool may_run(const struct fibers *f, unsigned index)
{
	const struct sim_thread *t = &f->machine->threads[index];

	if (index == BESIDE)
		return f->beside != NULL;
	if (!t->is_running || t->is_held_back)
		return !t->is_idle && !t->is_held_back;
	return !t->is_idle || f->acts < f->acts_wanted ||
	       (t->process->survivor && t->process->survivor != t);
}

/* Let some thread run up to its next switch. Returns false if none may run. */
static bool run_one(struct fibers *f)
{
	unsigned first = (unsigned)(random_next(&f->random) >> 40) % (THREADS_MAX + 1);

	for (unsigned i = 0; i <= THREADS_MAX; i++) {
		unsigned at = (first + i) % (THREADS_MAX + 1);

		if (!may_run(f, at))
			continue;
		f->switches++;
		switch_to(f, &f->fiber[at]);
		return true;
	}
	return false;
}

void fibers_run(struct fibers *f, unsigned long acts)
{
	f->acts_wanted = f->acts + acts;
	while (f->acts < f->acts_wanted && run_one(f))
		continue;
}

void fibers_finish(struct fibers *f)
{
	f->acts_wanted = f->acts;
	while (run_one(f))
		continue;
}

void fibers_run_beside(struct fibers *f, void (*fn)(void *arg), void *arg)
{
	f->beside = fn;
	f->beside_arg = arg;
	f->acts_wanted = ULONG_MAX;
	while (f->beside)
		run_one(f);
	f->acts_wanted = f->acts;
}

unsigned long fibers_switches(const struct fibers *f)
{
	return f->switches;
}
