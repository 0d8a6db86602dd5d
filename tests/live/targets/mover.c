// SPDX-License-Identifier: Apache-2.0
/*
 * Heaps that change without pause. Takes one argument:
 *
 *    steady   for ever, pausing before each round: allocate 100 blocks of 1000 bytes,
 *             free half of them
 *    grow     after a line: resize one block for ever, to 100 and 100000 bytes in turn
 *    move     like grow, but larger, and each growth moves the block
 *    hold     after a line: lose a block, and move an array with the only pointers
 *             to 100 others for ever
 *    maps     at each line one step: first make mappings, which mremap keeps or copies,
 *             and fail to unmap some; then unmap all of them
 *    rbp      at a line: allocate 10 blocks from a caller whose rbp is 0
 */
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "simple.h"

#define PAGE ((size_t)4096)

/* Keep the compiler from dropping an unused block. */
#define KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

static void fail(const char *why)
{
	if (write(STDERR_FILENO, why, strlen(why)) < 0)
		_exit(2);
	_exit(1);
}

void *site_steady(size_t size);
void *site_move(void *block, size_t size);
void *site_held(size_t size);
void *site_map(size_t size);
void *site_map_shared(size_t size);
void *site_keep_old(void *old, size_t size);
void *site_copy(void *old, size_t size);
void *site_no_rbp(size_t size);

__attribute__((noinline)) void *site_steady(size_t size)
{
	void *block = malloc(size);

	KEEP(block);
	return block;
}

static void steady(void)
{
	for (;;) {
		void *blocks[100];

		usleep(100000);
		for (int i = 0; i < 100; i++)
			blocks[i] = site_steady(1000);
		for (int i = 0; i < 50; i++)
			free(blocks[i]);
	}
}

__attribute__((noinline)) void *site_move(void *block, size_t size)
{
	void *moved = block ? realloc(block, size) : malloc(size);

	KEEP(moved);
	return moved;
}

static void grow(void)
{
	void *block = site_move(NULL, 100);

	say("{\"done\":\"work\"}\n");
	for (;;) {
		block = site_move(block, 100000);
		block = site_move(block, 100);
	}
}

/*
 * libc calls mmap for this block, and mremap to grow it. A page after its end, mapped by
 * a system call that no probe sees, makes mremap move it. The header of the block holds
 * the size of its mapping, with flags in the lowest bits.
 */
static void move(void)
{
	uint64_t *block = site_move(NULL, 300000);

	say("{\"done\":\"work\"}\n");
	for (;;) {
		block = site_move(block, 5000);

		char *end = (char *)(block - 2) + (block[-1] & ~(PAGE - 1));
		uintptr_t before = (uintptr_t)block;

		syscall(SYS_mmap, end, PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		block = site_move(block, 300000);
		syscall(SYS_munmap, end, PAGE);
		if ((uintptr_t)block == before)
			fail("the block did not move\n");
	}
}

__attribute__((noinline)) void *site_held(size_t size)
{
	void *block = malloc(size);

	KEEP(block);
	return block;
}

static void hold(void)
{
	/* It reads no input, whose end would end it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail("no signal at the end of the parent\n");

	/* free() overwrites what it gets, and all is in the heap of brk(2). */
	mallopt(M_PERTURB, 0x55);
	mallopt(M_MMAP_THRESHOLD, 1 << 25);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);

	void **array = site_move(NULL, 1000000);
	void *lost = site_steady(64);

	for (int i = 0; i < 100; i++)
		array[i] = site_held(64);
	lost = NULL;
	KEEP(lost);
	say("{\"done\":\"work\"}\n");
	for (;;) {
		void *wall;

		array = site_move(array, 600000);
		/* As large as what realloc() has cut off: it takes that place. */
		wall = malloc(399992);
		KEEP(wall);
		array = site_move(array, 1000000);
		free(wall);
	}
}

__attribute__((noinline)) void *site_map(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	KEEP(map);
	return map;
}

__attribute__((noinline)) void *site_map_shared(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	KEEP(map);
	return map;
}

__attribute__((noinline)) void *site_keep_old(void *old, size_t size)
{
	void *map = mremap(old, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	KEEP(map);
	return map;
}

__attribute__((noinline)) void *site_copy(void *old, size_t size)
{
	void *map = mremap(old, 0, size, MREMAP_MAYMOVE);

	KEEP(map);
	return map;
}

static void maps(void)
{
	static char *made[4];

	if (!made[0]) {
		made[0] = site_map(4 * PAGE);
		made[1] = site_map_shared(4 * PAGE);
		if (made[0] == MAP_FAILED || made[1] == MAP_FAILED)
			fail("cannot map\n");
		made[2] = site_keep_old(made[0], 4 * PAGE);
		made[3] = site_copy(made[1], 4 * PAGE);
		if (made[2] == MAP_FAILED || made[3] == MAP_FAILED)
			fail("cannot map again\n");
		if (!munmap(made[0] + 1, PAGE) || !munmap(made[1], 0))
			fail("munmap must fail\n");
		return;
	}
	for (int i = 0; i < 4; i++) {
		if (munmap(made[i], 4 * PAGE))
			fail("cannot unmap\n");
	}
}

/* rbp is 0, so nothing points to the caller's frame. */
__asm__(".text\n"
	".globl site_no_rbp\n"
	".type site_no_rbp, @function\n"
	"site_no_rbp:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call malloc@PLT\n"
	"	pop %rbp\n"
	"	ret\n"
	".size site_no_rbp, . - site_no_rbp\n");

static void no_rbp(void)
{
	for (int i = 0; i < 10; i++) {
		void *block = site_no_rbp(100);

		KEEP(block);
	}
}

int main(int argc, char *argv[])
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "steady"))
		steady();
	if (!strcmp(mode, "grow"))
		return serve(grow);
	if (!strcmp(mode, "move"))
		return serve(move);
	if (!strcmp(mode, "hold"))
		return serve(hold);
	if (!strcmp(mode, "maps"))
		return serve(maps);
	if (!strcmp(mode, "rbp"))
		return serve(no_rbp);
	return 2;
}
