/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with chosen kernel ids (/proc/sys/kernel/ns_last_pid, needs root): a new thread
 * with the id of one that died inside a call, and two threads at once whose ids have the
 * same low 16 bits.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle.h"

#define TRIES 64

struct chosen {
	pthread_t thread;
	unsigned number; /* pool thread that keeps its blocks */
	size_t blocks;
	_Atomic int tid;
	_Atomic int go; /* 0: wait, 1: work, -1: end at once */
	void (*work)(struct chosen *self);
};

static void *chosen_thread(void *argument)
{
	struct chosen *self = argument;

	self->tid = (int)syscall(SYS_gettid);
	while (!self->go)
		sched_yield();
	if (self->go > 0)
		self->work(self);
	return NULL;
}

static void start(struct chosen *self)
{
	self->tid = 0;
	self->go = 0;
	if (pthread_create(&self->thread, NULL, chosen_thread, self))
		die("cannot start a thread");
	while (!self->tid)
		sched_yield();
}

static void finish(struct chosen *self, int go)
{
	self->go = go;
	if (pthread_join(self->thread, NULL))
		die("cannot join a thread");
}

/* Start `self` as thread `tid`. False, and no thread, if the kernel chose another id. */
static bool start_as(struct chosen *self, int tid)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", tid - 1);
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	for (unsigned i = 0; i < TRIES; i++) {
		if (pwrite(fd, text, (size_t)length, 0) != length)
			break;
		start(self);
		if (self->tid == tid) {
			close(fd);
			return true;
		}
		finish(self, -1);
	}
	close(fd);
	return false;
}

static void die_inside(struct chosen *self)
{
	(void)self;
	die_in_call();
}

__attribute__((noinline)) static void *below(unsigned level)
{
	volatile char frame[512];
	void *address;

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = 0x77;
	address = level ? below(level - 1) : site_same_tid(90);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return address;
}

static void reborn(struct chosen *self)
{
	for (size_t i = 0; i < self->blocks; i++) {
		struct block block = new_block(SITE_same_tid, below(i % 8), 90);

		keep_block(self->number, &block);
	}
}

static void hammer(struct chosen *self)
{
	for (size_t i = 0; i < 2 * self->blocks; i++) {
		struct block block = new_block(SITE_same_slot, site_same_slot(i), i);

		if (i % 2)
			free_block(&block);
		else
			keep_block(self->number, &block);
	}
}

void scenario_tid_reuse(size_t blocks, unsigned threads)
{
	static struct chosen first, second;

	(void)threads;
	for (unsigned i = 0; i < 8; i++) {
		first = (struct chosen){.work = die_inside};
		start(&first);
		int tid = first.tid;
		finish(&first, 1);
		second = (struct chosen){.work = reborn, .blocks = blocks};
		if (!start_as(&second, tid)) {
			truth_note("thread ids cannot be chosen here");
			return;
		}
		finish(&second, 1);
	}

	first = (struct chosen){.work = hammer, .blocks = blocks};
	start(&first);
	second = (struct chosen){.work = hammer, .blocks = blocks, .number = 1};
	if (!start_as(&second, first.tid + 65536)) {
		truth_note("no thread id beyond 65536 here: kernel.pid_max");
		finish(&first, 1);
		return;
	}
	first.go = 1;
	finish(&second, 1);
	finish(&first, 1);
}
