/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of USDT probes, as records for the BPF programs. For mode_usdt.c. */
#ifndef TRACE_USDT_RECORD_H
#define TRACE_USDT_RECORD_H

#include <stdint.h>

#include "abi.h"
#include "plan/plan.h"

/* Fill *ret for a site whose effect is EFFECT_ALLOC_USDT or EFFECT_FREE_USDT. */
void usdt_record(const struct plan_site *site, struct abi_usdt *ret);

#endif
