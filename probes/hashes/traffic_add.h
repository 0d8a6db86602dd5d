/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* For traffic_record.h: sums without the result of an atomic addition. */
#define TRAFFIC_ADD(lvalue, n) traffic_add(&(lvalue), (n))

/* The sum includes what other processors add in between. */
static inline uint64_t traffic_add(uint64_t *at, uint64_t n)
{
	/* With a constant 0 the compiler would emit an instruction that those kernels
	 * lack. */
	__asm__ __volatile__("" : "+r"(n));
	__sync_fetch_and_add(at, n);
	return *(volatile uint64_t *)at;
}

struct abi_outstanding;

/* In raise_peak.c. */
static inline __attribute__((always_inline)) void
abi_raise_peak(struct abi_outstanding *o, uint64_t live, uint64_t when);
