// SPDX-License-Identifier: Apache-2.0
/*
 * A program with a seccomp filter that kills it for each system call except those that it
 * needs to allocate, to read, to write and to exit. It allocates in all ways. It calls
 * malloc before it installs the filter: the first call reads random bytes.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "answer.h"

#define ROUNDS 2000
/* Multiples of 1600: of 64, for aligned_alloc(), and of 100. */
#define SMALL (20 * 1600)
#define LARGE (3000 * 1600) /* malloc maps such a block separately */
/* If the number matches, jump to the last statement. */
#define ALLOW(name, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, left, 0)

static void confine(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read, 8),
		ALLOW(write, 7),
		ALLOW(exit, 6),
		ALLOW(exit_group, 5),
		ALLOW(brk, 4),
		ALLOW(mmap, 3),
		ALLOW(munmap, 2),
		ALLOW(rt_sigreturn, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

static uint64_t sum = 1;

/* Writes to the whole block and adds up its bytes. */
static void *used(void *block, size_t size)
{
	unsigned char *bytes = counted(block, size);

	if (!bytes)
		_exit(3);
	for (size_t i = 0; i < size; i += 97)
		bytes[i] += (unsigned char)(i + sum);
	for (size_t i = 0; i < size; i += 97)
		sum = sum * 31 + bytes[i];
	return block;
}

static void *cleared(void *block, size_t size)
{
	return block ? memset(block, 0, size) : NULL;
}

/* Resizes a block. The caller frees the result, so the old block counts as freed. */
static void *renewed(void *old, size_t size)
{
	COUNT(frees);
	return realloc(old, size);
}

static void *renewed_array(void *old, size_t size)
{
	COUNT(frees);
	return reallocarray(old, size / 100, 100);
}

static void allocate(size_t size)
{
	void *blocks[8];

	blocks[0] = used(cleared(malloc(size), size), size);
	blocks[1] = used(calloc(size / 100, 100), size);
	blocks[2] = used(calloc(1, size), size);
	blocks[3] = used(calloc(1, size), size);
	/* mremap() would move larger blocks, and the filter forbids it. */
	if (size < LARGE) {
		blocks[2] = used(renewed(blocks[2], size + 100), size + 100);
		blocks[3] = used(renewed_array(blocks[3], size - 200), size - 200);
	}
	if (posix_memalign(&blocks[4], 4096, size))
		blocks[4] = NULL;
	used(cleared(blocks[4], size), size);
	blocks[5] = used(cleared(aligned_alloc(64, size), size), size);
	blocks[6] = used(cleared(memalign(256, size), size), size);
	blocks[7] = used(cleared(valloc(size), size), size);
	for (int i = 0; i < 8; i++)
		counted_free(blocks[i]);
}

static void work(char *line, size_t size)
{
	confine();
	for (size_t i = 0; i < ROUNDS; i++)
		allocate(i % 200 ? SMALL + i % 10 * 1600 : LARGE);
	snprintf(line, size, "confined, sum %llu", (unsigned long long)sum);
}

/* Checks that the filter does kill the process. */
static void forbidden(char *line, size_t size)
{
	confine();
	getppid();
	snprintf(line, size, "not killed");
}

int main(int argc, char *argv[])
{
	static const struct work works[] = {
		{"confined", work}, {"forbidden", forbidden}, {NULL, NULL}};

	return answer(works, argc, argv);
}
