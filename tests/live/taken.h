/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that memtrace itself uses. */
#ifndef TESTS_LIVE_TAKEN_H
#define TESTS_LIVE_TAKEN_H

#include "live/live.h"

struct taken {
	unsigned files, links; /* open descriptors, and how many of them hold probes */
	int64_t rss_kib;
};

/* Reads and prints what the process uses now. */
struct taken taken_by(const struct live_process *process);

#endif
