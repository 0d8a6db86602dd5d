// SPDX-License-Identifier: Apache-2.0
/*
 * A program that keeps pointers to its blocks in every place where a program can, and
 * loses some blocks. Each place has a function site_*, which allocates. Commands on
 * stdin: "make" allocates; "free" frees the block that was hidden; "submit" gives a block
 * to a request of AIO, and "reap" ends the request and frees the block; "vfork" waits in
 * vfork(2) for three seconds; "check" asks the leak checker under which the program runs;
 * "work" does something that takes an answer. The answer is a line of JSON.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Valgrind acts on instructions in the program, which do nothing elsewhere. */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_DO_LEAK_CHECK
#endif

#define SITE  __attribute__((noinline, used))
#define LIST  10
#define STACK ((size_t)256 << 10)

/* LeakSanitizer, if the program is built with it (sanitizer/lsan_interface.h) */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Each site is a function of its own, so that its blocks have their own call path. */
#define DEFINE_SITE(name)                                                                \
	uintptr_t site_##name(size_t size);                                              \
	SITE uintptr_t site_##name(size_t size)                                          \
	{                                                                                \
		void *block = calloc(1, size);                                           \
                                                                                         \
		if (!block)                                                              \
			abort();                                                         \
		return (uintptr_t)block;                                                 \
	}

DEFINE_SITE(data)
DEFINE_SITE(zeroed)
DEFINE_SITE(tls)
DEFINE_SITE(dynamic_tls)
DEFINE_SITE(key)
DEFINE_SITE(main_stack)
DEFINE_SITE(thread_stack)
DEFINE_SITE(register)
DEFINE_SITE(vector)
DEFINE_SITE(coroutine)
DEFINE_SITE(signal_stack)
DEFINE_SITE(shared)
DEFINE_SITE(file)
DEFINE_SITE(sealed)
DEFINE_SITE(epoll)
DEFINE_SITE(timer)
DEFINE_SITE(older)
DEFINE_SITE(freed)
DEFINE_SITE(chain)
DEFINE_SITE(chained)
DEFINE_SITE(mangled)
DEFINE_SITE(tagged)
DEFINE_SITE(interior)
DEFINE_SITE(past_end)
DEFINE_SITE(low_tag)
DEFINE_SITE(lost)
DEFINE_SITE(list_head)
DEFINE_SITE(list_rest)
DEFINE_SITE(cycle)
DEFINE_SITE(dead_stack)
DEFINE_SITE(hidden)
DEFINE_SITE(request)

static volatile uintptr_t in_data[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static volatile uintptr_t in_zeroed[8];
static __thread volatile uintptr_t in_tls[2];
static volatile uintptr_t *older; /* a block from before the attach */
static volatile uintptr_t hidden; /* not as a pointer */
static volatile uintptr_t *in_shared, *in_file, *in_sealed;
static pthread_barrier_t ready;
static ucontext_t main_context, coroutine_context;

/* Overwrites what earlier calls have left on the stack and in registers. */
static SITE void wash(void)
{
	volatile uintptr_t used[8192];

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		used[i] = 0;
	__asm__ volatile(
		"xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx;"
		"xorl %%esi, %%esi; xorl %%edi, %%edi; xorl %%r8d, %%r8d;"
		"xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d;"
		"xorl %%ebx, %%ebx; xorl %%r12d, %%r12d; xorl %%r13d, %%r13d;"
		"xorl %%r14d, %%r14d; xorl %%r15d, %%r15d;"
		"pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2" ::
			: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			  "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2");
}

static void wait_forever(void)
{
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
}

/* pause(2) with a pointer in a register and nowhere else. */
static void *hold_register(void *unused)
{
	uintptr_t block = site_register(64);

	(void)unused;
	pthread_barrier_wait(&ready);
	__asm__ volatile("1: movl $34, %%eax\n\tsyscall\n\tjmp 1b" ::"b"(block)
			 : "rax", "rcx", "r11", "memory");
	return NULL;
}

static void *hold_vector(void *unused)
{
	uintptr_t block = site_vector(64);

	(void)unused;
	pthread_barrier_wait(&ready);
	__asm__ volatile("movq %0, %%xmm9\n\txorl %%ebx, %%ebx\n\txorl %%edi, %%edi\n\t"
			 "xorl %%esi, %%esi\n\txorl %%edx, %%edx\n\t"
			 "1: movl $34, %%eax\n\tsyscall\n\tjmp 1b" ::"a"(block)
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r11", "xmm9", "memory");
	return NULL;
}

static void *hold_on_stack(void *unused)
{
	volatile uintptr_t kept = site_thread_stack(64);

	(void)unused;
	wash();
	if (kept)
		wait_forever();
	return NULL;
}

static void on_signal(int signal)
{
	volatile uintptr_t kept = site_signal_stack(64);

	(void)signal;
	if (kept)
		wait_forever();
}

/* Waits in a handler on a stack of its own. */
static void *hold_on_signal_stack(void *unused)
{
	stack_t stack = {.ss_size = STACK};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	(void)unused;
	stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &action, NULL))
		abort();
	pthread_kill(pthread_self(), SIGUSR1);
	return NULL;
}

