/* SPDX-License-Identifier: Apache-2.0 */
/* What static probes tell, in the probes' own words. Inside of tracer*.c only. */
#ifndef BPF_TOLD_H
#define BPF_TOLD_H

#include <stdint.h>

#include "abi.h"
#include "plan/plan.h"

/* The record of a site whose effect is EFFECT_ALLOC_TOLD or EFFECT_FREE_TOLD. */
void told_record(const struct plan_site *site, struct abi_told *ret);

#endif
