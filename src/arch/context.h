/* SPDX-License-Identifier: Apache-2.0 */
/* Where a signal has interrupted a thread. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H

#include <stdint.h>
#include <ucontext.h>

struct arch_context {
	uint64_t sp, pc;
	/* Size of the instruction that enters the kernel, bytes. If the call is to be
	 * made again, the kernel sets the program counter back to this instruction before
	 * a handler runs. */
	uint64_t call_bytes;
};

struct arch_context arch_context(const ucontext_t *context);

#endif
