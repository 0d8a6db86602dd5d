/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that never return. realloc of an unreadable address faults inside the call,
 * before it takes a lock or allocates. The signal handler leaves by siglongjmp or ends
 * the thread.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle.h"

static _Thread_local enum {
	FAULT_BUG,
	FAULT_JUMP,
	FAULT_EXIT,
	FAULT_PTHREAD_EXIT
} on_fault;
static _Thread_local sigjmp_buf fault_jump;

static void *volatile unreadable = (void *)16;

static void fault(int signal)
{
	(void)signal;
	switch (on_fault) {
	case FAULT_JUMP:
		siglongjmp(fault_jump, 1);
	case FAULT_EXIT:
		syscall(SYS_exit, 0);
		break;
	case FAULT_PTHREAD_EXIT:
		pthread_exit(NULL);
	case FAULT_BUG:
		break;
	}
	die("an unexpected fault");
}

void faults_install(void)
{
	struct sigaction action = {.sa_handler = fault};

	if (sigaction(SIGSEGV, &action, NULL))
		die("cannot handle faults");
}

__attribute__((noinline)) static void abandon(void)
{
	truth_abandon();
	on_fault = FAULT_JUMP;
	if (!sigsetjmp(fault_jump, 1))
		abandon_realloc(unreadable, 100);
	on_fault = FAULT_BUG;
}

/* Abandons a call deep in the stack: the next allocation is shallower. The frames
 * overwrite what earlier calls left there. */
__attribute__((noinline)) static void abandon_below(unsigned level)
{
	volatile char frame[256];

	memset((char *)frame, 0x55, sizeof(frame));
	if (level)
		abandon_below(level - 1);
	else
		abandon();
	__asm__ volatile("" : : "r"(frame) : "memory");
}

__attribute__((noinline)) static void *deeper(unsigned level)
{
	volatile char frame[256];
	void *address;

	memset((char *)frame, 0x66, sizeof(frame));
	address = level ? deeper(level - 1) : site_longjmp_deeper(70);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return address;
}

/* The buffer is not written: the abandoned call's frame stays on the stack below it. */
__attribute__((noinline)) static void *below_buffer(size_t size)
{
	char *buffer = alloca(size);
	void *address;

	__asm__ volatile("" : : "r"(buffer) : "memory");
	address = site_longjmp_buffer(80);
	__asm__ volatile("" : : "r"(buffer) : "memory");
	return address;
}

static void keep_new(unsigned thread, enum site site, void *address, size_t size)
{
	struct block block = new_block(site, address, size);

	keep_block(thread, &block);
}

/* The first allocation after each kind of jump is the one that a tracer easily loses. */
void scenario_longjmp(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks / 4; i++) {
		abandon_below(6);
		keep_new(thread, SITE_longjmp_shallower, site_longjmp_shallower(50), 50);
		abandon();
		keep_new(thread, SITE_longjmp_same, site_longjmp_same(60), 60);
		abandon();
		keep_new(thread, SITE_longjmp_deeper, deeper(6), 70);
		abandon();
		keep_new(thread, SITE_longjmp_buffer, below_buffer(4096), 80);
	}
}

struct short_life {
	pthread_t thread;
	struct block block;
	size_t number;
};

static void *short_thread(void *argument)
{
	struct short_life *life = argument;
	size_t size = life->number % 300;
	struct block gone = new_block(SITE_short_thread, site_short_thread(size), size);

	life->block = new_block(SITE_short_thread, site_short_thread(size), size);
	free_block(&gone);
	return NULL;
}

void die_in_call(void)
{
	truth_abandon();
	on_fault = FAULT_EXIT;
	abandon_realloc(unreadable, 100);
}

static void *dying_thread(void *argument)
{
	struct short_life *life = argument;

	truth_abandon();
	on_fault = life->number % 16 == 15 ? FAULT_PTHREAD_EXIT : FAULT_EXIT;
	abandon_realloc(unreadable, 100);
	return NULL;
}

/* Run `count` threads, `at_once` at a time. */
static void live_and_die(void *(*body)(void *), size_t count, unsigned at_once)
{
	static struct short_life lives[POOL_SIZE];

	for (size_t i = 0; i < count; i += at_once) {
		unsigned n = count - i < at_once ? (unsigned)(count - i) : at_once;

		for (unsigned t = 0; t < n; t++) {
			lives[t] = (struct short_life){.number = i + t};
			if (pthread_create(&lives[t].thread, NULL, body, &lives[t]))
				die("cannot start a thread");
		}
		for (unsigned t = 0; t < n; t++) {
			if (pthread_join(lives[t].thread, NULL))
				die("cannot join a thread");
			if (lives[t].block.address)
				keep_block(t, &lives[t].block);
		}
	}
}

void scenario_short_threads(size_t blocks, unsigned threads)
{
	live_and_die(short_thread, blocks, threads);
}

static void after_death(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++)
		keep_new(thread, SITE_after_death, site_after_death(i % 100), i % 100);
}

/* `blocks` threads die inside a call. Later threads are counted as before. */
void scenario_death(size_t blocks, unsigned threads)
{
	live_and_die(dying_thread, blocks, threads);
	live_and_die(short_thread, 100, threads);
	pool_run(after_death, threads, 1000);
}
