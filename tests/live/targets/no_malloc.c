/* SPDX-License-Identifier: Apache-2.0 */
/* A static program without any allocator: it waits for ever. */
void _start(void);

void _start(void)
{
	for (;;) {
		long result = 34; /* pause(2) */

		__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	}
}
