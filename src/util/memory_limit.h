/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_MEMORY_LIMIT_H
#define UTIL_MEMORY_LIMIT_H

/* To be appended to the message of a failure that too little memory may have caused: says
 * that this process's memory is limited (RLIMIT_AS of getrlimit(2)) and how to change
 * that.
 * "" if it is not limited. Static. */
const char *memory_limit_hint(void);

#endif
