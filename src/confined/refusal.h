/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFINED_REFUSAL_H
#define CONFINED_REFUSAL_H

#include <errno.h>

#include "util/error.h"

/*
 * The error code for a process that could not be confined because of `errnum`.
 * ERROR_UNSUPPORTED: the kernel, or a sandbox around memtrace, never permits it.
 * ERROR_IO: memory or descriptors have run out. A target can cause that, so the caller
 * must not go on with fewer restrictions. EBUSY: another process already answers the
 * system calls of this one.
 */
static inline enum error_code refusal_code(int errnum)
{
	switch (errnum) {
	case ENOSYS:
	case EINVAL:
	case EPERM:
	case EACCES:
	case EOPNOTSUPP:
	case EBUSY:
		return ERROR_UNSUPPORTED;
	default:
		return ERROR_IO;
	}
}

#endif
