/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from servers (symbol/debuginfod.h), fetched by a confined child: libcurl
 * and what it loads read what servers send. The child has no capabilities, and may not
 * look at other processes.
 */
#ifndef SYMBOL_FETCHER_H
#define SYMBOL_FETCHER_H

#include <stdbool.h>

#include "util/error.h"

struct fetcher;

/* Start the child. `is_late` (may be NULL) is asked every second while it is at work;
 * true ends it, and nothing is fetched from then on. */
struct error *fetcher_create(bool (*is_late)(void *arg), void *arg, struct fetcher **ret)
	__attribute__((warn_unused_result));
void fetcher_destroy(struct fetcher *fetcher);

/* The debug file of this build-id (hex), open for reading; -1: no server has it, or it is
 * late. The descriptor is the caller's. */
int fetcher_fetch(struct fetcher *fetcher, const char *build_id);

#endif
