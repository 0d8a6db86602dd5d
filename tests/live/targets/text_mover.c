// SPDX-License-Identifier: Apache-2.0
/*
 * Moves its own code with mremap. It has PIECES pieces of code, one on each page. A piece
 * calls its argument; pieces differ only in the sizes of their frames. Each line of input
 * is a command:
 *
 *    call I         Piece I, at its current place, allocates TIMES blocks. The answer has
 *                   their size, which identifies the place, and the return address of
 *                   the call in the piece.
 *    free I         Move piece I to an unused place.
 *    onto I J       Move piece I over piece J.
 *    keep I J       Move a copy of piece I over piece J; piece I stays.
 *    swap I J       Exchange pieces I and J.
 *    copy I J       Move anonymous memory with a copy of piece J over piece I.
 *    fork 0         Fork a child, which takes the following commands. Wait for its end.
 *    children I N   N children, one after another, call piece I and end.
 *    grandchildren I N
 *                   A child of each child calls piece I.
 *    held I J       Like keep. A second thread calls piece J while the mremap waits.
 *    realloc N      Grow and shrink a block by mremap N times.
 *
 * The prefix "raw_" makes a command call mremap without the C library.
 */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7; for files 5.13 */
#endif

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define PAGE   4096
#define PIECES 16
#define TIMES  50

/* The code is position-independent. Each piece fills its frame with its return address,
 * so that the unwind rule of another piece yields a caller, too. */
__asm__(".section .text.pieces,\"ax\",@progbits\n"
	".balign 4096\n"
	".globl pieces\n"
	"pieces:\n"
	".set frame, 24\n"
	".rept 16\n" /* PIECES */
	"	.balign 4096\n"
	"	.cfi_startproc\n"
	"	sub $frame, %rsp\n"
	"	.cfi_adjust_cfa_offset frame\n"
	"	mov frame(%rsp), %rax\n"
	"	mov %rdi, %rdx\n"
	"	mov %rsp, %rdi\n"
	"	mov $frame / 8, %ecx\n"
	"	rep stosq\n"
	"	call *%rdx\n"
	"	add $frame, %rsp\n"
	"	.cfi_adjust_cfa_offset -frame\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.set frame, frame + 64\n"
	".endr\n"
	".balign 4096\n"
	".text\n");
extern char pieces[];

static char *place[PIECES];
static void *volatile last;
static void *volatile returns_to;
static int size;
static volatile unsigned sink;

NOINLINE static void callback_allocates(void)
{
	returns_to = __builtin_return_address(0);
	for (int i = 0; i < TIMES; i++)
		last = malloc((size_t)size);
	sink++;
}

NOINLINE static void call_piece(char *at)
{
	void (*piece)(void (*)(void)) = NULL;

	memcpy(&piece, &at, sizeof(piece));
	piece(callback_allocates);
	sink++;
}

static int is_raw;

static void move(char *from, char *to, int flags)
{
	void *at;

	flags |= MREMAP_MAYMOVE | MREMAP_FIXED;
	at = is_raw ? (void *)syscall(SYS_mremap, from, PAGE, PAGE, flags, to)
		    : mremap(from, PAGE, PAGE, flags, to);
	if (at != to) {
		perror("mremap");
		exit(3);
	}
}

static char *new_places;

