// SPDX-License-Identifier: Apache-2.0
/* Stops when the dynamic linker is done. Linked with no library, so that it runs with the
 * libraries of any release, which LD_PRELOAD names. */
void _start(void);

void _start(void)
{
	for (;;)
		__asm__ volatile("int3");
}
