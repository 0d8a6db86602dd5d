// SPDX-License-Identifier: Apache-2.0
#include "util/stack_limit.h"

#include <sys/resource.h>

/*
 * The kernel checks the limit whenever the main thread's stack grows
 * (acct_stack_growth(), mm/vma.c), and keeps at least 128 MiB of address space free for
 * it (mmap_base(), mm/util.c and arch/x86/mm/mmap.c).
 */
#define STACK_BYTES (8u << 20)

void stack_limit_raise(void)
{
	struct rlimit limits;

	if (getrlimit(RLIMIT_STACK, &limits) || limits.rlim_cur >= STACK_BYTES)
		return;
	limits.rlim_cur = STACK_BYTES;
	/* Raising the hard limit needs CAP_SYS_RESOURCE. */
	if (limits.rlim_max < STACK_BYTES)
		limits.rlim_max = STACK_BYTES;
	(void)setrlimit(RLIMIT_STACK, &limits);
}
