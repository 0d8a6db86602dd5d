/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that the kernel holds for a process, and gives back to it: the data of epoll
 * (fdinfo, Documentation/filesystems/proc.rst, section 3.8) and of timers
 * (/proc/PID/timers, proc_pid_timers(5)).
 */
#ifndef REACH_HELD_H
#define REACH_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "process/proc.h"
#include "reach/marks.h"

/*
 * Scan them, until `deadline_ns` (CLOCK_MONOTONIC). The process must be stopped. False:
 * not all could be read. *ret_rings: the process has rings of io_uring or AIO, whose
 * requests cannot be seen. `maps`: its mappings.
 */
bool reach_held_scan(int pid, const struct proc_maps *maps, uint64_t deadline_ns,
		     struct reach_marks *marks, bool *ret_rings);

#endif
