/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from uint64_t to uint64_t: open addressing with linear probing, at most half
 * full, 16 bytes a slot. Keys may come from the target (addresses, hashes of stacks),
 * so give hashmap_init() a seed that it cannot know: hashmap_seed().
 */
#ifndef UTIL_HASHMAP_H
#define UTIL_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashmap_slot {
	uint64_t key; /* 0: free; the key 0 itself lives in hashmap.zero */
	uint64_t value;
};

struct hashmap {
	struct hashmap_slot *slots;
	size_t cap; /* slots, a power of two, or 0 */
	size_t len; /* keys in the map, the key 0 included */
	uint64_t seed;
	struct hashmap_slot zero;
	bool has_zero;
};

/* A seed that nobody can guess; where the kernel has none to give, the maps are right and
 * only slower under attack. */
uint64_t hashmap_seed(void);

/* Make an empty map; it takes no memory before the first put. */
void hashmap_init(struct hashmap *map, uint64_t seed);

/* Release the storage; the map is empty afterwards and keeps its seed. */
void hashmap_deinit(struct hashmap *map);

/* Make room for `len` keys in all; false, with the map as it was, when memory is out. */
bool hashmap_reserve(struct hashmap *map, size_t len) __attribute__((warn_unused_result));

/* Find `key` and give its value; false, with *ret left alone, when it is not there.
 * `ret` may be NULL. */
bool hashmap_get(const struct hashmap *map, uint64_t key, uint64_t *ret);

/* Insert `key` or replace its value; false, with the map as it was, when memory is out.
 */
bool hashmap_put(struct hashmap *map, uint64_t key, uint64_t value)
	__attribute__((warn_unused_result));

/* The entry after `slot` (NULL: the first), or NULL at the end. The order is arbitrary.
 * Borrowed until the next put of a new key; values may be changed in place. */
struct hashmap_slot *hashmap_next(struct hashmap *map, const struct hashmap_slot *slot);

#define hashmap_foreach(it, map)                                                         \
	for (struct hashmap_slot *it = hashmap_next((map), NULL); it;                    \
	     it = hashmap_next((map), it))

#endif
