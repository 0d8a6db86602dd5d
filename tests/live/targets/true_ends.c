// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks that begin in unusual code or lead through it: the target of test_true_ends.c.
 * Each scenario allocates TIMES blocks of its own size from a function named
 * NAME_allocates. Words on stdin choose scenarios; each is answered by a line of JSON.
 * Built with glibc and with musl, which has no makecontext().
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <linux/io_uring.h>
#include <ucontext.h>
#endif

#define TIMES       100
#define STACK_BYTES 65536

/* Holds the blocks, so that the compiler does not drop the calls. */
static void *volatile kept[4096];
static volatile unsigned kept_count;

/* Each caller gets its own frame, and makes no tail call. */
#define ALLOCATE(size)                                                                   \
	do {                                                                             \
		void *block_ = malloc(size);                                             \
		memset(block_, 1, 1);                                                    \
		kept[kept_count % 4096] = block_;                                        \
		kept_count = kept_count + 1;                                             \
	} while (0)

#define NOINLINE __attribute__((noinline))

/* --- plain ------------------------------------------------------------------------ */

static NOINLINE void main_allocates(void)
{
	ALLOCATE(3001);
}

/* memtrace looks for a free() in the allocator, also in a static program. */
static void free_one(void)
{
	free(kept[0]);
	kept[0] = NULL;
}

static NOINLINE void thread_allocates(void)
{
	ALLOCATE(3002);
}

static NOINLINE void *thread_main(void *arg)
{
	for (int i = 0; i < TIMES; i++)
		thread_allocates();
	return arg;
}

static void run_main(void)
{
	for (int i = 0; i < TIMES; i++)
		main_allocates();
}

static void run_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL) ||
	    pthread_join(thread, NULL))
		abort();
}

/* --- callbacks of the C library --------------------------------------------------- */

static volatile unsigned qsort_left, bsearch_left;

static NOINLINE void qsort_allocates(void)
{
	ALLOCATE(3003);
}

static NOINLINE void bsearch_allocates(void)
{
	ALLOCATE(3004);
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int qsort_compares(const void *a, const void *b)
{
	if (qsort_left) {
		qsort_left = qsort_left - 1;
		qsort_allocates();
	}
	return compare(a, b);
}

static int bsearch_compares(const void *a, const void *b)
{
	if (bsearch_left) {
		bsearch_left = bsearch_left - 1;
		bsearch_allocates();
	}
	return compare(a, b);
}

static NOINLINE void run_qsort(void)
{
	int numbers[64];

	qsort_left = TIMES;
	while (qsort_left) {
		for (int i = 0; i < 64; i++)
			numbers[i] = i * 37 % 64;
		qsort(numbers, 64, sizeof(*numbers), qsort_compares);
	}
	kept_count = kept_count + 0;
}

static NOINLINE void run_bsearch(void)
{
	int numbers[64], key = 41;

	for (int i = 0; i < 64; i++)
		numbers[i] = i;
	bsearch_left = TIMES;
	while (bsearch_left)
		kept[4095] =
			bsearch(&key, numbers, 64, sizeof(*numbers), bsearch_compares);
}

/* --- assembly --------------------------------------------------------------------- */

/* Functions without unwind information: with a frame pointer, and without one. */
__asm__(".pushsection .text\n"
	".globl assembly_with_frame\n"
	".type assembly_with_frame, @function\n"
	"assembly_with_frame:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"	call *%rdi\n"
	"	add $48, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size assembly_with_frame, . - assembly_with_frame\n"
	".globl assembly_without_frame\n"
	".type assembly_without_frame, @function\n"
	"assembly_without_frame:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov $0x1234, %ebp\n"
	"	sub $40, %rsp\n"
	"	call *%rdi\n"
	"	test %ebp, %ebp\n"
	"	jz 1f\n"
	"	add $40, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"1:	ud2\n"
	".size assembly_without_frame, . - assembly_without_frame\n"
	/* Switches to the stack pointer in rsi, and stores the old one at rdi. */
	".globl coroutine_switch\n"
	".type coroutine_switch, @function\n"
	"coroutine_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size coroutine_switch, . - coroutine_switch\n"
	/* The first frame of a coroutine. rbx holds its function, which must not return.
	 * It pushes the address of the coroutine's end as a return address. */
	".globl coroutine_start\n"
	".type coroutine_start, @function\n"
	"coroutine_start:\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	".size coroutine_start, . - coroutine_start\n"
	".globl coroutine_end\n"
	".type coroutine_end, @function\n"
	"coroutine_end:\n"
	"	xor %edi, %edi\n"
	"	call _exit@PLT\n"
	"	hlt\n"
	".size coroutine_end, . - coroutine_end\n"
	".popsection\n");

void assembly_with_frame(void (*function)(void));
void assembly_without_frame(void (*function)(void));
void coroutine_switch(void **own, void *other);
void coroutine_start(void);
void coroutine_end(void);

static NOINLINE void framed_allocates(void)
{
	ALLOCATE(3005);
}

static NOINLINE void unframed_allocates(void)
{
	ALLOCATE(3006);
}

static NOINLINE void coroutine_allocates(void)
{
	ALLOCATE(3007);
}

static NOINLINE void run_framed(void)
{
	for (int i = 0; i < TIMES; i++)
		assembly_with_frame(framed_allocates);
	kept_count = kept_count + 0;
}

static NOINLINE void run_unframed(void)
{
	for (int i = 0; i < TIMES; i++)
		assembly_without_frame(unframed_allocates);
	kept_count = kept_count + 0;
}

static void *main_context, *coroutine_context;

static NOINLINE void coroutine_main(void)
{
	for (int i = 0; i < TIMES; i++)
		coroutine_allocates();
	coroutine_switch(&coroutine_context, main_context);
	abort();
}

static char *new_stack(void)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		abort();
	/* There must be no zeros behind the last frame. */
	memset(stack, 0x5a, STACK_BYTES);
	return stack;
}

