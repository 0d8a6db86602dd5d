/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, as text. */
#ifndef UTIL_PATH_H
#define UTIL_PATH_H

#include <string.h>

/* The part after the last slash; the whole path if that part is empty. Borrowed. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
