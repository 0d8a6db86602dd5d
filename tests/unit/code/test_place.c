// SPDX-License-Identifier: Apache-2.0
/* Sites in functions given by their bytes. */
#include "check.h"

#include "code/decode.h"
#include "code/place.h"
#include "unit/code/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ALL          (EMULATED_BRANCH | EMULATED_PUSH | EMULATED_NOPS)
#define PUSH         "push, emulated"
#define JCC          "conditional jump, emulated"
#define JMP          "jump, emulated"
#define NOP          "nop, emulated"
#define FIRST        "first instruction: nothing better proven"
#define MOVED        "first instruction: no emulated one before the stack pointer moves"
#define NO           PLACE_NO_REGISTER
#define NONE         0x40 /* a bit without a meaning: not an omitted field */

struct function {
	const char *code;
	size_t size;
	struct place_request request;
};

#define FUNCTION(bytes, ...)                                                             \
	(struct function)                                                                \
	{                                                                                \
		bytes, sizeof(bytes) - 1,                                                \
		{                                                                        \
			__VA_ARGS__                                                      \
		}                                                                        \
	}

/* Fills in omitted fields of a request: argument 0 is needed, the kernel is new. */
static struct place placed(const struct function *f)
{
	struct place_request request = f->request;
	struct place place;

	if (!request.arguments)
		request.arguments = 1;
	if (!request.emulated)
		request.emulated = ALL;
	CHECK(place_choose((const uint8_t *)f->code, f->size, &request, &place));
	return place;
}

/* Checks a place for entry and return, or for the entry only. `rdi`: register of argument
 * 0. */
static void check(struct function f, uint32_t entry, int32_t sp, uint8_t rdi,
		  const char *reason)
{
	struct place place = placed(&f);
	bool emulated = strncmp(reason, "first", 5) != 0;

	CHECK_INT(place.entry_delta, entry);
	CHECK_INT(place.sp_delta, sp);
	CHECK_INT(place.arg_reg[0], rdi);
	CHECK_INT(place.emulated, emulated);
	CHECK_INT(place.return_delta, f.request.wants_return ? entry : 0);
	CHECK_STR(place.reason, reason);
}

#define RETURNS .wants_return = true

