/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the threads of a machine one at a time, and switches between them at random, also
 * in the middle of the probes' programs. A seed determines all of it. */
#ifndef STRESS_FIBERS_H
#define STRESS_FIBERS_H

#include "probes/stress/machine.h"

struct fibers;

struct fibers *fibers_new(struct machine *machine, uint64_t seed);
void fibers_free(struct fibers *fibers);

/* Let threads run until they have begun `acts` acts. They may be anywhere then. */
void fibers_run(struct fibers *fibers, unsigned long acts);

/* Let each thread end what it has begun. */
void fibers_finish(struct fibers *fibers);

/* Run something else in a fiber of its own among the threads, until it returns. It may
 * call fibers_pause(). */
void fibers_run_beside(struct fibers *fibers, void (*fn)(void *arg), void *arg);
void fibers_pause(struct fibers *fibers);

/* Number of switches so far. */
unsigned long fibers_switches(const struct fibers *fibers);

#endif
