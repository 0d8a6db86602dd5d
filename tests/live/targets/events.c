// SPDX-License-Identifier: Apache-2.0
/*
 * Executes the commands on stdin a known number of times, and answers with a line of
 * JSON: calls N, syscalls N, probes N (USDT), cpu MS (milliseconds by the kernel's clock
 * of the thread: three quarters in burn_most, the rest in burn_rest), touch N (pages).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "events.h"

unsigned short events_gated_semaphore __attribute__((section(".probes")));

/* Not inlined, and kept even without a visible caller. */
#define SITE __attribute__((noinline, used))

int work(int i);
SITE int work(int i)
{
	__asm__ volatile("" : "+r"(i));
	return i + 1;
}

int site_few(int n);
SITE int site_few(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += work(i);
	return sum;
}

int site_many(int n);
SITE int site_many(int n)
{
	int sum = 0;

	for (int i = 0; i < 3 * n; i++)
		sum += work(i);
	return sum;
}

void site_syscalls(long n);
SITE void site_syscalls(long n)
{
	/* In assembly, so that the system call is in this function, which has a frame. */
	for (long i = 0; i < n; i++) {
		long number = SYS_getppid;

		__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Takes much longer than the system call that reads the clock. Makes no call. */
#define SPIN()                                                                           \
	for (unsigned i = 0; i < 1000000; i++)                                           \
	__asm__ volatile("" : "+r"(i))

void burn_most(void);
SITE void burn_most(void)
{
	SPIN();
	SPIN();
	SPIN();
}

void burn_rest(void);
SITE void burn_rest(void)
{
	SPIN();
}

static void burn(uint64_t ms)
{
	uint64_t most_ns = 0, rest_ns = 0, at = cpu_ns(), end = at + ms * 1000000;

	while (at < end) {
		burn_most();
		uint64_t then = cpu_ns();

		burn_rest();
		most_ns += then - at;
		at = cpu_ns();
		rest_ns += at - then;
	}
	printf("{\"most_ns\":%" PRIu64 ",\"rest_ns\":%" PRIu64 "}\n", most_ns, rest_ns);
}

/* The page faults of the thread, from getrusage(2). */
static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

long site_touch(char *pages, size_t count);
SITE long site_touch(char *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((volatile char *)pages)[i * 4096] = 1;
	return faults();
}

static void touch(size_t count)
{
	char *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long before, after;

	if (pages == MAP_FAILED || madvise(pages, count * 4096, MADV_NOHUGEPAGE))
		abort();
	before = faults();
	after = site_touch(pages, count);
	munmap(pages, count * 4096);
	printf("{\"faults\":%ld}\n", after - before);
}

char *site_keep(size_t count);
SITE char *site_keep(size_t count)
{
	char *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, count * 4096, MADV_NOHUGEPAGE))
		abort();
	for (size_t i = 0; i < count; i++)
		((volatile char *)pages)[i * 4096] = 1;
	return pages;
}

void site_sbrk(long count);
SITE void site_sbrk(long count)
{
	if (sbrk(count * 4096) == (void *)-1)
		abort();
}

/* Makes mappings, unmaps a part of them and moves the rest; grows the heap three times
 * and shrinks it once. */
static void grow(size_t count)
{
	char *pages = site_keep(2 * count);

	if (munmap(pages, count * 4096) ||
	    mremap(pages + count * 4096, count * 4096, 3 * count * 4096,
		   MREMAP_MAYMOVE) == MAP_FAILED)
		abort();
	site_keep(count);
	for (int i = 0; i < 3; i++)
		site_sbrk((long)count);
	site_sbrk(-(long)count);
}

static void *in_thread(void *n)
{
	site_few((int)(intptr_t)n);
	return NULL;
}

static void run(const char *what, long n)
{
	pthread_t thread;

	if (!strcmp(what, "calls")) {
		site_few((int)n);
		site_many((int)n);
	} else if (!strcmp(what, "thread")) {
		if (pthread_create(&thread, NULL, in_thread, (void *)n))
			abort();
		pthread_join(thread, NULL);
	} else if (!strcmp(what, "syscalls")) {
		site_syscalls(n);
	} else if (!strcmp(what, "probes")) {
		int gated = 0;

		for (long i = 0; i < n; i++) {
			plain_probe((int)i);
			gated += gated_probe((int)i);
		}
		printf("{\"gated\":%d}\n", gated);
		return;
	} else if (!strcmp(what, "cpu")) {
		burn((uint64_t)n);
		return;
	} else if (!strcmp(what, "touch")) {
		touch((size_t)n);
		return;
	} else if (!strcmp(what, "grow")) {
		grow((size_t)n);
	} else {
		abort();
	}
	puts("{}");
}

int main(void)
{
	char line[64], what[32];
	long n;

	/* stdio's own buffer must not be allocated among the counted calls. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":%d}\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%31s %ld", what, &n) == 2)
			run(what, n);
	return 0;
}
