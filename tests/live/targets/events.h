/* SPDX-License-Identifier: Apache-2.0 */
/* USDT probes of the target `events`, one without and one with a semaphore. */
#ifndef LIVE_TARGETS_EVENTS_H
#define LIVE_TARGETS_EVENTS_H

void plain_probe(int i);

/* Returns 1 if the probe is being traced. */
int gated_probe(int i);

#endif
