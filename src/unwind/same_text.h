/* SPDX-License-Identifier: Apache-2.0 */
/* Programs put their code on huge pages by copying it into memory of no file, which they
 * map or move to where it was: the same code at the same addresses. */
#ifndef UNWIND_SAME_TEXT_H
#define UNWIND_SAME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

/* Has process `pid` in [start, end) what the image has there? Bytes at which a probe of
 * anybody may be (int3) count as equal. False also when that cannot be read, is not all
 * in memory or swap, or is more than 256 MiB. */
bool same_text(int pid, uint64_t start, uint64_t end, const struct walk_code *code);

#endif
