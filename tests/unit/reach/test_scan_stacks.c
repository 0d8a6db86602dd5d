// SPDX-License-Identifier: Apache-2.0
/* Which part of a stack is searched: not what returned functions have left behind, but
 * all that a signal handler or a coroutine has interrupted. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "unit/reach/arranged.h"
#include "util/sanitized.h"

#define STACK_BYTES ((size_t)64 << 10)

static volatile uint64_t in_data;

static void (*arrange)(void);

static void arrange_both(void)
{
	put(&in_data, 1, 0);
	wash();
	arrange();
}

static void search_stack(void (*with)(void))
{
	arrange = with;
	search_staying(arrange_both);
}

static void handle(int signal)
{
	(void)signal;
	wash();
	stay();
}

/* Keeps a pointer in its frame only, and is interrupted. */
static __attribute__((noinline)) void be_interrupted(void)
{
	volatile uint64_t kept[8];

	put(&kept[4], 0, 0);
	wash();
	raise(SIGUSR1);
	kept[4] = 0;
}

static __attribute__((noinline)) void interrupt_on(char *stack)
{
	const stack_t other = {.ss_sp = stack, .ss_size = STACK_BYTES};
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	REQUIRE(!sigaltstack(&other, NULL) && !sigaction(SIGUSR1, &action, NULL));
	be_interrupted();
}

static void arrange_signal_in_array(void)
{
	char stack[STACK_BYTES];

	interrupt_on(stack);
	__asm__ volatile("" ::"r"(stack) : "memory");
}

static void check_both(void)
{
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_rest(2);
}

static void a_signal_stack_in_a_local_array(void)
{
	search_stack(arrange_signal_in_array);
	check_both();
}

static __thread char own_stack[STACK_BYTES];

static void *interrupt_thread(void *unused)
{
	interrupt_on(own_stack);
	return unused;
}

static void start(const pthread_attr_t *attributes, void *(*body)(void *))
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, attributes, body, NULL));
}

static void wait_forever(void)
{
	wash();
	for (;;)
		pause();
}

static void arrange_signal_in_thread(void)
{
	start(NULL, interrupt_thread);
	wait_forever();
}

static void a_signal_stack_in_thread_local_data(void)
{
	search_stack(arrange_signal_in_thread);
	check_both();
}

static __attribute__((noinline)) void suspend(ucontext_t *here, ucontext_t *there)
{
	volatile uint64_t kept[8];

	put(&kept[4], 0, 0);
	wash();
	swapcontext(here, there);
	kept[4] = 0;
}

static void run_apart(void)
{
	wash();
	stay();
}

static void arrange_coroutine(void)
{
	char stack[STACK_BYTES];
	ucontext_t here, there;

	REQUIRE(!getcontext(&there));
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, run_apart, 0);
	suspend(&here, &there);
}

static void a_coroutine_in_a_local_array(void)
{
	search_stack(arrange_coroutine);
	check_both();
}

#define ROOM_BYTES ((size_t)1 << 20)

static char *room;

/* An inaccessible page, and above it what the program uses for several things. */
static void make_room(void)
{
	room = mmap(NULL, 4096 + ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	REQUIRE(room != MAP_FAILED);
	room += 4096;
	REQUIRE(!mprotect(room, ROOM_BYTES, PROT_READ | PROT_WRITE));
}

static void start_in_room(size_t offset, void *(*body)(void *))
{
	pthread_attr_t attributes;

	REQUIRE(!pthread_attr_init(&attributes));
	REQUIRE(!pthread_attr_setstack(&attributes, room + offset, 4 * STACK_BYTES));
	start(&attributes, body);
}

static void *stay_in_thread(void *unused)
{
	wash();
	stay();
	return unused;
}

static void *keep_in_thread(void *unused)
{
	volatile uint64_t kept[8];

	put(&kept[4], 0, 0);
	wait_forever();
	kept[4] = 0;
	return unused;
}

static void arrange_data_below(void)
{
	make_room();
	put((uint64_t *)(void *)room, 0, 0);
	start_in_room(ROOM_BYTES - 4 * STACK_BYTES, stay_in_thread);
	wait_forever();
}

static void arrange_stacks_in_one_mapping(void)
{
	make_room();
	start_in_room(0, keep_in_thread);
	usleep(200000);
	start_in_room(ROOM_BYTES - 4 * STACK_BYTES, stay_in_thread);
	wait_forever();
}

static void a_stack_in_memory_of_the_program(void)
{
	search_stack(arrange_data_below);
	check_both();
	search_stack(arrange_stacks_in_one_mapping);
	check_both();
}

static __attribute__((noinline)) void leave_behind(void)
{
	volatile uint64_t used[4096];

	/* Far enough below the red zone. */
	for (size_t i = 0; i < 64; i++)
		put(&used[i], 0, 0);
}

static void *leave_in_thread(void *unused)
{
	wash();
	leave_behind();
	__asm__ volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx" ::
				 : "rax", "rcx", "rdx");
	stay();
	return unused;
}

static void arrange_left_in_thread(void)
{
	start(NULL, leave_in_thread);
	wait_forever();
}

static void what_a_thread_leaves_behind(void)
{
	search_stack(arrange_left_in_thread);
	check_level(0, REACH_UNREACHED);
	check_level(1, REACH_REACHED);
	check_rest(2);
}

int main(void)
{
	RUN(a_signal_stack_in_a_local_array);
	RUN(a_signal_stack_in_thread_local_data);
	RUN(a_coroutine_in_a_local_array);
	RUN(a_stack_in_memory_of_the_program);
	/* A sanitizer keeps pointers to all of the stack on it. */
	if (!IS_SANITIZED)
		RUN(what_a_thread_leaves_behind);
	return check_done();
}
