// SPDX-License-Identifier: Apache-2.0
/*
 * A program with forged USDT notes: one names a place inside an instruction, and one a
 * semaphore that is another variable. On stdin: run (calls all functions) and change
 * (writes another instruction over the first one of site_changed). Each is answered by a
 * line of JSON with what the functions returned, and the variable.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern uint16_t other_variable;
uint16_t other_variable = 7;

extern uint16_t counted_semaphore;
uint16_t counted_semaphore __attribute__((section(".probes")));

uint32_t site_forged(void);
uint32_t site_changed(void);

#define NOTE(at, semaphore, names)                                                       \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                     \
	".balign 4\n"                                                                    \
	".4byte 992f-991f, 994f-993f, 3\n"                                               \
	"991: .asciz \"stapsdt\"\n"                                                      \
	"992: .balign 4\n"                                                               \
	"993: .8byte " at ", 0, " semaphore "\n"                                         \
	".asciz " names "\n"                                                             \
	"994: .balign 4\n"                                                               \
	".popsection\n"

__asm__(".pushsection .text\n"
	".globl site_forged\n"
	".type site_forged, @function\n"
	"site_forged:\n"
	"	.cfi_startproc\n"
	"	mov $0x90909090, %eax\n"
	"2:	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size site_forged, . - site_forged\n"
	/* Without unwind information. */
	"3:	nop\n"
	"	ret\n"
	".globl site_changed\n"
	".type site_changed, @function\n"
	"site_changed:\n"
	"	.cfi_startproc\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size site_changed, . - site_changed\n"
	".popsection\n" /* clang-format off */
	NOTE("2b", "counted_semaphore", "\"forged\", \"right\", \"\"")
	NOTE("3b", "0", "\"forged\", \"bare\", \"\"")
	NOTE("site_forged + 1", "0", "\"forged\", \"inside\", \"\"")
	NOTE("2b", "other_variable", "\"forged\", \"variable\", \"\"")
	NOTE("site_forged + 1", "0", "\"otel_memory\", \"alloc\", \"8@%rdi 8@%rsi\"")
	NOTE("2b", "other_variable", "\"otel_memory\", \"free\", \"8@%rdi\""));
/* clang-format on */

/* mov $1, %eax becomes mov $2, %eax. */
static void change(void)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char *to = (unsigned char *)(uintptr_t)site_changed;
	unsigned char *page = to - (uintptr_t)to % page_bytes;

	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(1);
	to[1] = 2;
	/* The kernel puts no probes into writable code. */
	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_EXEC))
		_exit(1);
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":%d}\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "change\n"))
			change();
		printf("{\"forged\":%u,\"changed\":%u,\"variable\":%u}\n", site_forged(),
		       site_changed(), *(volatile uint16_t *)&other_variable);
	}
	return 0;
}
