// SPDX-License-Identifier: Apache-2.0
#include "util/memory_limit.h"

#include <sys/resource.h>

const char *memory_limit_hint(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	return "; memory is limited, perhaps too much: raise the limit (ulimit -v)";
}
