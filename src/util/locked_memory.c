// SPDX-License-Identifier: Apache-2.0
#include "util/locked_memory.h"

void locked_memory_lift(struct rlimit *before)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit limit;

	if (!before)
		before = &limit;
	if (getrlimit(RLIMIT_MEMLOCK, before)) {
		*before = all;
		return;
	}
	/* Raising the hard limit needs CAP_SYS_RESOURCE. */
	if (setrlimit(RLIMIT_MEMLOCK, &all)) {
		const struct rlimit most = {before->rlim_max, before->rlim_max};

		(void)setrlimit(RLIMIT_MEMLOCK, &most);
	}
}

void locked_memory_restore(const struct rlimit *before)
{
	(void)setrlimit(RLIMIT_MEMLOCK, before);
}
