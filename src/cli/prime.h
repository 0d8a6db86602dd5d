/* SPDX-License-Identifier: Apache-2.0 */
/* --prime-cache: have the code of the usual kinds of runs compiled before it is needed.
 */
#ifndef CLI_PRIME_H
#define CLI_PRIME_H

#include "util/error.h"

/* Trace a program that does nothing, once in each of these ways, and say in one line on
 * standard error where the code is kept. An error when one of the runs failed, with what
 * the first such run said last, or when nothing can be kept. */
struct error *prime_run(void) __attribute__((warn_unused_result));

#endif
