/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries of this machine, for live tests and benchmarks. */
#ifndef LIBRARY_PATH_H
#define LIBRARY_PATH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LIBRARY_FOLDER "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define LIBRARY_FOLDER "/usr/lib/aarch64-linux-gnu/"
#endif

/* The path of the library with this base name, owned. NULL if it is not installed. */
static inline char *library_path(const char *name)
{
	char *path;

	if (asprintf(&path, LIBRARY_FOLDER "%s", name) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

#endif
