// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

extern unsigned short events_gated_semaphore;

__attribute__((noinline)) int gated_probe(int i)
{
	if (!__builtin_expect(*(volatile unsigned short *)&events_gated_semaphore, 0))
		return 0;
	STAP_PROBE1(events, gated, i);
	return 1;
}
