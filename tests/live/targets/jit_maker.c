// SPDX-License-Identifier: Apache-2.0
/*
 * A program like a JIT compiler: it writes code, calls it once and frees it, again and
 * again. Each piece of code is at an address that had no code before. It calls a function
 * that allocates a block and frees it. Commands, one on each line, answered by a line:
 *
 *    free N   N pieces; a page is unmapped after its last piece
 *    leave N  N pieces in pages that stay mapped: the kernel reports no free
 *    keep N   one piece, which allocates N blocks of 48 bytes and keeps them
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simple.h"

#define PAGE        4096
#define PIECE_BYTES 64
#define SPACE_BYTES (1ul << 32)

/* Sleep after so many pieces, so that other threads can run. */
#define PIECES_AT_ONCE 20

#define NOINLINE       __attribute__((noinline))

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static char *next;
static void *volatile last;
static volatile unsigned sink;
static long keep_count;

NOINLINE static void site_passing(void)
{
	last = malloc(32);
	free(last);
	sink++;
}

NOINLINE static void site_kept(void)
{
	for (long i = 0; i < keep_count; i++)
		last = malloc(48);
	sink++;
}

NOINLINE static void call_piece(char *at, void (*callback)(void))
{
	void (*piece)(void (*)(void)) = NULL;

	memcpy(&piece, &at, sizeof(piece));
	piece(callback);
	sink++;
}

/* Maps a page of pieces at an address that had no code before. */
static char *make_page(void)
{
	char *at = next;

	next += PAGE;
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		exit(3);
	for (int i = 0; i < PAGE; i += PIECE_BYTES)
		memcpy(at + i, code, sizeof(code));
	return at;
}

static void run(long count, int frees, void (*callback)(void))
{
	char *page = NULL;

	for (long i = 0; i < count; i++) {
		long in_page = i % (PAGE / PIECE_BYTES);

		if (!in_page) {
			if (page && frees)
				munmap(page, PAGE);
			page = make_page();
		}
		call_piece(page + in_page * PIECE_BYTES, callback);
		if (i % PIECES_AT_ONCE == 0)
			usleep(500);
	}
}

int main(void)
{
	char line[64];
	size_t len = 0;

	next = mmap(NULL, SPACE_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (next == MAP_FAILED)
		return 2;
	say("{\"ready\":\"target\"}\n");
	while (read(STDIN_FILENO, line + len, 1) == 1) {
		if (line[len] != '\n') {
			len += len < sizeof(line) - 2;
			continue;
		}
		line[len] = '\0';
		len = 0;
		if (!strncmp(line, "free ", 5))
			run(atol(line + 5), 1, site_passing);
		if (!strncmp(line, "leave ", 6))
			run(atol(line + 6), 0, site_passing);
		if (!strncmp(line, "keep ", 5)) {
			keep_count = atol(line + 5);
			run(1, 0, site_kept);
		}
		say("{\"done\":1}\n");
	}
	return 0;
}
