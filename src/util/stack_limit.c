// SPDX-License-Identifier: Apache-2.0
#include "util/stack_limit.h"

#include <sys/resource.h>

/*
 * The limit counts whenever the first thread's stack grows (acct_stack_growth(),
 * mm/vma.c), and 128 MiB are kept free for that at least (mmap_base(), mm/util.c and
 * arch/x86/mm/mmap.c).
 */
#define STACK_BYTES (8u << 20)

void stack_limit_raise(void)
{
	struct rlimit limits;

	if (getrlimit(RLIMIT_STACK, &limits) || limits.rlim_cur >= STACK_BYTES)
		return;
	limits.rlim_cur = STACK_BYTES;
	/* More than the hard limit is for CAP_SYS_RESOURCE. */
	if (limits.rlim_max < STACK_BYTES)
		limits.rlim_max = STACK_BYTES;
	(void)setrlimit(RLIMIT_STACK, &limits);
}