static void run_coroutine(void)
{
	uint64_t *top = (uint64_t *)(new_stack() + STACK_BYTES - 256);
	uint64_t *at = top - 7;

	at[0] = at[1] = at[2] = at[3] = 0x1111;      /* r15 to r12 */
	at[4] = (uint64_t)(uintptr_t)coroutine_main; /* rbx */
	at[5] = (uint64_t)(uintptr_t)coroutine_end;  /* rbp */
	at[6] = (uint64_t)(uintptr_t)coroutine_start;
	coroutine_switch(&main_context, at);
}

/* --- contexts --------------------------------------------------------------------- */

static NOINLINE void context_allocates(void)
{
	ALLOCATE(3008);
}

#ifdef __GLIBC__
static void context_main(void)
{
	for (int i = 0; i < TIMES; i++)
		context_allocates();
	kept_count = kept_count + 0;
}

static void run_context(void)
{
	static ucontext_t mine, other;

	if (getcontext(&other))
		abort();
	other.uc_stack.ss_sp = new_stack();
	other.uc_stack.ss_size = STACK_BYTES;
	other.uc_link = &mine;
	makecontext(&other, context_main, 0);
	if (swapcontext(&mine, &other))
		abort();
}
#else
static void run_context(void)
{
	for (int i = 0; i < TIMES; i++)
		context_allocates();
}
#endif

/* --- clone ------------------------------------------------------------------------ */

static NOINLINE void clone_allocates(void)
{
	ALLOCATE(3009);
}

static volatile pid_t clone_left;

/* The parent waits: both use the same thread pointer. */
static int clone_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < TIMES; i++)
		clone_allocates();
	return 0;
}

static void run_clone(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;

	clone_left = 1;
	if (clone(clone_main, new_stack() + STACK_BYTES - 256, flags, NULL, &clone_left,
		  NULL, &clone_left) < 0)
		abort();
	while (clone_left)
		syscall(SYS_sched_yield);
}

/* --- signals ---------------------------------------------------------------------- */

static volatile sig_atomic_t signals;
static volatile bool in_vdso;

static NOINLINE void alternate_allocates(void)
{
	ALLOCATE(3010);
}

static NOINLINE void vdso_allocates(void)
{
	ALLOCATE(3011);
}

static void on_alternate(int number)
{
	(void)number;
	alternate_allocates();
	signals = signals + 1;
}

static NOINLINE void raiser(void)
{
	raise(SIGUSR1);
	kept_count = kept_count + 0;
}

static void handle(int number, void (*function)(int), int flags)
{
	struct sigaction action = {.sa_handler = function, .sa_flags = flags};

	if (sigaction(number, &action, NULL))
		abort();
}

static NOINLINE void run_alternate(void)
{
	stack_t stack = {.ss_sp = new_stack(), .ss_size = STACK_BYTES};

	if (sigaltstack(&stack, NULL))
		abort();
	handle(SIGUSR1, on_alternate, SA_ONSTACK);
	for (int i = 0; i < TIMES; i++)
		raiser();
	kept_count = kept_count + 0;
}

static void on_timer(int number)
{
	(void)number;
	if (in_vdso && signals < TIMES) {
		signals = signals + 1;
		vdso_allocates();
	}
}

