/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_MEMORY_LIMIT_H
#define UTIL_MEMORY_LIMIT_H

/* A hint to append to the message of a failure that may be due to a memory limit. It
 * says that this process's memory is limited (RLIMIT_AS of getrlimit(2)) and how to
 * change that. "": no limit. Static. */
const char *memory_limit_hint(void);

#endif
