/* SPDX-License-Identifier: Apache-2.0 */
/* Inline parts of arch.h for processors without a shadow stack. */
#ifndef ARCH_OTHER_H
#define ARCH_OTHER_H

#include <errno.h>

static inline __attribute__((always_inline)) long arch_shadow_stack_enable(void)
{
	return -EOPNOTSUPP;
}

#endif
