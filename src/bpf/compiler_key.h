/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled code depends on, as one hash. */
#ifndef BPF_COMPILER_KEY_H
#define BPF_COMPILER_KEY_H

#include <stdbool.h>

#include "bpf/cache.h"
#include "bpf/headers.h"
#include "bpf/source.h"

/*
 * The source with its flags, memtrace itself, the kernel, and which libraries the
 * environment would have. The libraries themselves are told by code_is_current(). False
 * when it cannot be said: the headers are not our own, the kernel does not say which one
 * it is, or there is no memory.
 */
bool compiler_key(const struct source *source, const struct headers *headers,
		  struct cache_key *ret);

#endif
