/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of call paths, for call trees. Private to the moment. */
#ifndef SCREEN_MOMENT_STEPS_H
#define SCREEN_MOMENT_STEPS_H

#include "screen/moment.h"

/* Fill the steps of all sections, unless that was done. A path with the same frames as
 * in the base gets the steps of the base. To be called by the thread that makes moments.
 * False: memory is out. */
bool moment_take_steps(struct moment *moment) __attribute__((warn_unused_result));

/* NULL does nothing. */
void shared_steps_destroy(struct shared_steps *shared);

#endif