/* An address where nothing is mapped. */
static char *new_place(void)
{
	static char *next;

	if (!next)
		next = mmap(NULL, PIECES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (next == MAP_FAILED)
		exit(4);
	new_places = new_places ? new_places : next;
	next += PAGE;
	return next - PAGE;
}

/* Programs that put their code on huge pages do the same. */
static void move_copy(char *of, char *to)
{
	char *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (copy == MAP_FAILED)
		exit(9);
	memcpy(copy, of, PAGE);
	if (mprotect(copy, PAGE, PROT_READ | PROT_EXEC))
		exit(10);
	move(copy, to, 0);
}

static void swap(int i, int j)
{
	char *between = new_place(), *other = place[j];

	move(place[i], between, 0);
	move(other, place[i], 0);
	move(between, other, 0);
	place[j] = place[i];
	place[i] = other;
}

/* malloc maps such a large block separately, so it grows by mremap. */
static void reallocate(int times)
{
	char *block = malloc(1 << 20);

	for (int i = 0; i < times; i++) {
		char *other = realloc(block, (size_t)(1 + (i & 1)) << 20);

		if (!other)
			exit(5);
		block = other;
	}
	last = block;
}

static int size_at(const char *at)
{
	ptrdiff_t page = at >= pieces && at < pieces + PIECES * PAGE
				 ? (at - pieces) / PAGE
				 : (at - new_places) / PAGE + PIECES;

	return 4000 + (int)page;
}

__attribute__((always_inline)) static inline void call_at(char *at)
{
	size = size_at(at);
	call_piece(at);
}

NOINLINE static void have_children(int i, int count, int generations)
{
	pid_t own_pid = getpid();

	while (count--) {
		pid_t pid = fork();

		for (int k = 1; !pid && k < generations; k++)
			pid = fork();
		if (!pid)
			call_at(place[i]);
		else
			waitpid(pid, NULL, 0);
		if (getpid() != own_pid)
			_exit(0);
	}
}

/* --- a move that takes long ------------------------------------------------------- */

/* Returns the descriptor that receives calls of mremap, before they have any effect. */
static int hold_moves(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		exit(11);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

struct meanwhile {
	int calls; /* descriptor from hold_moves() */
	char *at;
};

static void *call_meanwhile(void *arg)
{
	const struct meanwhile *m = arg;
	struct seccomp_notif call = {0};
	struct seccomp_notif_resp answer = {0};

	if (ioctl(m->calls, SECCOMP_IOCTL_NOTIF_RECV, &call))
		exit(12);
	call_at(m->at);
	/* Enough time for memtrace to find the unwind rules. */
	usleep(300000);
	answer.id = call.id;
	answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(m->calls, SECCOMP_IOCTL_NOTIF_SEND, &answer))
		exit(13);
	return NULL;
}

static void move_slowly(char *from, char *to)
{
	struct meanwhile meanwhile = {hold_moves(), to};
	pthread_t thread;

	if (meanwhile.calls < 0 ||
	    pthread_create(&thread, NULL, call_meanwhile, &meanwhile))
		exit(14);
	move(from, to, MREMAP_DONTUNMAP);
	pthread_join(thread, NULL);
}

NOINLINE static void obey(const char *name, int i, int j)
{
	is_raw = !strncmp(name, "raw_", 4);
	name += is_raw ? 4 : 0;
	if (!strcmp(name, "realloc")) {
		reallocate(i);
		return;
	}
	if (!strcmp(name, "fork")) {
		pid_t pid = fork();

		if (pid > 0) {
			waitpid(pid, NULL, 0);
			exit(0);
		}
		return;
	}
	if (i < 0 || i >= PIECES)
		exit(6);
	if (!strcmp(name, "call")) {
		call_at(place[i]);
		return;
	}
	if (!strcmp(name, "children") || !strcmp(name, "grandchildren")) {
		have_children(i, j, name[0] == 'g' ? 2 : 1);
		return;
	}
	if (!strcmp(name, "free")) {
		char *to = new_place();

		move(place[i], to, 0);
		place[i] = to;
		return;
	}
	if (j < 0 || j >= PIECES)
		exit(7);
	if (!strcmp(name, "swap")) {
		swap(i, j);
		return;
	}
	if (!strcmp(name, "copy")) {
		move_copy(place[j], place[i]);
		return;
	}
	if (!strcmp(name, "held"))
		move_slowly(place[i], place[j]);
	else if (!strcmp(name, "onto") || !strcmp(name, "keep"))
		move(place[i], place[j], name[0] == 'k' ? MREMAP_DONTUNMAP : 0);
	else
		exit(8);
	place[i] = place[j];
}

int main(void)
{
	char line[64], name[32];
	int i, j;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < PIECES; i++)
		place[i] = pieces + i * PAGE;
	printf("{\"ready\":\"text_mover\"}\n");
	while (fgets(line, sizeof(line), stdin)) {
		i = j = 0;
		if (sscanf(line, "%31s %d %d", name, &i, &j) < 2)
			return 2;
		obey(name, i, j);
		printf("{\"done\":true,\"size\":%d,\"returns_to\":%ld}\n", size,
		       (long)(intptr_t)returns_to);
	}
	return 0;
}
