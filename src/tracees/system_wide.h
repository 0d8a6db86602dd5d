/* SPDX-License-Identifier: Apache-2.0 */
/* System-wide tracing of one library (SCOPE_ALL): find the processes that map it. Only
 * for tracees*.c. */
#ifndef TRACEES_SYSTEM_WIDE_H
#define TRACEES_SYSTEM_WIDE_H

#include "tracees/tracees.h"

/* Did a process map the library? True if the file of `event` is the library. */
bool system_wide_uses(const struct tracees *tracees, const struct watch_event *event);

/* Is this the code of the library? */
bool system_wide_maps(const struct tracees *tracees, const struct proc_mapping *mapping);

/* Store in tracee->ranges where the process has mapped the library's code. */
struct error *system_wide_ranges(const struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

#endif