static NOINLINE void reader_of_time(void)
{
	struct timespec now;

	while (signals < TIMES) {
		in_vdso = true;
		for (int i = 0; i < 1000; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
		in_vdso = false;
	}
}

static NOINLINE void run_vdso(void)
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};

	signals = 0;
	handle(SIGALRM, on_timer, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	reader_of_time();
	setitimer(ITIMER_REAL, &never, NULL);
}

/* --- stubs ------------------------------------------------------------------------ */

/* A stub like lld's procedure linkage table entries, which have no unwind information.
 * The signal interrupts its first or second instruction. */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl stub\n"
	".type stub, @function\n"
	"stub:\n"
	"	endbr64\n"
	"	jmp *stub_word(%rip)\n"
	".size stub, . - stub\n"
	".popsection\n"
	".pushsection .data\n"
	".p2align 3\n"
	"stub_word: .quad 0\n"
	".popsection\n"
	".globl stub_word\n");

void stub(void);
extern uint64_t stub_word;

static NOINLINE void stub_allocates(void)
{
	ALLOCATE(3012);
}

static void on_trap(int number)
{
	(void)number;
	stub_allocates();
}

__asm__(".pushsection .text\n"
	".type trap_target, @function\n"
	"trap_target: ret\n"
	".size trap_target, . - trap_target\n"
	/* Sets the trap flag right before it jumps to the stub. */
	".globl stepper\n"
	".type stepper, @function\n"
	"stepper:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	pushfq\n"
	".cfi_adjust_cfa_offset 8\n"
	"	orl $0x100, (%rsp)\n"
	"	popfq\n"
	".cfi_adjust_cfa_offset -8\n"
	"	call stub\n"
	"	pushfq\n"
	".cfi_adjust_cfa_offset 8\n"
	"	andl $~0x100, (%rsp)\n"
	"	popfq\n"
	".cfi_adjust_cfa_offset -8\n"
	"	add $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size stepper, . - stepper\n"
	".popsection\n");

void stepper(void);
void trap_target(void);

static NOINLINE void run_stub(void)
{
	stub_word = (uint64_t)(uintptr_t)trap_target;
	handle(SIGTRAP, on_trap, 0);
	for (int i = 0; i < TIMES; i++)
		stepper();
	handle(SIGTRAP, SIG_DFL, 0);
}

/* --- io_uring --------------------------------------------------------------------- */

#ifdef __GLIBC__
static char *map_ring(int ring, size_t size, off_t offset)
{
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 ring, offset);

	if (map == MAP_FAILED)
		abort();
	return map;
}

/* Has a kernel thread of this process execute TIMES operations. Does nothing if the
 * kernel lacks io_uring. */
static void run_uring(void)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);

	if (ring < 0)
		return;

	char *queue = map_ring(ring, p.sq_off.array + p.sq_entries * sizeof(unsigned),
			       IORING_OFF_SQ_RING);
	char *done =
		map_ring(ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
			 IORING_OFF_CQ_RING);
	char *entries = map_ring(ring, p.sq_entries * sizeof(struct io_uring_sqe),
				 IORING_OFF_SQES);
	struct io_uring_sqe *entry = (struct io_uring_sqe *)(void *)entries;
	unsigned *tail = (unsigned *)(void *)(queue + p.sq_off.tail);
	unsigned *head = (unsigned *)(void *)(done + p.cq_off.head);

	for (unsigned i = 0; i < TIMES; i++) {
		unsigned at = i % p.sq_entries;

		memset(&entry[at], 0, sizeof(*entry));
		entry[at].opcode = IORING_OP_NOP;
		entry[at].flags = IOSQE_ASYNC;
		((unsigned *)(void *)(queue + p.sq_off.array))[at] = at;
		__atomic_store_n(tail, i + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL,
			    0) != 1)
			abort();
		__atomic_store_n(head, i + 1, __ATOMIC_RELEASE);
	}
}
#else
static void run_uring(void)
{
}
#endif

/* --- the program ------------------------------------------------------------------ */

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"main", run_main},           {"thread", run_thread},
	{"qsort", run_qsort},         {"bsearch", run_bsearch},
	{"framed", run_framed},       {"unframed", run_unframed},
	{"coroutine", run_coroutine}, {"context", run_context},
	{"clone", run_clone},         {"alternate", run_alternate},
	{"vdso", run_vdso},           {"stub", run_stub},
	{"uring", run_uring},
};

static bool run(const char *name)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (!strcmp(name, scenarios[i].name)) {
			scenarios[i].run();
			return true;
		}
	}
	return false;
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	free_one();
	printf("{\"ready\":true}\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		printf(run(line) ? "{\"ok\":true}\n" : "{\"error\":\"%s\"}\n", line);
	}
	return 0;
}
