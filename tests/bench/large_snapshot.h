/* SPDX-License-Identifier: Apache-2.0 */
/* A generated snapshot of a large program. */
#ifndef BENCH_LARGE_SNAPSHOT_H
#define BENCH_LARGE_SNAPSHOT_H

#include <stddef.h>

#include "snapshot/snapshot.h"

/* Names, lines, stacks, blocks and traffic; the same at each call in one run of the
 * bench. The caller destroys it. */
struct snapshot *large_snapshot(size_t stacks, size_t blocks);

#endif
