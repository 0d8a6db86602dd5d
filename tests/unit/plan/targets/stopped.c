// SPDX-License-Identifier: Apache-2.0
/* Stops as soon as the dynamic linker is done. It is linked with no library, so that it
 * runs with those of any release: which ones is up to LD_PRELOAD. */
void _start(void);

void _start(void)
{
	for (;;)
		__asm__ volatile("int3");
}
