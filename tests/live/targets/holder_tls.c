// SPDX-License-Identifier: Apache-2.0
/* A library with thread-local data for targets/holder.c, which loads it with dlopen(3):
 * the memory of the data is allocated for each thread when it is first used. */
#include <stdint.h>

/* Larger than what glibc keeps free for such libraries in the static block
 * (TLS_STATIC_SURPLUS, elf/dl-tls.c). */
static __thread volatile uintptr_t words[4096];

volatile uintptr_t *holder_tls_words(void);

volatile uintptr_t *holder_tls_words(void)
{
	return words;
}
