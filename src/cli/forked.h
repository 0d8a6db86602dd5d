/* SPDX-License-Identifier: Apache-2.0 */
/* Children that --follow-forks comes too late for. */
#ifndef CLI_FORKED_H
#define CLI_FORKED_H

#include <stdio.h>

#include "cli/options.h"
#include "target/children.h"
#include "util/error.h"

/*
 * With --follow-forks and --pid, find those that the processes have forked already: only
 * what is forked from now on is followed. Else there are none. `ret` is the caller's to
 * deinit.
 */
struct error *forked_find(const struct options *options, struct children *ret)
	__attribute__((warn_unused_result));

/* If there are any, say in one line how many, which (a few of them), and what to do. */
void forked_say(const struct children *children, FILE *out);

#endif
