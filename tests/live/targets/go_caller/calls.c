// SPDX-License-Identifier: Apache-2.0
/* What the Go program calls. */
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

static void *volatile kept;

/* Each caller has a frame of its own: no call is the last thing that a function does. */
#define END __asm__ volatile("" ::: "memory")

__attribute__((noinline)) void c_allocates(size_t size)
{
	kept = malloc(size);
	memset(kept, 1, 1);
	END;
}

/* The call back moves the goroutine's stack. */
void c_calls_back(void)
{
	goCallback();
	c_allocates(53);
	END;
}
