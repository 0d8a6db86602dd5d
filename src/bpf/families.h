/* SPDX-License-Identifier: Apache-2.0 */
/* Maps each family of stacks (probes/abi.h, ABI_FAMILY) to a process through which the
 * frames of the family's stacks can be named. */
#ifndef BPF_FAMILIES_H
#define BPF_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct family {
	uint64_t number;
	uint32_t rank;    /* how well the process can name its frames: higher is better */
	uint32_t process; /* index into snapshot.processes */
};

/* An empty list is all zeros. */
struct families {
	VEC(struct family) list;
};

/* Add a process of a family; a family may get several. Returns false without memory. */
bool families_add(struct families *families, struct family family)
	__attribute__((warn_unused_result));

/* Call after the last families_add(): keeps the process of the highest rank of each
 * family, the first one among equals. */
void families_settle(struct families *families);

/* The process of a family, after families_settle(). SNAPSHOT_NO_PROCESS if the family is
 * unknown. */
uint32_t families_process(const struct families *families, uint64_t number);

void families_deinit(struct families *families);

#endif
