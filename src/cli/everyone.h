/* SPDX-License-Identifier: Apache-2.0 */
/* All processes that map one library (SCOPE_ALL). Inside of tracees.c only. */
#ifndef CLI_EVERYONE_H
#define CLI_EVERYONE_H

#include "cli/tracees.h"

/* Is the event that of a process which maps the library? */
bool everyone_uses(const struct tracees *tracees, const struct watch_event *event);

/* Note where the process has mapped the library's code. */
struct error *everyone_ranges(const struct tracees *tracees, struct tracee *tracee)
	__attribute__((warn_unused_result));

#endif
