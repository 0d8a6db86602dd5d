/* SPDX-License-Identifier: Apache-2.0 */
/* The maps in an array of maps (BPF_MAP_TYPE_ARRAY_OF_MAPS). */
#ifndef BPF_INNER_MAP_H
#define BPF_INNER_MAP_H

#include <stdint.h>

/* Put `map` into the array `outer`, in place of the map that was there. BPF programs can
 * use it at once. This returns when all programs that ran before have ended, after some
 * 10 ms (kernel/bpf/syscall.c, maybe_wait_bpf_programs()). Returns 0 or -errno. */
int inner_map_put(int outer, uint32_t index, int map);

/* Open the map that is there. The caller owns the descriptor. Returns -errno on failure,
 * -ENOENT if no map is there. */
int inner_map_open(int outer, uint32_t index);

#endif
