/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes of the target `events`, one without and one with a semaphore. */
#ifndef LIVE_TARGETS_EVENTS_H
#define LIVE_TARGETS_EVENTS_H

void plain_probe(int i);

/* 1 when somebody is tracing the probe. */
int gated_probe(int i);

#endif
