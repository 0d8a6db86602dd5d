// SPDX-License-Identifier: Apache-2.0
#include "bpf/fenced_map.h"

#include <linux/bpf.h>
#include <stddef.h>

#include "bpf/syscall.h"

bool fenced_map_put(struct fenced_map *map, uint64_t key, const void *value)
{
	if (map->has_deleted && !fence_wait(map->fence))
		return false;
	map->has_deleted = false;
	return !sys_bpf_element(BPF_MAP_UPDATE_ELEM, map->fd, &key,
				(void *)(uintptr_t)value);
}

void fenced_map_delete(struct fenced_map *map, uint64_t key)
{
	(void)sys_bpf_element(BPF_MAP_DELETE_ELEM, map->fd, &key, NULL);
	map->has_deleted = true;
}

bool fenced_map_get(const struct fenced_map *map, uint64_t key, void *value)
{
	return !sys_bpf_element(BPF_MAP_LOOKUP_ELEM, map->fd, &key, value);
}