static void run_coroutine(void)
{
	volatile uintptr_t kept = site_coroutine(64);

	if (kept)
		swapcontext(&coroutine_context, &main_context);
	abort();
}

/* Leaves a coroutine in the middle of its stack. */
static void start_coroutine(void)
{
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_size = STACK;
	coroutine_context.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (coroutine_context.uc_stack.ss_sp == MAP_FAILED)
		abort();
	makecontext(&coroutine_context, run_coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
}

static SITE void use_kernel(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), ends[2];
	struct epoll_event event = {.events = EPOLLIN};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	const struct itimerspec later = {.it_value.tv_sec = 100000};
	timer_t timer;

	if (epoll < 0 || pipe(ends))
		abort();
	event.data.u64 = site_epoll(64);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event))
		abort();
	notify.sigev_value.sival_ptr = (void *)site_timer(64);
	if (timer_create(CLOCK_MONOTONIC, &notify, &timer) ||
	    timer_settime(timer, 0, &later, NULL))
		abort();
	memset(&event, 0, sizeof(event));
	memset(&notify, 0, sizeof(notify));
	__asm__ volatile("" ::"r"(&event), "r"(&notify) : "memory");
}

static SITE void leave_behind(void)
{
	volatile uintptr_t used[2048];

	used[3] = site_dead_stack(64);
	used[4] = used[3];
}

static SITE void lose(void)
{
	uintptr_t list = 0, first;

	for (int i = 0; i < 3; i++)
		(void)site_lost(100);
	for (int i = 0; i < LIST - 1; i++) {
		uintptr_t block = site_list_rest(32);

		*(volatile uintptr_t *)block = list;
		list = block;
	}
	*(volatile uintptr_t *)site_list_head(48) = list;
	list = site_cycle(64);
	first = site_cycle(64);
	*(volatile uintptr_t *)list = first;
	*(volatile uintptr_t *)first = list;
}

/* Thread-local data of a library that was loaded. */
static volatile uintptr_t *dynamic_tls(void)
{
	void *library = dlopen(TLS_LIBRARY, RTLD_NOW);
	volatile uintptr_t *(*words)(void) = NULL;

	if (library)
		*(void **)&words = dlsym(library, "holder_tls_words");
	if (!words)
		abort();
	return words();
}

