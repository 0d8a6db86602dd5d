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

/*
 * Bounds. One file may take DEBUGINFOD_MAXTIME (libdebuginfod's variable, debuginfod
 * client config), or FETCHER_FILE_S if that is not set; all files of one report twice
 * that time. FETCHER_LATE_MAX files that took too long end all fetching. So does a child
 * that does not keep to its time, which is killed.
 */
#define FETCHER_FILE_S   60
#define FETCHER_LATE_MAX 3

/* The largest file, and all files of a run together. A smaller DEBUGINFOD_MAXSIZE is
 * respected. */
#define FETCHER_FILE_BYTES (UINT64_C(4) << 30)
#define FETCHER_RUN_BYTES  (UINT64_C(16) << 30)

struct fetcher_options {
	/* Directory for fetched files; borrowed. The child's user (shed_user()) can write
	 * there. -1: the directory that libdebuginfod chooses. */
	int cache;
	uint64_t file_bytes; /* 0: FETCHER_FILE_BYTES */
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

/* A report begins: the time for its files starts anew. */
void fetcher_begin_report(struct fetcher *fetcher);

/* The debug file with this build-id (hex), open for reading; -1: no server has it, or
 * it could not be fetched, which fetcher_lost() counts. The caller owns the descriptor.
 */
int fetcher_fetch(struct fetcher *fetcher, const char *build_id);

/* How many files could not be fetched since the last call, as far as libdebuginfod
 * distinguishes them from files that no server has. *ret_why is the reason for the last
 * one, valid until the next call. */
unsigned fetcher_lost(struct fetcher *fetcher, const char **ret_why);

#endif
