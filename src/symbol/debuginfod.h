/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names (debuginfod_find_debuginfo(3)).
 * The client library is loaded when it is first asked, which happens only after
 * --debuginfod: without that option memtrace never speaks to a network.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include <stdbool.h>

#include "symbol/debug_elf.h"

/* How long to wait for servers. */
struct debuginfod_wait {
	/* Asked every second or more often: true gives up, and asks no server any more.
	 * NULL: never. */
	bool (*is_late)(void *arg);
	void *arg;
};

/* The debug file of that build-id, open for reading; -1 when no URL is set, the library
 * is not installed, no server has it, or it is late. Else may take as long as
 * DEBUGINFOD_TIMEOUT says. */
int debuginfod_fetch(const struct build_id *id, const struct debuginfod_wait *wait);

#endif
