/* SPDX-License-Identifier: Apache-2.0 */
/* System-wide tracing of one library (SCOPE_ALL): find the processes that map it. Only
 * for tracees*.c. */
#ifndef CLI_EVERYONE_H
#define CLI_EVERYONE_H

#include "cli/tracees.h"

/* Did a process map the library? True if the file of `event` is the library. */
bool everyone_uses(const struct tracees *tracees, const struct watch_event *event);

/* Store in tracee->ranges where the process has mapped the library's code. */
struct error *everyone_ranges(const struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

#endif
