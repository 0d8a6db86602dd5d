/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with LD_PRELOAD, and shared libraries of this machine to preload. */
#ifndef LIVE_PRELOAD_H
#define LIVE_PRELOAD_H

#include "live/live.h"

/* The path of the installed library with this base name, owned. If it is not installed:
 * NULL, and a note on stdout. */
char *preload_find(const char *name);

/* The path of a private copy of the file, owned. Probes in the copy reach no other
 * process. */
char *preload_copy(const char *path);

/* live_start() with `library` in LD_PRELOAD. NULL: with the environment unchanged. */
struct live_process *preload_start(const char *library, const char *const argv[]);

#endif
