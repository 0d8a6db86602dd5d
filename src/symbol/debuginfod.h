/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names (debuginfod_find_debuginfo(3)).
 * The client library is loaded when it is first asked, which happens only after
 * --debuginfod: without that option memtrace never speaks to a network.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "symbol/debug_elf.h"

/* The debug file of that build-id, open for reading; -1 when no URL is set, the library
 * is not installed, or no server has it. May take as long as DEBUGINFOD_TIMEOUT says. */
int debuginfod_fetch(const struct build_id *id);

#endif
