// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <sys/sdt.h>

__attribute__((noinline)) void plain_probe(int i)
{
	STAP_PROBE1(events, plain, i);
}
