/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_FREED_MEMORY_H
#define UTIL_FREED_MEMORY_H

/*
 * Let malloc keep freed memory instead of returning it to the kernel (mallopt(3)), for a
 * process that soon needs as much again: otherwise the page faults of a large snapshot
 * take longer than the snapshot itself. malloc_trim() still returns it.
 */
void freed_memory_keep(void);

#endif
