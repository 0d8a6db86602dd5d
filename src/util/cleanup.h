/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound release of locals: `_cleanup_(freep) char *path = NULL;`. */
#ifndef UTIL_CLEANUP_H
#define UTIL_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/error.h"

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Define `name##p`, a cleanup handler that calls `name(*p)`. `name(NULL)` must be
 * allowed. */
#define DEFINE_CLEANUP(type, name)                                                       \
	static inline void name##p(type *p)                                              \
	{                                                                                \
		name(*p);                                                                \
	}                                                                                \
	struct cleanup_semicolon_##name

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void error_destroyp(struct error **err)
{
	error_destroy(*err);
}

/* Transfer ownership of a pointer: returns *p and sets it to NULL. */
#define take(p)                                                                          \
	__extension__({                                                                  \
		__typeof__(p) taken_ = (p);                                              \
		(p) = NULL;                                                              \
		taken_;                                                                  \
	})

#endif
