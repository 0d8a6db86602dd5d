/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites by where in its page each lies (struct abi_site_at of probes/abi.h): what a probe
 * that is hit there means. Before a probe is attached its meaning is announced. The main
 * thread and that of the checks do so at once.
 */
#ifndef BPF_SITE_PLACES_H
#define BPF_SITE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "abi.h"

/* Where the table, mapped and with a record for each byte of a page, has the probe at
 * this offset of its file. */
static inline struct abi_site_at *site_place(struct abi_site_at sites_at[],
					     uint64_t offset)
{
	return &sites_at[offset % (uint64_t)sysconf(_SC_PAGESIZE)];
}

/* Announce a meaning; false, and nothing is changed, where another one is known. */
static inline bool site_announce_alone(struct abi_site_at *at, uint64_t meaning)
{
	uint64_t before = 0;

	return __atomic_compare_exchange_n(&at->meaning, &before, meaning, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       before == meaning;
}

/* The same in any case. Where there are several meanings the attach cookie tells. */
static inline void site_announce(struct abi_site_at *at, uint64_t meaning)
{
	if (!site_announce_alone(at, meaning))
		__atomic_store_n(&at->meaning, ABI_SITE_SEVERAL, __ATOMIC_SEQ_CST);
}

#endif
