/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose names are not plain ASCII. One is UTF-8. The test patches a copy of the
 * program: it replaces "XESCX" by an escape sequence for terminals and "XBADX" by bytes
 * that are not UTF-8. No assembler would emit these.
 */
#include <stdlib.h>

#include "simple.h"

#define SITE(function, label)                                                            \
	void *function(size_t size) __asm__(label);                                      \
	__attribute__((noinline)) void *function(size_t size)                            \
	{                                                                                \
		void *block = malloc(size);                                              \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

SITE(site_utf8, "site_gr\xc3\xb6\xc3\x9f"
		"e_\xe5\xa4\xa7")
SITE(site_escape, "site_XESCX_end")
SITE(site_bad, "site_XBADX_end")

/* One call site for each function: `volatile` keeps the loop from being unrolled. */
static void work(void)
{
	for (volatile int i = 0; i < 10; i++)
		if (!site_utf8(10) || !site_escape(20) || !site_bad(30))
			_exit(1);
}

int main(void)
{
	return serve(work);
}
