// SPDX-License-Identifier: Apache-2.0
/* Pointers that only the kernel holds for a process: with a main thread, after its end,
 * and in rings. */
#include "check.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "unit/reach/arranged.h"

static int kept_epoll;

static void arrange_kernel(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	const struct itimerspec later = {.it_value.tv_sec = 1000};
	union sigval value;
	sigset_t blocked;
	timer_t timer;
	int ends[2];

	(void)unused;
	REQUIRE(pipe(ends) == 0);
	kept_epoll = epoll_create1(0);
	event.data.u64 = BLOCK(0);
	REQUIRE(epoll_ctl(kept_epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
	event.data.u64 = 0;
	notify.sigev_value.sival_ptr = (void *)(uintptr_t)BLOCK(1);
	REQUIRE(timer_create(CLOCK_MONOTONIC, &notify, &timer) == 0);
	REQUIRE(timer_settime(timer, 0, &later, NULL) == 0);
	memset(&notify, 0, sizeof(notify));
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	REQUIRE(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
	value.sival_ptr = (void *)(uintptr_t)BLOCK(2);
	REQUIRE(sigqueue(getpid(), SIGUSR2, value) == 0);
	value.sival_ptr = NULL;
	__asm__ volatile("" ::"r"(&event), "r"(&notify), "r"(&value) : "memory");
	wash();
}

static void pointers_that_the_kernel_holds(void)
{
	search(arrange_kernel);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

static void *arrange_kernel_apart(void *unused)
{
	arrange_kernel(unused);
	stay();
	return unused;
}

static void exit_main_thread(void)
{
	pthread_t thread;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	REQUIRE(!sigprocmask(SIG_BLOCK, &blocked, NULL));
	REQUIRE(!pthread_create(&thread, NULL, arrange_kernel_apart, NULL));
	wash();
	pthread_exit(NULL);
}

static void the_kernel_holds_after_the_main_thread(void)
{
	search_staying(exit_main_thread);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

static void set_up_aio(void *unused)
{
	aio_context_t context = 0;

	(void)unused;
	REQUIRE(!syscall(SYS_io_setup, 8, &context));
}

static void set_up_uring(void *unused)
{
	struct io_uring_params params = {.flags = 0};

	(void)unused;
	REQUIRE(syscall(SYS_io_uring_setup, 8, &params) >= 0);
}

/* The mapping stays without the descriptor. */
static void map_uring(void *unused)
{
	struct io_uring_params params = {.flags = 0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);

	(void)unused;
	REQUIRE(fd >= 0);
	REQUIRE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     IORING_OFF_SQ_RING) != MAP_FAILED);
	close(fd);
}

static bool has_uring(void)
{
	struct io_uring_params params = {.flags = 0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void rings_are_noticed(void)
{
	search(arrange_kernel);
	CHECK(!found_rings);
	search(set_up_aio);
	CHECK(found_rings);
	if (!has_uring()) {
		printf("no io_uring here: not tried\n");
		return;
	}
	search(set_up_uring);
	CHECK(found_rings);
	search(map_uring);
	CHECK(found_rings);
}

int main(void)
{
	RUN(pointers_that_the_kernel_holds);
	RUN(the_kernel_holds_after_the_main_thread);
	RUN(rings_are_noticed);
	return check_done();
}
