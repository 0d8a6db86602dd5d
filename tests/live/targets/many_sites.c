/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates once, pauses, and then allocates once at each of 64 call sites. */
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

#define SITE(n)                                                                          \
	__attribute__((noinline)) static void site_##n(void)                             \
	{                                                                                \
		kept = malloc(n);                                                        \
	}
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define ALL(f)                                                                           \
	EIGHT(f, 1)                                                                      \
	EIGHT(f, 2)                                                                      \
	EIGHT(f, 3) EIGHT(f, 4) EIGHT(f, 5) EIGHT(f, 6) EIGHT(f, 7) EIGHT(f, 8)
#define CALL(n) site_##n();

ALL(SITE)

int main(void)
{
	kept = malloc(1);
	/* Gives memtrace time to find the unwind rules. */
	usleep(300000);
	ALL(CALL)
	return 0;
}
