/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes stand for the families of stacks (probes/abi.h, ABI_FAMILY): by each of
 * them the frames of its family's stacks can be named.
 */
#ifndef BPF_FAMILIES_H
#define BPF_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct family {
	uint64_t number;
	uint32_t rank;    /* how well the process can name its frames: more is better */
	uint32_t process; /* index into snapshot.processes */
};

/* Zeroed, it is empty. */
struct families {
	VEC(struct family) list;
};

/* May be called for several processes of a family. False when memory is out. */
bool families_add(struct families *families, struct family family)
	__attribute__((warn_unused_result));

/* All are added: keep the one of the highest rank of each, of equal ones the first. */
void families_settle(struct families *families);

/* The process of a family, after families_settle(); SNAPSHOT_NO_PROCESS: none. */
uint32_t families_process(const struct families *families, uint64_t number);

void families_deinit(struct families *families);

#endif
