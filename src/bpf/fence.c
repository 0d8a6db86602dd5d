// SPDX-License-Identifier: Apache-2.0
#include "bpf/fence.h"

#include <stdint.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/code_load.h"
#include "bpf/inner_map.h"

/* Create a map of one element. Returns -1 on failure. */
static int create_map(uint32_t type, int inner)
{
	const struct code_map map = {
		.name = "fence",
		.type = type,
		.key_bytes = sizeof(uint32_t),
		.value_bytes = sizeof(uint32_t),
		.entries = 1,
	};
	int fd;
	struct error *err = code_map_make(&map, inner, &fd);

	error_destroy(err);
	return err ? -1 : fd;
}

void fence_open(struct fence *ret)
{
	*ret = (struct fence){.outer = -1, .inner = -1};
	ret->inner = create_map(BPF_MAP_TYPE_ARRAY, -1);
	if (ret->inner >= 0)
		ret->outer = create_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, ret->inner);
}

void fence_close(struct fence *fence)
{
	(void)fence_end(fence);
	if (fence->outer >= 0)
		close(fence->outer);
	if (fence->inner >= 0)
		close(fence->inner);
	*fence = (struct fence){.outer = -1, .inner = -1};
}

bool fence_wait(const struct fence *fence)
{
	return fence->outer >= 0 && !inner_map_put(fence->outer, 0, fence->inner);
}

static void *wait_in_background(void *arg)
{
	struct fence *fence = arg;

	fence->has_failed = !fence_wait(fence);
	return NULL;
}

void fence_begin(struct fence *fence)
{
	fence->has_thread =
		!pthread_create(&fence->thread, NULL, wait_in_background, fence);
	if (!fence->has_thread)
		(void)wait_in_background(fence);
}

bool fence_end(struct fence *fence)
{
	if (fence->has_thread)
		pthread_join(fence->thread, NULL);
	fence->has_thread = false;
	return !fence->has_failed;
}

void fence_cut_off(struct fence *fence)
{
	if (fence->has_thread)
		(void)wait_in_background(fence);
	fence->has_thread = false;
}
