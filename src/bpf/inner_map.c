// SPDX-License-Identifier: Apache-2.0
#include "bpf/inner_map.h"

#include <string.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"

int inner_map_put(int outer, uint32_t index, int map)
{
	return sys_bpf_element(BPF_MAP_UPDATE_ELEM, outer, &index, &map);
}

int inner_map_open(int outer, uint32_t index)
{
	union bpf_attr attr;
	uint32_t id;
	int err = sys_bpf_element(BPF_MAP_LOOKUP_ELEM, outer, &index, &id);

	if (err)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.map_id = id;
	return sys_bpf(BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));
}
