/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a probe by its offset in the page (struct abi_site_at of probes/abi.h).
 * A probe's meaning must be announced before the probe is attached. The main thread and
 * the thread of the checks may do so at the same time. */
#ifndef ATTACH_SITE_PLACES_H
#define ATTACH_SITE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "abi.h"

/* The record for a probe at this offset of its file. `sites_at` is the mapped table, with
 * a record for each byte of a page. */
static inline struct abi_site_at *site_place(struct abi_site_at sites_at[],
					     uint64_t offset)
{
	return &sites_at[offset % (uint64_t)sysconf(_SC_PAGESIZE)];
}

/* Store the meaning of a probe at this place. False: the place has another meaning, and
 * keeps it. */
static inline bool site_announce_alone(struct abi_site_at *at, uint64_t meaning)
{
	uint64_t before = 0;

	return __atomic_compare_exchange_n(&at->meaning, &before, meaning, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       before == meaning;
}

/* Store the meaning of a probe at this place. If the place has another one, it gets
 * ABI_SITE_SEVERAL: probes there use their attach cookies. */
static inline void site_announce(struct abi_site_at *at, uint64_t meaning)
{
	if (!site_announce_alone(at, meaning))
		__atomic_store_n(&at->meaning, ABI_SITE_SEVERAL, __ATOMIC_SEQ_CST);
}

#endif
