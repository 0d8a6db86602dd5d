/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled code depends on, as one hash. */
#ifndef BPF_COMPILER_KEY_H
#define BPF_COMPILER_KEY_H

#include <stdbool.h>

#include "bpf/cache.h"
#include "bpf/headers.h"
#include "bpf/source.h"

/*
 * The hash of the source, its flags and headers, the kernel, and the environment
 * variables by which other libraries would be loaded. (code_is_current() compares the
 * libraries themselves.) False when the code cannot be kept: the headers do not travel in
 * the binary, the kernel does not say which one it is, or there is no memory.
 */
bool compiler_key(const struct source *source, const struct headers *headers,
		  struct cache_key *ret);

#endif
