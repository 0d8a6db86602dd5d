/* SPDX-License-Identifier: Apache-2.0 */
/* What memtrace itself takes of the machine. */
#ifndef TESTS_LIVE_TAKEN_H
#define TESTS_LIVE_TAKEN_H

#include "live/live.h"

struct taken {
	unsigned files, links; /* descriptors, and those of them that hold probes */
	int64_t rss_kib;
};

/* At present. Prints it, too. */
struct taken taken_by(const struct live_process *process);

#endif
