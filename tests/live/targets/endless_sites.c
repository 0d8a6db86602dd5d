/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls malloc from an address that has not called it before, again and again, so that
 * memtrace never has an unwind rule for it. argv[1] says how: "sites" steps through
 * millions of call sites, "maps" maps a new call site for each call. The next line on
 * stdin stops it for good, and is then answered.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "simple.h"

#define PAGE_BYTES 4096
#define SITES      4000000
#define SITE_BYTES 16
#define BURST      1000

typedef void *site_fn(void *(*allocate)(size_t size));

/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov $16,%edi; call *%rax; pop %rbp; ret */
static const uint8_t site_code[SITE_BYTES] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89,
					      0xf8, 0xbf, 0x10, 0x00, 0x00, 0x00,
					      0xff, 0xd0, 0x5d, 0xc3};

static uint8_t *map_code(size_t size)
{
	uint8_t *code = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		_exit(1);
	for (size_t at = 0; at + SITE_BYTES <= size; at += SITE_BYTES)
		memcpy(code + at, site_code, SITE_BYTES);
	if (mprotect(code, size, PROT_READ | PROT_EXEC))
		_exit(1);
	return code;
}

static void call(uint8_t *code)
{
	site_fn *site = (site_fn *)(uintptr_t)code;
	void *block = site(malloc);

	free(block);
}

static void call_new_mappings(void)
{
	for (int i = 0; i < BURST / 10; i++) {
		uint8_t *code = map_code(PAGE_BYTES);

		call(code);
		munmap(code, PAGE_BYTES);
	}
}

int main(int argc, char *argv[])
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	uint8_t *code = map_code((size_t)SITES * SITE_BYTES);
	size_t next = 0;

	say("{\"ready\":\"target\"}\n");
	while (poll(&in, 1, 0) == 0) {
		if (argc == 2 && !strcmp(argv[1], "maps")) {
			call_new_mappings();
			continue;
		}
		for (int i = 0; i < BURST; i++, next = (next + 1) % SITES)
			call(code + next * SITE_BYTES);
	}
	say("{\"done\":\"work\"}\n");
	for (;;)
		pause();
}
