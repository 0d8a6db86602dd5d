/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from servers (symbol/debuginfod.h), fetched by a confined child, since
 * libcurl and its libraries parse data from the network. The child has no capabilities,
 * and may not inspect other processes.
 */
#ifndef SYMBOL_FETCHER_H
#define SYMBOL_FETCHER_H

#include <stdbool.h>

#include "util/error.h"

struct fetcher;

/* Start the child. `is_late` (may be NULL) is called every second during a request. If
 * it returns true the child is ended, and no more files are fetched. */
struct error *fetcher_create(bool (*is_late)(void *arg), void *arg, struct fetcher **ret)
	__attribute__((warn_unused_result));
void fetcher_destroy(struct fetcher *fetcher);

/* The debug file with this build-id (hex), open for reading; -1: no server has it, or
 * it came too late. The caller owns the descriptor. */
int fetcher_fetch(struct fetcher *fetcher, const char *build_id);

#endif
