/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from uint64_t to uint64_t: open addressing with linear probing, at most half
 * full, 16 bytes per slot. The target may choose keys (addresses, hashes of stacks), so
 * give hashmap_init() a seed that it cannot know: hashmap_seed().
 *
 * No packaged library fits: hash functions of GLib and uthash get no seed of the map,
 * GLib aborts when memory is out, and uthash adds 56 bytes to each key.
 */
#ifndef UTIL_HASHMAP_H
#define UTIL_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashmap_slot {
	uint64_t key; /* 0: free; the key 0 is stored in hashmap.zero */
	uint64_t value;
};

struct hashmap {
	struct hashmap_slot *slots;
	size_t cap; /* number of slots, a power of two, or 0 */
	size_t len; /* number of keys, including the key 0 */
	uint64_t seed;
	struct hashmap_slot zero;
	bool has_zero;
};

/* An unpredictable seed. If the kernel has no random bytes yet the seed is weak: maps
 * still work, but an attacker could make them slow. */
uint64_t hashmap_seed(void);

/* Initialize an empty map. It allocates nothing before the first put. */
void hashmap_init(struct hashmap *map, uint64_t seed);

/* Free the storage. The map is then empty and keeps its seed. */
void hashmap_deinit(struct hashmap *map);

/* Make room for `len` keys in total. False: memory is out, and the map is unchanged. */
bool hashmap_reserve(struct hashmap *map, size_t len) __attribute__((warn_unused_result));

/* Find `key` and store its value in *ret (may be NULL). False: not found, and *ret is
 * unchanged. */
bool hashmap_get(const struct hashmap *map, uint64_t key, uint64_t *ret);

/* Insert `key` or replace its value. False: memory is out, and the map is unchanged. */
bool hashmap_put(struct hashmap *map, uint64_t key, uint64_t value)
	__attribute__((warn_unused_result));

#endif
