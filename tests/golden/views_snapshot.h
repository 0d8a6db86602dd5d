/* SPDX-License-Identifier: Apache-2.0 */
/* For golden.views: a snapshot with everything that can be measured. */
#ifndef TESTS_GOLDEN_VIEWS_SNAPSHOT_H
#define TESTS_GOLDEN_VIEWS_SNAPSHOT_H

#include "unit/render/fixture.h"

#define MS (FIXTURE_NS / 1000)

/* The call paths, with what is measured of each. */
void fill_stacks(struct fixture *f);

/* Makes a fixture with call paths and everything else that a run can have. */
void fill(struct fixture *f);

#endif
