// SPDX-License-Identifier: Apache-2.0
/* What it costs to find the part of a stack that is in use, if the stack is made to cost
 * much: each step down the stack finds a pointer to a word a little further down. */
#include "check.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "reach/stacks.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define STACK_BYTES ((size_t)8 << 20)
#define RED_ZONE    128
#define STEP        (RED_ZONE + sizeof(uint64_t))
#define PAGE        4096

static size_t reads;

/* Each read is said to take so long. */
static uint64_t read_ns, passed_ns;

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
			 const struct iovec *there, unsigned long there_count,
			 unsigned long flags);
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
			 const struct iovec *there, unsigned long there_count,
			 unsigned long flags)
{
	reads++;
	passed_ns += read_ns;
	return syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count,
		       flags);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int error = (int)syscall(SYS_clock_gettime, clock, ret);
	uint64_t ns = (uint64_t)ret->tv_nsec + passed_ns;

	ret->tv_sec += (time_t)(ns / 1000000000);
	ret->tv_nsec = (long)(ns % 1000000000);
	return error;
}

static _Alignas(PAGE) char stack[STACK_BYTES];

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)stack + offset;
}

/* A stack whose lowest word in use is found in steps of STEP bytes: at `lowest` from its
 * start, the multiple of STEP from the end that is returned. */
static size_t make_stairs(void)
{
	size_t step = STACK_BYTES - STEP;

	for (; step > 2 * STEP; step -= STEP)
		*(uint64_t *)(uintptr_t)at(step) = at(step) - sizeof(uint64_t);
	return step;
}

/* Cut the stack of a main thread with its stack pointer near the end. Returns the start
 * of what is left. */
static uint64_t cut(uint64_t deadline_ns)
{
	struct reach_thread thread = {.tid = getpid(),
				      .stack_pointer = at(STACK_BYTES - STEP) + RED_ZONE};
	struct reach_threads threads = {.pid = getpid()};
	struct proc_maps maps = {0};
	struct reach_regions regions = {0};
	uint64_t start;

	REQUIRE(vec_push(&threads.list, thread));
	REQUIRE(vec_push(&maps.mappings, (struct proc_mapping){.start = at(0),
							       .end = at(STACK_BYTES),
							       .path = (char *)"[stack]",
							       .readable = true,
							       .writable = true}));
	REQUIRE(vec_push(&regions.list,
			 (struct reach_region){.start = at(0), .end = at(STACK_BYTES)}));
	reads = 0;
	REQUIRE(!reach_stacks_cut(&threads, &maps, 0, deadline_ns, &regions));
	REQUIRE(regions.list.len == 1);
	start = regions.list.data[0].start;
	vec_deinit(&threads.list);
	vec_deinit(&maps.mappings);
	reach_regions_deinit(&regions);
	return start;
}

static void steps_are_not_read_one_by_one(void)
{
	size_t lowest = make_stairs();

	CHECK_INT(cut(UINT64_MAX) - at(0), lowest);
	CHECK(reads > 0 && reads <= STACK_BYTES / PAGE + 1);
}

static void one_stack_keeps_the_deadline(void)
{
	make_stairs();
	passed_ns = 0;
	read_ns = 1000000000;
	/* Three reads begin before it. The whole stack may be in use. */
	CHECK_INT(cut(clock_now_ns() + 5 * read_ns / 2), at(0));
	CHECK_INT(reads, 3);
	read_ns = 0;
}

/* Pages below those that are in use are not read: they may never have been written. */
static void a_shallow_stack_takes_one_read(void)
{
	memset(stack, 0, sizeof(stack));
	CHECK_INT(cut(UINT64_MAX), at(STACK_BYTES - STEP));
	CHECK_INT(reads, 1);
}

int main(void)
{
	RUN(steps_are_not_read_one_by_one);
	RUN(one_stack_keeps_the_deadline);
	RUN(a_shallow_stack_takes_one_read);
	return check_done();
}
