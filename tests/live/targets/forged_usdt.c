// SPDX-License-Identifier: Apache-2.0
/*
 * A program with forged USDT notes: one names a place inside an instruction, and one a
 * semaphore that is another variable. On stdin: run (calls all functions) and change
 * (writes another instruction over the first one of site_changed). Each is answered by a
 * line of JSON with what the functions returned, and the variable. headless: the main
 * thread ends, another goes on. copies: it maps its own file many times as code. exec: it
 * begins anew.
 */
#include <fcntl.h>
#include <pthread.h>
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

extern char own_blocks[64];
char own_blocks[64];

uint32_t site_forged(void);
uint32_t site_changed(void);
void *own_malloc(size_t size);
void own_free(void *block);
uintptr_t own_calloc(size_t count, size_t size);
uintptr_t own_realloc(void *block, size_t size);

#define FUNCTION(name, code)                                                             \
	".globl " name "\n"                                                              \
	".type " name ", @function\n" name ":\n"                                         \
	"	.cfi_startproc\n" code "	ret\n"                                          \
	"	.cfi_endproc\n"                                                                \
	".size " name ", . - " name "\n"

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
	"4:	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size site_changed, . - site_changed\n" FUNCTION(
		"own_malloc",
		"nop\n lea own_blocks(%rip), %rax\n nop\n") FUNCTION("own_free", "nop\n")
		FUNCTION("own_calloc", "mov $1, %ecx\n nop\n mov %rcx, %rax\n nop\n")
			FUNCTION("own_realloc",
				 "xor %ecx, %ecx\n mov $1, %ecx\n nop\n mov %rcx, %rax\n "
				 "nop\n") ".popsection\n" /* clang-format off */
	NOTE("2b", "counted_semaphore", "\"forged\", \"right\", \"\"")
	NOTE("3b", "0", "\"forged\", \"bare\", \"\"")
	NOTE("4b", "0", "\"forged\", \"altered\", \"\"")
	NOTE("site_forged + 1", "0", "\"forged\", \"inside\", \"\"")
	NOTE("2b", "other_variable", "\"forged\", \"variable\", \"\"")
	NOTE("site_forged + 1", "0", "\"otel_memory\", \"alloc\", \"8@%rdi 8@%rsi\"")
	NOTE("2b", "other_variable", "\"otel_memory\", \"free\", \"8@%rdi\""));
/* clang-format on */

/*
 * In site_changed(), mov $1, %eax becomes mov $2, %eax, and likewise in own_calloc(). In
 * own_realloc() mov $1, %ecx and the nop become one instruction, add $0x90000002, %ecx.
 */
static void change(void)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char *to = (unsigned char *)(uintptr_t)site_changed;
	unsigned char *first = (unsigned char *)(uintptr_t)own_calloc;
	unsigned char *inside = (unsigned char *)(uintptr_t)own_realloc;
	unsigned char *page = to - (uintptr_t)to % page_bytes;

	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(1);
	to[1] = first[1] = 2;
	memcpy(inside + 2, "\x81\xc1\x02\0\0\x90", 6);
	/* The kernel puts no probes into writable code. */
	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_EXEC))
		_exit(1);
}

/* More often than memtrace looks at. */
static void map_copies(void)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t bytes = lseek(file, 0, SEEK_END);

	for (int i = 0; i < 300; i++)
		if (mmap(NULL, (size_t)bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file,
			 0) == MAP_FAILED)
			_exit(1);
	close(file);
}

static void *run(void *arg);

/* The loop goes on in another thread. */
static void go_on_without_main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		_exit(1);
	printf("{\"ready\":%d}\n", (int)getpid());
	pthread_exit(NULL);
}

static void *run(void *arg)
{
	char line[64];

	(void)arg;
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "change\n"))
			change();
		if (!strcmp(line, "copies\n"))
			map_copies();
		if (!strcmp(line, "exec\n"))
			execl("/proc/self/exe", "forged_usdt", (char *)NULL);
		if (!strcmp(line, "headless\n"))
			go_on_without_main();
		own_free(own_malloc(8));
		printf("{\"forged\":%u,\"changed\":%u,\"variable\":%u,\"calloc\":%lu,"
		       "\"realloc\":%lu}\n",
		       site_forged(), site_changed(),
		       *(volatile uint16_t *)&other_variable,
		       (unsigned long)own_calloc(1, 8), (unsigned long)own_realloc(0, 8));
	}
	exit(0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":%d}\n", (int)getpid());
	run(NULL);
}
