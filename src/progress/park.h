/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the main thread from returning from the read that it is stuck in. Another thread
 * can then fork a child that has the main thread's data in a consistent state, however
 * late the read ends.
 */
#ifndef PROGRESS_PARK_H
#define PROGRESS_PARK_H

#include <stdbool.h>

#include "progress/stuck.h"

/* Install the handler of the signal that parks (SIGRTMIN). No thread must block it. */
void park_init(void);

/*
 * Park the main thread in the call that `stuck` has found: it executes no further
 * instruction. False: it has returned from this call, and continues; or this processor's
 * registers are not known. Once the main thread is parked, it stays so. Call it from one
 * thread only.
 */
bool park_main(const struct stuck *stuck);

#endif
