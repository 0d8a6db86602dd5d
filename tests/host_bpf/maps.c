// SPDX-License-Identifier: Apache-2.0
/* Arrays and hashes of BPF programs (host_bpf.h). A value that was looked up in a hash
 * stays valid after it is deleted or replaced, as in the kernel (RCU). */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_bpf/storage.h"

static struct host_map *all_maps;

static struct host_map *first_map(void)
{
	return __atomic_load_n(&all_maps, __ATOMIC_ACQUIRE);
}

static uint32_t hash_at(const struct host_map *map, const void *key)
{
	const unsigned char *bytes = key;
	uint64_t h = 14695981039346656037u;

	for (uint32_t i = 0; i < map->key_bytes; i++)
		h = (h ^ bytes[i]) * 1099511628211u;
	return (uint32_t)(h >> 20) % HOST_CHAINS;
}

static void fail(const char *what)
{
	perror(what);
	abort();
}

/* Between the heap and the libraries; sanitizers leave it to programs. */
#define FIXED_ARRAYS UINT64_C(0x7ea000000000)
#define FIXED_MEMORY UINT64_C(0x7eb000000000)

static void *map_at(uint64_t address, size_t bytes, int flags, int fd)
{
	void *at = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
			flags | MAP_FIXED_NOREPLACE, fd, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

void *host_fixed_memory(size_t bytes)
{
	static size_t used;
	size_t at = used;

	if (!bytes) {
		if (used)
			munmap((void *)(uintptr_t)FIXED_MEMORY, used);
		used = 0;
		return NULL;
	}
	used += bytes;
	return map_at(FIXED_MEMORY + at, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static size_t array_bytes(const struct host_map *map)
{
	size_t bytes = map->count * host_map_stride(map);

	return (bytes + 4095) / 4096 * 4096;
}

static uint64_t next_array = FIXED_ARRAYS;

void host_map_register(struct host_map *map)
{
	const char *kind = map->kind_name;

	map->kind = strchr(kind, '$')        ? HOST_ARRAY_OF_MAPS
		    : !strcmp(kind, "array") ? HOST_ARRAY
		    : !strcmp(kind, "hash")  ? HOST_HASH
		    : !strcmp(kind, "ring")  ? HOST_RING
					     : HOST_LRU_HASH;
	map->storage = calloc(1, sizeof(*map->storage));
	map->fd = memfd_create(map->name, MFD_CLOEXEC);
	if (!map->storage || map->fd < 0)
		fail(map->name);
	pthread_mutex_init(&map->storage->lock, NULL);
	if (map->kind == HOST_ARRAY) {
		if (ftruncate(map->fd, (off_t)array_bytes(map)))
			fail(map->name);
		map->storage->array =
			map_at(next_array, array_bytes(map), MAP_SHARED, map->fd);
		next_array += array_bytes(map);
	}
	if (map->kind == HOST_ARRAY_OF_MAPS)
		map->storage->part = calloc(map->count, sizeof(*map->storage->part));
	/* Threads may look for other maps at the same time. */
	map->next = all_maps;
	__atomic_store_n(&all_maps, map, __ATOMIC_RELEASE);
}

int host_map_create(const char *name, uint32_t value_bytes, uint32_t count)
{
	struct host_map *map = calloc(1, sizeof(*map));

	if (!map)
		fail(name);
	*map = (struct host_map)HOST_MAP(map, "array", sizeof(uint32_t), value_bytes,
					 count);
	map->name = name;
	map->is_created = true;
	host_map_register(map);
	return map->fd;
}

void host_map_put(struct host_map *map, uint32_t at, int fd)
{
	__atomic_store_n(&map->storage->part[at], host_map_of(fd), __ATOMIC_RELEASE);
}

/* Only the first map is left. */
static void reset_parts(struct host_map *map)
{
	for (uint32_t i = 0; i < map->count; i++)
		map->storage->part[i] = NULL;
	map->storage->part[0] = host_map_find(strchr(map->kind_name, '$') + 1);
}

static void remove_created(void)
{
	for (struct host_map **at = &all_maps, *map; (map = *at);) {
		if (!map->is_created) {
			at = &map->next;
			continue;
		}
		*at = map->next;
		munmap(map->storage->array, array_bytes(map));
		free(map->storage);
		free(map);
	}
}

struct host_map *host_map_find(const char *name)
{
	for (struct host_map *map = first_map(); map; map = map->next)
		if (!strcmp(map->name, name))
			return map;
	return NULL;
}

struct host_map *host_map_of(int fd)
{
	for (struct host_map *map = first_map(); map; map = map->next)
		if (map->fd == fd)
			return map;
	return NULL;
}

static void free_chain(struct host_element *e)
{
	while (e) {
		struct host_element *next = e->next;

		free(e);
		e = next;
	}
}

static void settle(struct host_map *map)
{
	free_chain(map->storage->dead);
	map->storage->dead = NULL;
}

void host_maps_settle(void)
{
	for (struct host_map *map = all_maps; map; map = map->next)
		settle(map);
}

void host_maps_reset(void)
{
	remove_created();
	for (struct host_map *map = all_maps; map; map = map->next) {
		struct host_storage *s = map->storage;

		settle(map);
		for (int i = 0; i < HOST_CHAINS; i++) {
			free_chain(s->chain[i]);
			s->chain[i] = NULL;
		}
		s->used = 0;
		host_ring_clear(map);
		if (s->part)
			reset_parts(map);
		if (s->array && madvise(s->array, array_bytes(map), MADV_REMOVE))
			fail(map->name);
	}
}

size_t host_map_stride(const struct host_map *map)
{
	return (map->value_bytes + 7) & ~(size_t)7;
}

void *host_map_array(const struct host_map *map)
{
	return map->storage->array;
}

uint32_t host_map_used(struct host_map *map)
{
	pthread_mutex_lock(&map->storage->lock);
	uint32_t used = map->storage->used;

	pthread_mutex_unlock(&map->storage->lock);
	return used;
}

/* The link that leads to the element, or to the end of its chain. */
static struct host_element **find_link(struct host_map *map, const void *key)
{
	struct host_element **at = &map->storage->chain[hash_at(map, key)];

	while (*at && memcmp((*at)->bytes, key, map->key_bytes))
		at = &(*at)->next;
	return at;
}

static char *value_of(const struct host_map *map, struct host_element *e)
{
	return e->bytes + ((map->key_bytes + 7) & ~7u);
}

void *host_map_lookup(struct host_map *map, const void *key)
{
	host_point(map->name);
	if (map->kind == HOST_ARRAY) {
		uint32_t at;

		memcpy(&at, key, sizeof(at));
		return at < map->count ? map->storage->array + at * host_map_stride(map)
				       : NULL;
	}
	if (map->kind == HOST_ARRAY_OF_MAPS) {
		uint32_t at;

		memcpy(&at, key, sizeof(at));
		return at < map->count ? __atomic_load_n(&map->storage->part[at],
							 __ATOMIC_ACQUIRE)
				       : NULL;
	}
	pthread_mutex_lock(&map->storage->lock);
	struct host_element *e = *find_link(map, key);

	pthread_mutex_unlock(&map->storage->lock);
	return e ? value_of(map, e) : NULL;
}

bool host_map_has(struct host_map *map, const void *key)
{
	pthread_mutex_lock(&map->storage->lock);
	bool has = *find_link(map, key) != NULL;

	pthread_mutex_unlock(&map->storage->lock);
	return has;
}

/* Programs that looked the element up may still use it. */
static void unlink_element(struct host_map *map, struct host_element **link)
{
	struct host_element *e = *link;

	*link = e->next;
	e->next = map->storage->dead;
	map->storage->dead = e;
	map->storage->used--;
}

static void evict_one(struct host_map *map)
{
	for (int i = 0; i < HOST_CHAINS; i++) {
		if (map->storage->chain[i]) {
			unlink_element(map, &map->storage->chain[i]);
			return;
		}
	}
}

static int update_locked(struct host_map *map, const void *key, const void *value,
			 uint64_t exists)
{
	struct host_element **link = find_link(map, key), *fresh;

	if (*link && exists)
		return -EEXIST;
	if (!*link && map->storage->used >= map->count) {
		if (map->kind != HOST_LRU_HASH)
			return -E2BIG;
		evict_one(map);
	}
	fresh = calloc(1,
		       sizeof(*fresh) + ((map->key_bytes + 7) & ~7u) + map->value_bytes);
	if (!fresh)
		return -ENOMEM;
	memcpy(fresh->bytes, key, map->key_bytes);
	memcpy(value_of(map, fresh), value, map->value_bytes);
	link = find_link(map, key);
	if (*link)
		unlink_element(map, link);
	link = &map->storage->chain[hash_at(map, key)];
	fresh->next = *link;
	*link = fresh;
	map->storage->used++;
	return 0;
}

int host_map_update(struct host_map *map, const void *key, const void *value,
		    uint64_t exists)
{
	int err;

	host_point(map->name);
	pthread_mutex_lock(&map->storage->lock);
	err = update_locked(map, key, value, exists);
	pthread_mutex_unlock(&map->storage->lock);
	return err;
}

int host_map_delete(struct host_map *map, const void *key)
{
	struct host_element **link;
	int err = -ENOENT;

	host_point(map->name);
	pthread_mutex_lock(&map->storage->lock);
	link = find_link(map, key);
	if (*link) {
		unlink_element(map, link);
		err = 0;
	}
	pthread_mutex_unlock(&map->storage->lock);
	return err;
}

void *host_map_next(struct host_map *map, void *after, const void **key)
{
	struct host_storage *s = map->storage;
	bool is_after = !after;

	for (int i = 0; i < HOST_CHAINS; i++) {
		for (struct host_element *e = s->chain[i]; e; e = e->next) {
			if (is_after) {
				*key = e->bytes;
				return value_of(map, e);
			}
			is_after = value_of(map, e) == after;
		}
	}
	return NULL;
}
