/* SPDX-License-Identifier: Apache-2.0 */
/* One hash of all inputs that determine the compiled code. */
#ifndef COMPILE_COMPILER_KEY_H
#define COMPILE_COMPILER_KEY_H

#include <stdbool.h>

#include "bpf/cache.h"
#include "compile/headers.h"
#include "compile/source.h"

/*
 * Compute the hash of the source, its flags and headers, the kernel, and the environment
 * variables that make the dynamic linker load other libraries. (code_is_current()
 * compares the libraries themselves.) Returns false if the code cannot be cached: the
 * headers are not embedded in the binary, the kernel cannot be identified, or there is no
 * memory.
 */
bool compiler_key(const struct source *source, const struct headers *headers,
		  struct cache_key *ret);

#endif
