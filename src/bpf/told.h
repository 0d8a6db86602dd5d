/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of USDT probes, as records for the BPF programs. Only for tracer*.c. */
#ifndef BPF_TOLD_H
#define BPF_TOLD_H

#include <stdint.h>

#include "abi.h"
#include "plan/plan.h"

/* Fill *ret for a site whose effect is EFFECT_ALLOC_TOLD or EFFECT_FREE_TOLD. */
void told_record(const struct plan_site *site, struct abi_told *ret);

#endif
