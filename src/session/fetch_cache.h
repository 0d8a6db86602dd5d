/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of debug files that were fetched from debuginfod servers. The process
 * that fetches them (symbol/fetcher.h) is not root's, so it can use neither root's home
 * directory nor a directory that belongs to root. It gets one of its own:
 * $DEBUGINFOD_CACHE_PATH/memtrace-debuginfod, or else "debuginfod" in the cache of
 * compiled code (bpf/cache.h).
 */
#ifndef SESSION_FETCH_CACHE_H
#define SESSION_FETCH_CACHE_H

#include "util/error.h"

/*
 * Open the directory, and create it if it does not exist. *ret is the caller's; -1: this
 * process is not root's, and libdebuginfod finds a directory itself. To be called before
 * capabilities are given up.
 */
struct error *fetch_cache_open(int *ret) __attribute__((warn_unused_result));

#endif
