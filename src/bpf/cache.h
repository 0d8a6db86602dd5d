/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of compiled code that persists between runs, in a directory that only root can
 * access. Its contents are not trusted: an entry is ignored unless it is a complete
 * regular file, owned by root, of mode 0600, which was stored under the same key. */
#ifndef BPF_CACHE_H
#define BPF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/sha256.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* The directory, unless the environment variable names another one. */
#define CACHE_PATH "/var/cache/memtrace"
#define CACHE_ENV  "MEMTRACE_CACHE"

/* Size limit of all entries together: hundreds of different runs fit. The entries unused
 * for longest are evicted first. */
#define CACHE_BYTES (64u << 20)

struct cache {
	int dir;    /* descriptor; -1: nothing is stored and nothing is found */
	char *path; /* owned */
	/* For -v: why entries that exist were not used, and why the first one that could
	 * not be stored was not (NULL: all were). */
	VEC(struct error *) ignored;
	struct error *unstored;
};

/* The hash of everything that an entry depends on. */
struct cache_key {
	uint8_t hash[SHA256_BYTES];
};

/* Make the key from a text with everything that the entry depends on. Returns false if
 * the text is incomplete (strbuf.failed). */
bool cache_key_make(const struct strbuf *text, struct cache_key *ret);

/* Open the cache; create the directory if it does not exist. On error the run has no
 * cache. The caller must call cache_close() in either case. */
struct error *cache_open(struct cache *ret) __attribute__((warn_unused_result));
void cache_close(struct cache *cache);

/* Get the entry of this key: *size bytes, which the caller frees. Returns NULL if there
 * is none. One that is not to be trusted is noted in cache->ignored. */
void *cache_get(struct cache *cache, const struct cache_key *key, size_t *size);

/* Note in cache->ignored that the entry is of no use. `why` follows the entry's path and
 * "is not used: ". */
void cache_ignore(struct cache *cache, const struct cache_key *key, const char *why);

/* Store an entry. On failure nothing is stored, and cache->unstored says why. */
void cache_put(struct cache *cache, const struct cache_key *key, const void *bytes,
	       size_t size);

/* Is there nothing in the cache? Does not create the directory. */
bool cache_is_empty(void);

/* Remove an entry. */
void cache_drop(const struct cache *cache, const struct cache_key *key);

#endif
