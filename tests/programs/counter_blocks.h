/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of the preloaded counter and the blocks that the program holds. Nothing here
 * allocates. Hidden: the program does not see these names.
 */
#ifndef TESTS_PROGRAMS_COUNTER_BLOCKS_H
#define TESTS_PROGRAMS_COUNTER_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"

/* NULL: nothing is counted, and the functions below but begin() must not be called. */
extern struct counter_file *counts;

/* Creates this process's file and an empty table of blocks, also in a forked child. If
 * this fails, nothing is counted: the file is missing. */
void begin(void);

/* may_be_counted: do nothing if the block was counted already. */
void note_allocation(const void *block, uint64_t size, bool may_be_counted);

/* Uncounts a block. False if it was not counted. *ret: its size. */
bool launder(const void *block, uint64_t *ret);

/* Counts the block again: it was not freed. */
void undo_remove(const void *block, uint64_t size);

#endif
