/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that do little more than a system call: finds a place
 * after the system call, so that no return probe is needed.
 */
#ifndef CODE_AFTER_SYSCALL_H
#define CODE_AFTER_SYSCALL_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Bytes; longer functions are not examined. */
#define AFTER_SYSCALL_MAX 512

/*
 * Find an instruction that is executed each time the function's only system call has
 * returned. `code` is the whole function, x86-64. Returns the offset of the conditional
 * jump that tests for an error, because the kernel emulates jumps, or else of the
 * instruction after the system call. 0: the function has no or several system calls, or
 * no such instruction. Pure.
 */
size_t after_syscall(const uint8_t *code, size_t size);

/* A function of a file of the target, and the place after its system call. */
struct target_file;

struct syscall_function {
	uint64_t offset; /* file offset, bytes; 0: not found, or not understood */
	size_t after;    /* what after_syscall() returned */
	uint8_t code[AFTER_SYSCALL_MAX];
	size_t size; /* size of `code`, bytes */
};

/* Find the function `name` and fill in `ret`. Errors as for target_elf_open(). */
struct error *syscall_function_find(const struct target_file *from, const char *name,
				    struct syscall_function *ret)
	__attribute__((warn_unused_result));

#endif
