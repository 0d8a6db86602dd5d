/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Raise the peak of a call path or a process without compare-and-exchange. */

#define PEAK_TRIES 8

/*
 * See traffic_record.h. `live` was read after the bytes were added, and includes what
 * others did in between. A peak is exact while one processor at a time counts there.
 * Otherwise it may lack bytes that others freed within the same microsecond. The same is
 * true of memtrace, which raises a peak without a claim (traffic_tables.c).
 */
ALWAYS_INLINE void abi_raise_peak(struct abi_outstanding *o, u64 live, u64 when)
{
	u64 key = claim_key(&o->peak_bytes);

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PEAK_TRIES; i++) {
		if ((s64)live <= (s64)VALUE_NOW(&o->peak_bytes))
			return;
		if (!claim_key_for(key, live))
			continue;
		if ((s64)live > (s64)VALUE_NOW(&o->peak_bytes)) {
			VALUE_NOW(&o->peak_bytes) = live;
			VALUE_NOW(&o->peak_when) = when;
		}
		claim_end(key);
		return;
	}
}
