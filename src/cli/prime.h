/* SPDX-License-Identifier: Apache-2.0 */
/* --prime-cache: compile the BPF code of the usual kinds of runs in advance. */
#ifndef CLI_PRIME_H
#define CLI_PRIME_H

#include "util/error.h"

/* Run each kind once on a program that does nothing, and print in one line on standard
 * error where the compiled code is kept. Fails if a run fails, with the last message of
 * the first failed run, or if the code cannot be kept. */
struct error *prime_run(void) __attribute__((warn_unused_result));

#endif
