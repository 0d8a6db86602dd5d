// SPDX-License-Identifier: Apache-2.0
#include "util/hashmap.h"

#include <stdlib.h>
#include <sys/random.h>

#define CAP_MIN 16

/* The 64-bit finalizer of MurmurHash3 over the seeded key. The last shift is needed: it
 * lets high bits of the key influence the low bits, which select the slot. */
static uint64_t hash(uint64_t key, uint64_t seed)
{
	uint64_t h = key ^ seed;

	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

uint64_t hashmap_seed(void)
{
	uint64_t seed;

	/* Fall back to one of our addresses, which is also hard to guess. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)&seed;
	return seed;
}

void hashmap_init(struct hashmap *map, uint64_t seed)
{
	*map = (struct hashmap){.seed = seed};
}

void hashmap_deinit(struct hashmap *map)
{
	free(map->slots);
	hashmap_init(map, map->seed);
}

/* The slot with `key`, or the free slot where it belongs. A free slot always exists:
 * the map is at most half full. */
static struct hashmap_slot *find(struct hashmap_slot *slots, size_t cap, uint64_t seed,
				 uint64_t key)
{
	size_t at = hash(key, seed) & (cap - 1);

	while (slots[at].key && slots[at].key != key)
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

bool hashmap_reserve(struct hashmap *map, size_t len)
{
	size_t cap = map->cap ? map->cap : CAP_MIN;

	while (cap / 2 < len) {
		if (cap > SIZE_MAX / 2)
			return false;
		cap *= 2;
	}
	if (cap == map->cap)
		return true;

	struct hashmap_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].key)
			*find(slots, cap, map->seed, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	map->slots = slots;
	map->cap = cap;
	return true;
}

bool hashmap_get(const struct hashmap *map, uint64_t key, uint64_t *ret)
{
	const struct hashmap_slot *slot = &map->zero;

	if (!key) {
		if (!map->has_zero)
			return false;
	} else {
		if (!map->cap)
			return false;
		slot = find(map->slots, map->cap, map->seed, key);
		if (!slot->key)
			return false;
	}
	if (ret)
		*ret = slot->value;
	return true;
}

bool hashmap_put(struct hashmap *map, uint64_t key, uint64_t value)
{
	if (!key) {
		map->len += !map->has_zero;
		map->has_zero = true;
		map->zero.value = value;
		return true;
	}

	/* Replacing a value must not fail, so search before growing. */
	struct hashmap_slot *slot =
		map->cap ? find(map->slots, map->cap, map->seed, key) : NULL;

	if (!slot || !slot->key) {
		if (map->cap / 2 < map->len + 1) {
			if (!hashmap_reserve(map, map->len + 1))
				return false;
			slot = find(map->slots, map->cap, map->seed, key);
		}
		slot->key = key;
		map->len++;
	}
	slot->value = value;
	return true;
}