static SITE void keep(void)
{
	volatile uintptr_t *big;
	uintptr_t guard, block;
	static pthread_key_t key;

	in_data[0] = site_data(64);
	in_zeroed[0] = site_zeroed(64);
	in_tls[0] = site_tls(64);
	dynamic_tls()[2000] = site_dynamic_tls(64);
	if (pthread_key_create(&key, NULL) ||
	    pthread_setspecific(key, (void *)site_key(64)))
		abort();
	in_shared[100] = site_shared(64);
	in_file[100] = site_file(64);
	in_sealed[100] = site_sealed(64);
	if (mprotect((void *)in_sealed, 4096, PROT_READ))
		abort();
	older[7] = site_older(64);
	big = malloc(4000);
	if (!big)
		abort();
	big[450] = site_freed(64);
	/* The allocator has pointers to the end of its last block. */
	in_zeroed[6] = (uintptr_t)malloc(64);
	free((void *)big);
	block = site_chain(64);
	in_data[1] = block;
	*(volatile uintptr_t *)(block + 40) = site_chained(64);
	__asm__("movq %%fs:0x30, %0" : "=r"(guard));
	block = site_mangled(64) ^ guard;
	in_zeroed[1] = block << 17 | block >> (64 - 17);
	in_zeroed[2] = site_tagged(64) | (uintptr_t)0xa5 << 56;
	in_zeroed[3] = site_interior(64) + 24;
	in_zeroed[4] = site_past_end(64) + 64;
	in_zeroed[5] = site_low_tag(64) | 5;
	hidden = ~site_hidden(64);
}

static aio_context_t requests;
static int request_ends[2];
static volatile uintptr_t behind_request;

/* Wait for a pipe, with a block as data of the request. */
static SITE void submit(void)
{
	struct iocb request = {.aio_lio_opcode = IOCB_CMD_POLL}, *list = &request;

	if (pipe(request_ends) || syscall(SYS_io_setup, 8, &requests))
		abort();
	request.aio_fildes = (uint32_t)request_ends[0];
	request.aio_buf = POLLIN;
	request.aio_data = site_request(64);
	/* The allocator has pointers to the end of its last block. */
	behind_request = (uintptr_t)malloc(64);
	if (syscall(SYS_io_submit, requests, 1, &list) != 1)
		abort();
	memset(&request, 0, sizeof(request));
	__asm__ volatile("" ::"r"(&request) : "memory");
}

static SITE void reap(void)
{
	struct io_event event;

	if (write(request_ends[1], "x", 1) != 1 ||
	    syscall(SYS_io_getevents, requests, 1, 1, &event, NULL) != 1)
		abort();
	free((void *)(uintptr_t)event.data);
}

static SITE void wait_in_vfork(void)
{
	if (!vfork()) {
		sleep(3);
		_exit(0);
	}
}

static void start(void *(*body)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL))
		abort();
}

static void make(void)
{
	pthread_barrier_init(&ready, NULL, 5);
	start(hold_register);
	start(hold_vector);
	start(hold_on_stack);
	start(hold_on_signal_stack);
	pthread_barrier_wait(&ready);
	start_coroutine();
	use_kernel();
	lose();
	keep();
	leave_behind();
	/* glibc has a pointer to the rest of the heap: to the end of the last block. */
	in_zeroed[7] = (uintptr_t)malloc(1000);
}

static volatile uintptr_t *map(int flags, int fd)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static void serve(void)
{
	volatile uintptr_t kept = 0;
	char line[64];
	unsigned long work = 0;

	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		if (line[0] == 'm') {
			kept = site_main_stack(64);
			make();
		} else if (line[0] == 'f') {
			free((void *)~hidden);
			hidden = 0;
		} else if (line[0] == 's') {
			submit();
		} else if (line[0] == 'r') {
			reap();
		} else if (line[0] == 'v') {
			wait_in_vfork();
		} else if (line[0] == 'c') {
			wash();
			if (__lsan_do_recoverable_leak_check)
				__lsan_do_recoverable_leak_check();
			VALGRIND_DO_LEAK_CHECK;
		} else {
			work++;
		}
		wash();
		dprintf(STDOUT_FILENO, "{\"ok\": true, \"work\": %lu}\n", work);
	}
	if (!kept)
		abort();
}

int main(void)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), 4096))
		abort();
	in_shared = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	in_file = map(MAP_SHARED, fileno(file));
	in_sealed = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	older = calloc(1, 128);
	if (!older)
		abort();
	dprintf(STDOUT_FILENO, "{\"ready\": true}\n");
	serve();
	return 0;
}
