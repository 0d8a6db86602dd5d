// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose second thread alone has a seccomp filter. The filter kills the process
 * for each system call except clock_nanosleep(2). It executes commands on
 * stdin and answers each with a line of JSON: calls N (the main thread calls work() and
 * free() N times), thread N (the second thread does), confine (the second thread gets its
 * filter), dispatch (syscall user dispatch is on during the second thread's calls).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONFINE  (-1)
#define DISPATCH (-2)

/* prctl(2). Some libcs lack these names. */
#define SET_SYSCALL_USER_DISPATCH 59
#define DISPATCH_ON               1
#define DISPATCH_ALLOW            0
#define DISPATCH_BLOCK            1

int work(int i);
__attribute__((noinline, used)) int work(int i)
{
	__asm__ volatile("" : "+r"(i));
	return i + 1;
}

int site_calls(int n);
__attribute__((noinline, used)) int site_calls(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		void *volatile block = malloc(100);

		sum += work(i);
		free(block);
	}
	return sum;
}

static void confine(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

/* Syscall user dispatch: the kernel reads it at each system call of the second thread. */
static volatile char selector;

static void begin_dispatch(void)
{
	if (prctl(SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, 0, 0, &selector))
		_exit(2);
}

/* Number of calls or command for the second thread; 0: it is done. */
static int todo;

static void nap(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL);
}

static void *second(void *arg)
{
	/* The thread's heap must exist before the filter. */
	site_calls(1);
	for (;; nap()) {
		int n = __atomic_load_n(&todo, __ATOMIC_ACQUIRE);

		if (n == CONFINE) {
			confine();
		} else if (n == DISPATCH) {
			begin_dispatch();
		} else {
			selector = DISPATCH_BLOCK;
			site_calls(n);
			selector = DISPATCH_ALLOW;
		}
		__atomic_compare_exchange_n(&todo, &n, 0, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	}
	return arg;
}

static void let_second(int n)
{
	__atomic_store_n(&todo, n, __ATOMIC_RELEASE);
	while (__atomic_load_n(&todo, __ATOMIC_ACQUIRE))
		nap();
}

int main(void)
{
	char line[64], what[32];
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pthread_create(&thread, NULL, second, NULL))
		return 1;
	printf("{\"ready\":%d}\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		int n = 0;

		if (sscanf(line, "%31s %d", what, &n) < 1)
			continue;
		if (!strcmp(what, "calls"))
			site_calls(n);
		else if (!strcmp(what, "thread"))
			let_second(n);
		else if (!strcmp(what, "confine"))
			let_second(CONFINE);
		else if (!strcmp(what, "dispatch"))
			let_second(DISPATCH);
		else
			return 1;
		puts("{}");
	}
	return 0;
}
