// SPDX-License-Identifier: Apache-2.0
#include "bpf/fence.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"

/* Create a map of one element. Returns -1 on failure. */
static int create_map(uint32_t type, int inner)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = attr.value_size = sizeof(uint32_t);
	attr.max_entries = 1;
	if (inner >= 0)
		attr.inner_map_fd = (uint32_t)inner;
	fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -1 : fd;
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
	uint32_t key = 0, inner = (uint32_t)fence->inner;

	return fence->outer >= 0 &&
	       !sys_bpf_element(BPF_MAP_UPDATE_ELEM, fence->outer, &key, &inner);
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
