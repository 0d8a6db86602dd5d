/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks for words of the tables on kernels whose BPF has no compare-and-exchange, and for
 * slots of processes (probes/claim.c, process_claim()). The lock is an element of the map
 * `claims`. memtrace takes and releases it by system calls, as the probes do by helpers.
 */
#ifndef BPF_CLAIMS_H
#define BPF_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

/* Take the lock `key`; `owner` is the value to store. If a probe holds the lock it
 * releases it within a microsecond; this waits up to a second. Returns false if the lock
 * could not be taken. */
bool claims_take(int fd, uint64_t key, uint64_t owner);

/* Release the lock. */
void claims_give(int fd, uint64_t key);

#endif
