// SPDX-License-Identifier: Apache-2.0
/* The place after the system call of a small function. */
#include "check.h"

#include <stdlib.h>

#include "code/after_syscall.h"
#include "unit/random.h"

static size_t after(const char *code, size_t size)
{
	return after_syscall((const uint8_t *)code, size);
}

#define AFTER(code) after(code, sizeof(code) - 1)

static void the_jump_that_looks_for_an_error(void)
{
	/* mov eax, 25; syscall; cmp rax, -4096; ja +1; ret; int3 */
	CHECK_INT(AFTER("\xb8\x19\0\0\0\x0f\x05\x48\x3d\0\xf0\xff\xff\x77\x01\xc3\xcc"),
		  13);
	/* syscall; mov rdi, rax; jne +0; ret */
	CHECK_INT(AFTER("\x0f\x05\x48\x89\xc7\x75\0\xc3"), 5);
}

static void the_next_instruction(void)
{
	/* syscall; mov rdi, rax; ret */
	CHECK_INT(AFTER("\x0f\x05\x48\x89\xc7\xc3"), 2);
	/* syscall; ret */
	CHECK_INT(AFTER("\x0f\x05\xc3"), 2);
	/* The target is not on the path: syscall; jmp +2; jne +0; ret */
	CHECK_INT(AFTER("\x0f\x05\xeb\x02\x75\0\xc3"), 2);
}

static void unclear_code_has_no_such_place(void)
{
	CHECK_INT(AFTER(""), 0);
	CHECK_INT(AFTER("\xc3"), 0);
	CHECK_INT(AFTER("\x0f\x05"), 0);
	/* Two system calls: syscall; je +3; syscall; ret */
	CHECK_INT(AFTER("\x0f\x05\x74\x03\x0f\x05\xc3"), 0);
	/* An unknown instruction, before or after. */
	CHECK_INT(AFTER("\x06\x0f\x05\xc3"), 0);
	CHECK_INT(AFTER("\x0f\x05\xc3\x06"), 0);
}

/* Random bytes: the place must be after the system call and within the code. */
static void random_bytes(void)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 200000; i++) {
		size_t size = random_below(24);
		uint8_t *code = malloc(size ? size : 1);

		REQUIRE(code);
		for (size_t n = 0; n < size; n++)
			code[n] = (uint8_t)random_below(256);
		if (size > 4)
			memcpy(code + random_below((uint32_t)(size - 2)), "\x0f\x05", 2);

		size_t at = after_syscall(code, size);

		CHECK(at < size || !size);
		CHECK(!at || memmem(code, at, "\x0f\x05", 2));
		found += at != 0;
		free(code);
	}
	CHECK(found > 1000);
}

int main(void)
{
	RUN(the_jump_that_looks_for_an_error);
	RUN(the_next_instruction);
	RUN(unclear_code_has_no_such_place);
	RUN(random_bytes);
	return check_done();
}
