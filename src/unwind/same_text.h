/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes code that a program has copied into anonymous memory, to have it on huge
 * pages. Such programs map or move the copy over the original: the same code at the
 * same addresses. */
#ifndef UNWIND_SAME_TEXT_H
#define UNWIND_SAME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

/* Does [start, end) in process `pid` have the same bytes as the image? Bytes that may
 * be a breakpoint of a probe (int3) count as equal. Also false if the memory cannot be
 * read, is not completely in memory or swap, or is larger than 256 MiB. */
bool same_text(int pid, uint64_t start, uint64_t end, const struct walk_code *code);

#endif
