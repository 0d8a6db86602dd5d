/* SPDX-License-Identifier: Apache-2.0 */
/* Programs under LD_PRELOAD, and shared libraries of this machine to preload. */
#ifndef LIVE_PRELOAD_H
#define LIVE_PRELOAD_H

#include "live/live.h"

/* The path of the installed library with this base name, owned. NULL, with a note on
 * stdout, when it is not installed. */
char *preload_find(const char *name);

/* The path of a private copy of the file, owned: probes in it reach no other process. */
char *preload_copy(const char *path);

/* live_start() with `library` in LD_PRELOAD. NULL: as it is. */
struct live_process *preload_start(const char *library, const char *const argv[]);

#endif
