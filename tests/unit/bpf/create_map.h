/* SPDX-License-Identifier: Apache-2.0 */
/* BPF maps for tests. Without privileges the test is skipped. */
#ifndef TESTS_UNIT_BPF_CREATE_MAP_H
#define TESTS_UNIT_BPF_CREATE_MAP_H

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/syscall.h"
#include "check.h"

/* All return a descriptor, which the caller owns. */

static inline int create_map(union bpf_attr attr)
{
	int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd == -EPERM)
		check_skip("no BPF without privileges");
	REQUIRE(fd >= 0);
	return fd;
}

/* An array that can be mapped; `flags`: more flags. */
static inline int create_array(size_t value_bytes, uint32_t entries, uint32_t flags)
{
	return create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_ARRAY,
					   .key_size = sizeof(uint32_t),
					   .value_size = (uint32_t)value_bytes,
					   .max_entries = entries,
					   .map_flags = BPF_F_MMAPABLE | flags});
}

/* An array for `count` maps like `part`. */
static inline int create_array_of_maps(int part, uint32_t count)
{
	return create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
					   .key_size = sizeof(uint32_t),
					   .value_size = sizeof(uint32_t),
					   .max_entries = count,
					   .inner_map_fd = (uint32_t)part});
}

#endif
