/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims on words of the tables, where probes have no compare-and-exchange, and on slots
 * for processes (probes/claim.c, process_claim()): memtrace does the same with the map
 * `claims` by system call.
 */
#ifndef BPF_CLAIMS_H
#define BPF_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

/* Claim the key, for who is to own the word. A probe that has it gives it back within a
 * microsecond: that is waited for, up to a second. False: it did not come to that. */
bool claims_take(int fd, uint64_t key, uint64_t owner);

/* Give it back. */
void claims_give(int fd, uint64_t key);

#endif
