/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from servers (symbol/debuginfod.h), fetched by a confined child, since
 * libcurl and its libraries parse data from the network. The child has no capabilities,
 * is not root's, and may not inspect other processes.
 */
#ifndef SYMBOL_FETCHER_H
#define SYMBOL_FETCHER_H

#include <stdint.h>

#include "util/error.h"

struct fetcher;

struct fetcher_options {
	/* Directory for fetched files; borrowed. The child's user (shed_user()) can write
	 * there. -1: the directory that libdebuginfod chooses. */
	int cache;
	/* As in confined_options. Once it is late, no more files are fetched. */
	uint64_t (*stopping_ns)(void *arg);
	void *stopping_arg;
	/* Prints a line to the user; without newline. May be NULL. */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

/* Start the child. */
struct error *fetcher_create(const struct fetcher_options *options, struct fetcher **ret)
	__attribute__((warn_unused_result));
void fetcher_destroy(struct fetcher *fetcher);

/* The debug file with this build-id (hex), open for reading; -1: no server has it, or
 * it came too late. The caller owns the descriptor. */
int fetcher_fetch(struct fetcher *fetcher, const char *build_id);

#endif
