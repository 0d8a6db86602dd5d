/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that are little more than a system call: where a call of one
 * is over, without a return probe.
 */
#ifndef PLAN_AFTER_SYSCALL_H
#define PLAN_AFTER_SYSCALL_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Longer functions are not looked at, bytes. */
#define AFTER_SYSCALL_MAX 512

/*
 * `code` is a whole function. The offset of an instruction that is executed whenever its
 * only system call has returned: the conditional jump that tests for an error, as the
 * kernel emulates jumps, or else the next instruction. 0: there is more than one system
 * call, or none, or no such instruction. x86-64; pure.
 */
size_t after_syscall(const uint8_t *code, size_t size);

/* Where a function of this name is in a file of the target. */
struct target_file;

struct syscall_function {
	uint64_t offset; /* in the file, bytes; 0: there is none, or it is not understood
			  */
	size_t after;    /* as after_syscall() says */
	uint8_t code[AFTER_SYSCALL_MAX];
	size_t size; /* of the code, bytes */
};

/* Fill in `ret`. Errors are those of elf_file_open_target(). */
struct error *syscall_function_find(const struct target_file *from, const char *name,
				    struct syscall_function *ret)
	__attribute__((warn_unused_result));

#endif
