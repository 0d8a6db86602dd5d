/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, as text. */
#ifndef UTIL_PATH_H
#define UTIL_PATH_H

#include <stdbool.h>
#include <string.h>

/* The part after the last slash; the whole path if that part is empty. Borrowed. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Does the path contain ".."? It would lead out of a directory. */
static inline bool path_leads_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2) {
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	}
	return false;
}

#endif
