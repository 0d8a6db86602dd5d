/* SPDX-License-Identifier: Apache-2.0 */
/* --prime-cache: have the code of the usual kinds of runs compiled before it is needed.
 */
#ifndef CLI_PRIME_H
#define CLI_PRIME_H

#include "util/error.h"

/* Trace a program that does nothing, once in each of these ways. Says on standard error
 * how each went. An error when one of them failed, or nothing can be kept. */
struct error *prime_run(void) __attribute__((warn_unused_result));

#endif
