/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled code that is kept from run to run, in a directory of root's own. Nothing in it
 * is trusted: an entry that is not root's own regular file of mode 0600, or that is not
 * whole, counts as if it were not there.
 */
#ifndef BPF_CACHE_H
#define BPF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/sha256.h"
#include "util/strbuf.h"

/* Where it is, if the environment variable does not name another directory. */
#define CACHE_PATH "/var/cache/memtrace"
#define CACHE_ENV  "MEMTRACE_CACHE"

/* What all entries may take: hundreds of kinds of runs. What was not used for the longest
 * time goes first. */
#define CACHE_BYTES (64u << 20)

struct cache {
	int dir;    /* a descriptor; -1: nothing is kept, and nothing is found */
	char *path; /* owned */
};

/* Stands for all that an entry depends on: the hash of it. */
struct cache_key {
	uint8_t hash[SHA256_BYTES];
};

/* The key of what depends on this text; false when the text is not whole. */
bool cache_key_make(const struct strbuf *text, struct cache_key *ret);

/*
 * Open it, and make it if it is not there. The error says why there is none; `cache` is
 * to be closed in either case.
 */
struct error *cache_open(struct cache *ret) __attribute__((warn_unused_result));
void cache_close(struct cache *cache);

/* What is kept by this key, *size bytes, which the caller frees; NULL when there is
 * nothing. */
void *cache_get(const struct cache *cache, const struct cache_key *key, size_t *size);

/* Keep it; at worst nothing is kept. */
void cache_put(const struct cache *cache, const struct cache_key *key, const void *bytes,
	       size_t size);

/* Forget it. */
void cache_drop(const struct cache *cache, const struct cache_key *key);

#endif
