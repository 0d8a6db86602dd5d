/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are nothing but a jump to another one. */
#ifndef PLAN_JUMP_H
#define PLAN_JUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * When the `size` bytes of code at `address` begin with a direct jump (after an endbr64
 * or bti), give where to: arguments and stack are then as the caller left them.
 */
bool jump_decode(const unsigned char *code, size_t size, uint64_t address, uint64_t *ret);

#endif
