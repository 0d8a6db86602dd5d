/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names
 * (debuginfod_find_debuginfo(3)). The client library is loaded at the first request,
 * and requests are made only with --debuginfod: without that option memtrace never uses
 * the network.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "dwarf/debug_elf.h"

/* The debug file with that build-id, open for reading, or a negative errno value.
 * -ENOENT: no URL is set, the library is not installed, or no server has the file. The
 * library ends it after DEBUGINFOD_MAXTIME, and refuses a file that the server says is
 * larger than DEBUGINFOD_MAXSIZE. */
int debuginfod_fetch(const struct build_id *id);

#endif
