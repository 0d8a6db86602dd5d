// SPDX-License-Identifier: Apache-2.0
/*
 * A small program without shared libraries, built with glibc and with musl: it keeps
 * pointers to some of its blocks in its data, its thread-local data, its stacks and other
 * blocks, and loses the others. Each place has a function site_*, which allocates.
 * Commands on stdin: "make" allocates, "work" does something that takes an answer. The
 * answer is a line of JSON.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SITE  __attribute__((noinline, used))
#define LARGE ((size_t)400 << 10) /* in a mapping of its own */

#define DEFINE_SITE(name)                                                                \
	volatile uintptr_t *site_##name(size_t size);                                    \
	SITE volatile uintptr_t *site_##name(size_t size)                                \
	{                                                                                \
		void *block = calloc(1, size);                                           \
                                                                                         \
		if (!block)                                                              \
			abort();                                                         \
		return block;                                                            \
	}

DEFINE_SITE(data)
DEFINE_SITE(zeroed)
DEFINE_SITE(tls)
DEFINE_SITE(thread_tls)
DEFINE_SITE(key)
DEFINE_SITE(main_stack)
DEFINE_SITE(thread_stack)
DEFINE_SITE(mapping)
DEFINE_SITE(large)
DEFINE_SITE(in_large)
DEFINE_SITE(chained)
DEFINE_SITE(neighbour)
DEFINE_SITE(freed)
DEFINE_SITE(lost)
DEFINE_SITE(lost_large)
DEFINE_SITE(list_head)
DEFINE_SITE(list_rest)

static volatile uintptr_t *volatile in_data[4] = {(volatile uintptr_t *)&in_data};
static volatile uintptr_t *volatile in_zeroed[8];
static __thread volatile uintptr_t *volatile in_tls[4];
static volatile uintptr_t *volatile *in_mapping;
static pthread_barrier_t ready;

/* Overwrites what earlier calls have left on the stack and in registers. */
static SITE void wash(void)
{
	volatile uintptr_t used[4096];

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		used[i] = 0;
	__asm__ volatile("" ::: "memory");
}

static void *hold(void *unused)
{
	volatile uintptr_t *volatile kept = site_thread_stack(64);

	(void)unused;
	in_tls[1] = site_thread_tls(64);
	wash();
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return (void *)kept;
}

static SITE void lose(void)
{
	volatile uintptr_t *list = NULL;

	for (int i = 0; i < 3; i++)
		(void)site_lost(100);
	(void)site_lost_large(LARGE);
	for (int i = 0; i < 5; i++) {
		volatile uintptr_t *block = site_list_rest(32);

		block[0] = (uintptr_t)list;
		list = block;
	}
	site_list_head(48)[1] = (uintptr_t)list;
}

static SITE void keep(void)
{
	static pthread_key_t key;
	volatile uintptr_t *gone, *data = site_data(64);

	in_data[1] = data;
	data[5] = (uintptr_t)site_chained(64);
	in_zeroed[1] = site_zeroed(64);
	in_tls[0] = site_tls(64);
	if (pthread_key_create(&key, NULL) ||
	    pthread_setspecific(key, (void *)site_key(64)))
		abort();
	in_mapping[100] = site_mapping(64);
	in_zeroed[2] = site_large(LARGE);
	in_zeroed[2][LARGE / sizeof(uintptr_t) - 1] = (uintptr_t)site_in_large(64);
	/* A free block among others: in a page with live blocks. */
	in_zeroed[3] = site_neighbour(96);
	gone = calloc(1, 96);
	if (!gone)
		abort();
	in_zeroed[4] = site_neighbour(96);
	gone[7] = (uintptr_t)site_freed(64);
	free((void *)gone);
	/* glibc has a pointer to the rest of the heap: to the end of the last block. */
	in_zeroed[5] = malloc(1000);
}

static SITE void make(void)
{
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&thread, NULL, hold, NULL))
		abort();
	pthread_barrier_wait(&ready);
	lose();
	keep();
}

static SITE void serve(void)
{
	volatile uintptr_t *volatile kept = NULL;
	char line[64];

	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		if (line[0] == 'm') {
			kept = site_main_stack(64);
			make();
		}
		wash();
		dprintf(STDOUT_FILENO, "{\"ok\": true}\n");
	}
	if (!kept)
		abort();
}

int main(void)
{
	in_mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (in_mapping == MAP_FAILED)
		abort();
	dprintf(STDOUT_FILENO, "{\"ready\": true}\n");
	serve();
	return 0;
}
