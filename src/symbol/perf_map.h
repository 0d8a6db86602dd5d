/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a JIT compiler made, from /tmp/perf-PID.map: lines of "START SIZE
 * NAME", hexadecimal numbers (tools/perf/Documentation/jit-interface.txt in the kernel).
 * The file lies in the target's root directory and has its pid in its own pid namespace.
 * It is hostile: a regular file, no symbolic link, that root or the target's user owns,
 * is read to at most 256 MiB and 4 million names, each byte once as long as the file only
 * grows.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct perf_map;

/* For the process `pid`, which must live. NULL when memory is out. Nothing is read before
 * a name is asked for. */
struct perf_map *perf_map_create(int pid);
void perf_map_destroy(struct perf_map *map);

/* Look whether the file is another one, or longer; true when it is, and was read before:
 * answers may be out of date. Cheap. The next search reads what is new, at most 64 MiB,
 * and the searches after it read nothing until this is called again. */
bool perf_map_changed(struct perf_map *map);

/* How many bytes a later search will read; 0: it is read to its end, or to the limit. */
uint64_t perf_map_left(const struct perf_map *map);

/* What is beyond the limits: lines, or bytes. 0: nothing. */
uint64_t perf_map_ignored(const struct perf_map *map);

/* The name of the code at `address`, NULL: none (or memory is out). Of code that lies
 * over other code it is the later line's. *ret_offset is the distance from its start.
 * Borrowed until the next call. */
const char *perf_map_find(struct perf_map *map, uint64_t address, uint64_t *ret_offset);

#endif
