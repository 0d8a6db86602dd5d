/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the allocator that tests trace, and the meanings of their probe sites
 * (probes/abi_sites.h). */
#ifndef HOST_BPF_SITES_H
#define HOST_BPF_SITES_H

#include <stdint.h>

#include "abi.h"

enum host_function {
	FN_MALLOC,   /* malloc(size) */
	FN_CALLOC,   /* calloc(count, size) */
	FN_MEMALIGN, /* posix_memalign(out, alignment, size) */
	FN_REALLOC,  /* realloc(old, size) */
	FN_RESIZE,   /* xallocx(old, size): in place, returns the size */
	FN_FREE,     /* free(old) */
	FN_DELETE,   /* calls free(old) */
	FN_MMAP,     /* mmap(address, size) */
	FN_MUNMAP,   /* munmap(address, size) */
	FN_MREMAP,   /* mremap(address, old size, size, flags) */
	/* Sites inside them see the result. */
	FN_MALLOC_INSIDE,
	FN_REALLOC_INSIDE,
	FN_MALLOC_WHOLE, /* one site sees the whole call */
	FN_COUNT,
};

/* Registers as in arch/insn.h. */
enum {
	HOST_AX = 0,
	HOST_CX = 1,
	HOST_DX = 2,
	HOST_SI = 6,
	HOST_DI = 7
};

/* The meaning of the site at the entry; 0: it has none. */
static inline uint64_t host_entry_site(enum host_function fn)
{
	const unsigned none = ABI_ARG_NONE;
	const uint64_t number = (uint64_t)fn << ABI_SITE_NUMBER_SHIFT;

	switch (fn) {
	case FN_MALLOC:
		return number | ABI_SITE(ABI_EFFECT_ALLOC, HOST_DI, none, none, none);
	case FN_CALLOC:
		return number | ABI_SITE(ABI_EFFECT_ALLOC, HOST_SI, HOST_DI, none, none);
	case FN_MEMALIGN:
		return number |
		       ABI_SITE(ABI_EFFECT_ALLOC_OUT, HOST_DX, none, none, HOST_DI);
	case FN_REALLOC:
		return number |
		       ABI_SITE(ABI_EFFECT_REALLOC, HOST_SI, none, HOST_DI, none);
	case FN_RESIZE:
		return number | ABI_SITE(ABI_EFFECT_RESIZE, HOST_SI, none, HOST_DI, none);
	case FN_FREE:
	case FN_DELETE:
		return number | ABI_SITE(ABI_EFFECT_FREE, none, none, HOST_DI, none);
	case FN_MMAP:
		return number | ABI_SITE(ABI_EFFECT_MAP, HOST_SI, none, HOST_DI, none);
	case FN_MUNMAP:
		return number | ABI_SITE(ABI_EFFECT_UNMAP, HOST_SI, none, HOST_DI, none);
	case FN_MREMAP:
		return number | ABI_SITE(ABI_EFFECT_REMAP, HOST_DX, none, HOST_DI, none);
	case FN_MALLOC_INSIDE:
		return number | ABI_SITE_INSIDE |
		       ABI_SITE(ABI_EFFECT_ALLOC, HOST_DI, none, none, none);
	case FN_REALLOC_INSIDE:
		return number | ABI_SITE_INSIDE |
		       ABI_SITE(ABI_EFFECT_REALLOC, HOST_SI, none, HOST_DI, none);
	default:
		return 0;
	}
}

/* Words of struct pt_regs. */
#define HOST_WORD_AX 10
#define HOST_WORD_DI 14

/* The meaning of the site at the `ret`; 0: it has none, the call has a return probe or
 * none. */
static inline uint64_t host_result_site(enum host_function fn)
{
	const uint64_t result = ABI_RESULT(ABI_RESULT_REGISTER, HOST_WORD_AX)
				<< ABI_RESULT_VALUE0_SHIFT;

	switch (fn) {
	case FN_MALLOC_INSIDE:
	case FN_REALLOC_INSIDE:
		return ABI_EFFECT_RESULT | result;
	case FN_MALLOC_WHOLE:
		return ABI_EFFECT_WHOLE | result |
		       (uint64_t)HOST_WORD_DI << ABI_WHOLE_SIZE_SHIFT;
	default:
		return 0;
	}
}

#endif
