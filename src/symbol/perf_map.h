/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a JIT compiler made, from /tmp/perf-PID.map: lines of "START SIZE
 * NAME", hexadecimal numbers (tools/perf/Documentation/jit-interface.txt in the kernel).
 * The file lies in the target's root directory, and PID is the pid in the target's own
 * pid namespace. It is hostile: docs/security.md, "Files" and "Size", says which one is
 * read and how much.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct perf_map;

/* Create the map for the running process `pid`. NULL when out of memory. The file is
 * read at the first perf_map_find(). */
struct perf_map *perf_map_create(int pid);
void perf_map_destroy(struct perf_map *map);

/* Check whether the file was replaced or has grown. True if so and it was read before,
 * so that earlier answers may be out of date. Cheap. The next perf_map_find() reads at
 * most 64 MiB of new text; further ones read nothing until this is called again. */
bool perf_map_changed(struct perf_map *map);

/* How many bytes are still to be read by later searches; 0: none, up to the limit. */
uint64_t perf_map_left(const struct perf_map *map);

/* How much of the file is ignored beyond the limits, in lines or bytes. 0: nothing. */
uint64_t perf_map_ignored(const struct perf_map *map);

/* The name of the code at `address`; NULL: none, or out of memory. If code overlaps,
 * the later line wins. *ret_offset is the distance from the start of the code. Borrowed
 * until the next call. */
const char *perf_map_find(struct perf_map *map, uint64_t address, uint64_t *ret_offset);

#endif
