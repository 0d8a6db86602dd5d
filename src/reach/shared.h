/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of a shared mapping have memory. The end of its file may come before the
 * end of the mapping, and a file in memory (tmpfs, memfd_create(2), shared anonymous
 * memory) has holes where no process has written. To read a hole would make the kernel
 * allocate memory, and charge it to the target.
 */
#ifndef REACH_SHARED_H
#define REACH_SHARED_H

#include <stdbool.h>

#include "process/proc.h"
#include "reach/memory.h"

/* Add the parts of a mapping of the thread's process to `regions`: all of it if memtrace
 * may not look at its file, or if there are too many parts. False: memory is out. */
bool reach_shared_add(int tid, const struct proc_mapping *mapping,
		      struct reach_regions *regions) __attribute__((warn_unused_result));

#endif