static void emulated_instructions(void)
{
	/* push r12; ret */
	check(FUNCTION("\x41\x54\xc3", RETURNS), 0, 0, INSN_RDI, PUSH);
	/* endbr64; push rbx */
	check(FUNCTION("\xf3\x0f\x1e\xfa\x53\xc3", RETURNS), 4, 0, INSN_RDI, PUSH);
	/* cmp byte [rip], 0; je +2 */
	check(FUNCTION("\x80\x3d\0\0\0\0\0\x74\x02\xc3", RETURNS), 7, 0, INSN_RDI, JCC);
	/* cmp rdi, 0x1000; ja, of 32 bits */
	check(FUNCTION("\x48\x81\xff\0\x10\0\0\x0f\x87\0\x01\0\0\xc3", RETURNS), 7, 0,
	      INSN_RDI, JCC);
	/* endbr64; jmp elsewhere */
	check(FUNCTION("\xf3\x0f\x1e\xfa\xe9\0\0\x01\0", RETURNS), 4, 0, INSN_RDI, JMP);
	/* test edi, edi; nop */
	check(FUNCTION("\x85\xff\x90\xc3", RETURNS), 2, 0, INSN_RDI, NOP);
	/* endbr64; nopl [rax+rax] */
	check(FUNCTION("\xf3\x0f\x1e\xfa\x0f\x1f\x44\0\0\xc3", RETURNS), 4, 0, INSN_RDI,
	      NOP);
	/* test edi, edi before the nop: the kernel may turn a nop of five bytes into a
	 * call, which is safe only at the beginning of a function */
	check(FUNCTION("\x85\xff\x0f\x1f\x44\0\0\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\x85\xff\x0f\x1f\x40\0\xc3", RETURNS), 2, 0, INSN_RDI, NOP);
	/* the same nop, encoded differently than the kernel's */
	check(FUNCTION("\xf3\x0f\x1e\xfa\x0f\x1f\x44\0\x01\xc3", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	check(FUNCTION("\xf3\x0f\x1e\xfa\x66\x90\xc3", RETURNS), 4, 0, INSN_RDI, NOP);
	/* push with a REX that push_setup_xol_ops() does not know */
	check(FUNCTION("\x48\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	/* bnd jmp; je with a branch hint */
	check(FUNCTION("\xf3\x0f\x1e\xfa\xf2\xe9\0\0\x01\0", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	check(FUNCTION("\x85\xff\x3e\x74\x02\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	/* endbr64; call elsewhere */
	check(FUNCTION("\xf3\x0f\x1e\xfa\xe8\0\0\x01\0\xc3", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	check(FUNCTION("\xf3\x0f\x1e\xfa\xe8\0\0\x01\0\xc3", RETURNS,
		       .emulated = ALL | EMULATED_CALL),
	      4, 0, INSN_RDI, "call, emulated");
}

static void by_kernel(void)
{
	/* push rbx; then: test rdi, rdi; push rbp; nopl; je */
	static const char push[] = "\x53\xc3";
	static const char more[] = "\x48\x85\xff\x55\x0f\x1f\0\x74\x10\xc3";

	check(FUNCTION(push, .emulated = EMULATED_BRANCH), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION(push, .emulated = EMULATED_PUSH), 0, 0, INSN_RDI, PUSH);
	check(FUNCTION(more, .emulated = ALL), 3, 0, INSN_RDI, PUSH);
	check(FUNCTION(more, .emulated = EMULATED_NOPS), 4, 8, INSN_RDI, NOP);
	check(FUNCTION(more, .emulated = EMULATED_BRANCH), 7, 8, INSN_RDI, JCC);
	check(FUNCTION(more, .emulated = NONE), 0, 0, INSN_RDI, FIRST);

	CHECK_INT(emulated_by_kernel(3, 10), 0);
	CHECK_INT(emulated_by_kernel(4, 15), EMULATED_BRANCH);
	CHECK_INT(emulated_by_kernel(4, 16), EMULATED_BRANCH | EMULATED_PUSH);
	CHECK_INT(emulated_by_kernel(6, 15), EMULATED_BRANCH | EMULATED_PUSH);
	CHECK_INT(emulated_by_kernel(6, 16), ALL);
	CHECK_INT(emulated_by_kernel(7, 0), ALL);
}

/* mimalloc's malloc and calloc copy the size to another register before the jump. */
static void arguments_that_move(void)
{
	/* mov rax, [rip]; mov rsi, rdi; mov rdi, fs:[rax]; cmp rsi, 0x400; ja */
	check(FUNCTION("\x48\x8b\x05\0\0\0\0\x48\x89\xfe\x64\x48\x8b\x38"
		       "\x48\x81\xfe\0\x04\0\0\x77\x29\xc3",
		       RETURNS),
	      21, 0, INSN_RSI, JCC);

	/* mov rdx, [rip]; mov rax, rdi; mov rdi, fs:[rdx]; cmp rax, 1; je */
	static const char calloc_code[] = "\x48\x8b\x15\0\0\0\0\x48\x89\xf8\x64\x48\x8b"
					  "\x3a\x48\x83\xf8\x01\x74\x08\x48\xf7\xe6\xc3";
	struct function f = FUNCTION(calloc_code, .arguments = 3);
	struct place place = placed(&f);

	CHECK_INT(place.entry_delta, 18);
	CHECK_INT(place.arg_reg[0], INSN_RAX);
	CHECK_INT(place.arg_reg[1], INSN_RSI);
	CHECK_INT(place.arg_reg[2], NO); /* mov rdx */
	CHECK_INT(place.arg_reg[3], INSN_RCX);
	CHECK_INT(place.arg_reg[5], 9);

	/* If rdx is needed, no such site is found. */
	check(FUNCTION(calloc_code, .arguments = 7), 0, 0, INSN_RDI, FIRST);

	/* mov rbx, rdi; mov rdi, rsi; xor esi, esi; push rbx */
	f = FUNCTION("\x48\x89\xfb\x48\x89\xf7\x31\xf6\x53\xc3", .arguments = 3);
	place = placed(&f);
	CHECK_INT(place.entry_delta, 8);
	CHECK_INT(place.arg_reg[0], INSN_RBX);
	CHECK_INT(place.arg_reg[1], INSN_RDI);
	/* mov rax, rdi: both registers hold the argument, and its own one is preferred */
	check(FUNCTION("\x48\x89\xf8\x53\xc3", RETURNS), 3, 0, INSN_RDI, PUSH);
	/* mov rax, rdi; xchg rdi, rsi; push: an exchange does not copy */
	check(FUNCTION("\x48\x89\xf8\x48\x87\xfe\x53\xc3", RETURNS), 6, 0, INSN_RAX,
	      PUSH);
	/* mov rdi, rdi; push */
	check(FUNCTION("\x48\x89\xff\x53\xc3", RETURNS), 3, 0, INSN_RDI, PUSH);
}

/* Arguments that are overwritten in whole or in part. */
static void arguments_lost(void)
{
	static const struct function functions[] = {
		/* mov ebx, edi; xor edi, edi; push rbp */
		{"\x89\xfb\x31\xff\x55\xc3", 6, {0}},
		/* add edi, 7; push rbp */
		{"\x83\xc7\x07\x55\xc3", 5, {0}},
		/* mov edi, edi; push rbp */
		{"\x89\xff\x55\xc3", 4, {0}},
		/* pop rdi; push rdi */
		{"\x5f\x57\xc3", 3, {0}},
		/* mov rax, rdi; mul rsi; xor edi, edi; push rbp: a product is not an
		 * argument */
		{"\x48\x89\xf8\x48\xf7\xe6\x31\xff\x55\xc3", 10, {0}},
		/* movsxd rdi, edi; push rbp */
		{"\x48\x63\xff\x55\xc3", 5, {0}},
		/* cmovne rdi, rax; push rbp */
		{"\x48\x0f\x45\xf8\x55\xc3", 6, {0}},
		/* mov rdi, [rsp-8]; push rbp */
		{"\x48\x8b\x7c\x24\xf8\x55\xc3", 7, {0}},
	};

	for (size_t i = 0; i < COUNT(functions); i++) {
		struct function f = functions[i];

		check(f, 0, 0, INSN_RDI, FIRST);
		f.request.wants_return = true;
		check(f, 0, 0, INSN_RDI, FIRST);
		/* An argument that is not needed may be lost. */
		f.request.arguments = NONE;
		CHECK_INT(placed(&f).emulated, i != 3);
	}
}

static void the_line_ends(void)
{
	/* push after a call, a jump, ret or an unknown opcode: */
	check(FUNCTION("\xe8\0\0\x01\0\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\xff\xe0\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\xff\xd0\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\xc3\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\xe3\x10\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\x0f\xa2\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\x06\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\x48\x83\xe4\xf0\x53\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	/* a push that is cut off; a jcc without its distance */
	check(FUNCTION("\xf3\x0f\x1e\xfa\x41", RETURNS), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION("\x48\x85\xff\x0f\x84\0\0", RETURNS), 0, 0, INSN_RDI, FIRST);

	/* the 24th instruction, and one more: test eax, eax; ... push */
	char code[64];

	for (unsigned i = 0; i < 24; i++)
		memcpy(code + 2 * i, "\x85\xc0", 2);
	memcpy(code + 46, "\x53\xc3", 2);
	check((struct function){code, 48, {0}}, 46, 0, INSN_RDI, PUSH);
	memcpy(code + 46, "\x85\xc0\x53\xc3", 4);
	check((struct function){code, 50, {0}}, 0, 0, INSN_RDI, FIRST);
}

static void branch_targets(void)
{
	/* test edi, edi; again: push rbx; ...; jmp again */
	check(FUNCTION("\x85\xff\x53\x5b\xeb\xfc\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	/* the loop starts before the push: again: test eax, eax; push; pop; jne */
	check(FUNCTION("\x85\xff\x85\xc0\x53\x5b\x75\xfa\xc3", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	/* ... after it */
	check(FUNCTION("\x85\xff\x53\x85\xc0\x75\xfc\xc3", RETURNS), 2, 0, INSN_RDI,
	      PUSH);
	/* into the middle of the instruction before it: mov eax, 0x10f; push; jne */
	check(FUNCTION("\xb8\x0f\x01\0\0\x53\x75\xfa\xc3", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	/* a call and a jump to the function's first byte count as calls of the
	 * function */
	check(FUNCTION("\x85\xff\x53\xe8\xf8\xff\xff\xff\xc3", RETURNS), 2, 0, INSN_RDI,
	      PUSH);
	check(FUNCTION("\x85\xff\x53\x5b\xe9\xf7\xff\xff\xff\xc3", RETURNS), 2, 0,
	      INSN_RDI, PUSH);
	/* a call of the push itself */
	check(FUNCTION("\x85\xff\x53\xe8\xfa\xff\xff\xff\xc3", RETURNS), 0, 0, INSN_RDI,
	      FIRST);
	/* jrcxz back to the push */
	check(FUNCTION("\x85\xff\x53\xe3\xfd\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);

	/* After an unknown instruction any byte may begin a branch: jne back, */
	check(FUNCTION("\x85\xff\x53\x06\x75\xfc\xc3", RETURNS), 0, 0, INSN_RDI, FIRST);
	/* je of 32 bits, jmp, xbegin; not only at the byte after the opcode */
	check(FUNCTION("\x85\xff\x53\x06\x06\x0f\x84\xf7\xff\xff\xff\xc3", RETURNS), 0, 0,
	      INSN_RDI, FIRST);
	check(FUNCTION("\x85\xff\x53\x06\x06\xe9\xf8\xff\xff\xff\xc3", RETURNS), 0, 0,
	      INSN_RDI, FIRST);
	check(FUNCTION("\x85\xff\x53\x06\x06\xc7\xf8\xf7\xff\xff\xff\xc3", RETURNS), 0, 0,
	      INSN_RDI, FIRST);
	/* They may go to the instruction after the push: jmp, je of 32 bits, jne. */
	check(FUNCTION("\x85\xff\x53\x06\x06\xe9\xf9\xff\xff\xff\xc3", RETURNS), 2, 0,
	      INSN_RDI, PUSH);
	check(FUNCTION("\x85\xff\x53\x06\x06\x0f\x84\xf8\xff\xff\xff\xc3", RETURNS), 2, 0,
	      INSN_RDI, PUSH);
	check(FUNCTION("\x85\xff\x53\x06\x75\xfd\xc3", RETURNS), 2, 0, INSN_RDI, PUSH);
	/* a branch to another address does not matter */
	check(FUNCTION("\x85\xff\x53\x06\x06\xe9\xf8\xff\xff\x0f\xc3", RETURNS), 2, 0,
	      INSN_RDI, PUSH);
}

static void stack_pointer(void)
{
	/* sub rsp, 0x18; test rdi, rdi; je */
	static const char framed[] = "\x48\x83\xec\x18\x48\x85\xff\x74\x10\xc3";
	/* push 1; test; je: the push is single-stepped, and the je is 8 bytes deeper */
	static const char pushed[] = "\x6a\x01\x48\x85\xff\x74\x10\xc3";

	check(FUNCTION(framed), 7, 0x18, INSN_RDI, JCC);
	check(FUNCTION(framed, RETURNS), 0, 0, INSN_RDI, MOVED);
	check(FUNCTION(pushed), 5, 8, INSN_RDI, JCC);
	/* sub rsp, 8; add rsp, 8; jmp */
	check(FUNCTION("\x48\x83\xec\x08\x48\x83\xc4\x08\xe9\0\0\x01\0", RETURNS), 8, 0,
	      INSN_RDI, JMP);
	/* pop rax; jmp: the return address is gone */
	check(FUNCTION("\x58\xe9\0\0\x01\0", RETURNS), 0, 0, INSN_RDI, FIRST);

	/* sub rsp, 8; nop; xor edi, edi; add rsp, 8; jmp: separate places for entry and
	 * return */
	struct function f = FUNCTION("\x48\x83\xec\x08\x90\x31\xff\x48\x83\xc4\x08"
				     "\xe9\0\0\x01\0",
				     RETURNS);
	struct place place = placed(&f);

	CHECK_INT(place.entry_delta, 4);
	CHECK_INT(place.sp_delta, 8);
	CHECK_INT(place.return_delta, 11);
	CHECK(place.emulated);
	CHECK_STR(place.reason, NOP);
}

static void null_of_free(void)
{
	/* test rdi, rdi; je; push rbp; ret */
	static const char code[] = "\x48\x85\xff\x74\x10\x55\xc3";

	check(FUNCTION(code, .frees = true), 3, 0, INSN_RDI, JCC);
	check(FUNCTION(code, .frees = true, RETURNS), 3, 0, INSN_RDI, JCC);
	check(FUNCTION(code, .frees = true, .emulated = EMULATED_PUSH), 5, 0, INSN_RDI,
	      PUSH);
	check(FUNCTION(code, .emulated = EMULATED_PUSH), 0, 0, INSN_RDI, FIRST);

	static const struct function others[] = {
		/* test of rsi and rdi together */
		{"\x48\x85\xfe\x74\x10\x55\xc3", 7, {0}},
		/* jne; je long after the test; test of rsi; of edi; je into the straight
		 * line */
		{"\x48\x85\xff\x75\x10\x55\xc3", 7, {0}},
		{"\x48\x85\xff\x31\xc0\x74\x10\x55\xc3", 9, {0}},
		{"\x48\x85\xf6\x74\x10\x55\xc3", 7, {0}},
		{"\x85\xff\x74\x10\x55\xc3", 6, {0}},
		{"\x48\x85\xff\x74\x00\x55\xc3", 7, {0}},
		/* a second test */
		{"\x48\x85\xff\x74\x10\x48\x85\xff\x74\x10\x55\xc3", 12, {0}},
	};

	for (size_t i = 0; i < COUNT(others); i++) {
		struct function f = others[i];

		f.request = (struct place_request){
			.arguments = 1, .emulated = EMULATED_PUSH, .frees = true};
		check(f, 0, 0, INSN_RDI, FIRST);
	}
	/* mov rax, rdi; test rax, rax; je of 32 bits; push */
	check(FUNCTION("\x48\x89\xf8\x48\x85\xc0\x0f\x84\0\x01\0\0\x55\xc3",
		       .frees = true, .emulated = EMULATED_PUSH),
	      12, 0, INSN_RDI, PUSH);
}

/* glibc's munmap: mov eax, 11; syscall; cmp rax, -4095; jae */
static void system_call(void)
{
	static const char code[] = "\xb8\x0b\0\0\0\x0f\x05\x48\x3d\x01\xf0\xff\xff"
				   "\x73\x10\xc3";

	check(FUNCTION(code, RETURNS, .arguments = 3), 0, 0, INSN_RDI, FIRST);
	check(FUNCTION(code, RETURNS, .arguments = 3, .past_syscall = true), 13, 0,
	      INSN_RDI, JCC);
	/* A system call overwrites rcx. */
	check(FUNCTION(code, RETURNS, .arguments = 8, .past_syscall = true), 0, 0,
	      INSN_RDI, FIRST);
}

static void refused(void)
{
	static const struct function functions[] = {
		{"", 0, {.emulated = ALL}},
		{"\xf0\xff\xcf\x53", 4, {.emulated = ALL}}, /* lock dec edi */
		{"\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x53", 11, {.emulated = EMULATED_NOPS}},
		{"\x3e\xff\xe0", 3, {.emulated = ALL}}, /* notrack jmp */
		{"\x0f\x05\xc3", 3, {.emulated = ALL}}, /* syscall */
		{"\xcc\x53", 2, {.emulated = ALL}},     /* int3 */
		{"\x41\x90\xc3", 3, {.emulated = ALL}}, /* xchg r8d, eax */
	};

	for (size_t i = 0; i < COUNT(functions); i++) {
		const struct function *f = &functions[i];
		struct place place;

		CHECK(!place_choose((const uint8_t *)f->code, f->size, &f->request,
				    &place));
		CHECK_CONTAINS(place.reason, "kernel takes no probe");
	}
	/* Refused instructions may be passed: xchg r8, rax, and lock dec. */
	check(FUNCTION("\x49\x90\x53\xc3", RETURNS), 2, 0, INSN_RDI, PUSH);
	check(FUNCTION("\xf0\xff\x0f\x53", RETURNS), 3, 0, INSN_RDI, PUSH);
}

static void random_bytes(void)
{
	struct guarded g = guarded_map(96);
	uint64_t state = 7;
	unsigned emulated = 0;

	for (unsigned i = 0; i < 100000; i++) {
		size_t size = i % 97;
		uint8_t *code = g.end - size;
		struct place place;

		for (size_t j = 0; j < size; j++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			code[j] = (uint8_t)(state >> 56);
		}

		const struct place_request request = {
			.arguments = state >> 20 & 0x3f,
			.emulated = state >> 28 & 0xf,
			.wants_return = state >> 32 & 1,
			.frees = state >> 33 & 1,
			.past_syscall = state >> 34 & 1,
		};

		if (!place_choose(code, size, &request, &place))
			continue;
		emulated += place.emulated;
		if (place.entry_delta >= size || place.return_delta >= size ||
		    place.sp_delta < 0 || !place.reason)
			CHECK_FAIL("outside of the code");
		for (unsigned n = 0; n < PLACE_ARGUMENTS; n++)
			if (place.arg_reg[n] >= INSN_REGISTERS &&
			    (place.arg_reg[n] != NO || request.arguments & 1u << n))
				CHECK_FAIL("argument %u in %u", n, place.arg_reg[n]);
	}
	CHECK(emulated > 1000);
	guarded_unmap(&g);
}

int main(void)
{
	RUN(emulated_instructions);
	RUN(by_kernel);
	RUN(arguments_that_move);
	RUN(arguments_lost);
	RUN(the_line_ends);
	RUN(branch_targets);
	RUN(stack_pointer);
	RUN(null_of_free);
	RUN(system_call);
	RUN(refused);
	RUN(random_bytes);
	return check_done();
}
