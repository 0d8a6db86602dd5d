/* SPDX-License-Identifier: Apache-2.0 */
/* Inline parts of arch.h for x86-64. */
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

#include <sys/syscall.h>

/* arch/x86/include/uapi/asm/prctl.h; not every libc defines them */
#define X86_64_SHSTK_ENABLE 0x5001
#define X86_64_SHSTK_SHSTK  1ul

static inline __attribute__((always_inline)) long arch_shadow_stack_enable(void)
{
	long result = SYS_arch_prctl;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)X86_64_SHSTK_ENABLE), "S"(X86_64_SHSTK_SHSTK)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
