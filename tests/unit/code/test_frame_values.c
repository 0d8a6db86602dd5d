// SPDX-License-Identifier: Apache-2.0
/* Finds the places of results and arguments in words of the frame, which other code may
 * write. */
#include "check.h"

#include "code/values.h"
#include "unit/code/values_found.h"

/* --- functions ---------------------------------------------------------------------- */

static const char frame_word[] = "\x48\x83\xec\x18"     /* 0: sub rsp, 0x18 */
				 "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				 "\x48\x89\x44\x24\x08" /* 9: mov [rsp+0x8], rax */
				 "\xe8\xed\x3f\x00\x00" /* 14: call f */
				 "\x48\x8b\x44\x24\x08" /* 19: mov rax, [rsp+0x8] */
				 "\x48\x83\xc4\x18"     /* 24: add rsp, 0x18 */
				 "\xc3";                /* 28: ret */

static const char rbp_word[] = "\x55"                 /* 0: push rbp */
			       "\x48\x89\xe5"         /* 1: mov rbp, rsp */
			       "\x48\x83\xec\x20"     /* 4: sub rsp, 0x20 */
			       "\xe8\xf3\x4f\x00\x00" /* 8: call g */
			       "\x48\x89\x45\xf8"     /* 13: mov [rbp-0x8], rax */
			       "\xe8\xea\x3f\x00\x00" /* 17: call f */
			       "\x48\x8b\x45\xf8"     /* 22: mov rax, [rbp-0x8] */
			       "\xc9"                 /* 26: leave */
			       "\xc3";                /* 27: ret */

static const char pushed[] = "\xe8\xfb\x4f\x00\x00" /* 0: call g */
			     "\x50"                 /* 5: push rax */
			     "\x48\x85\xff"         /* 6: test rdi, rdi */
			     "\x58"                 /* 9: pop rax */
			     "\xc3";                /* 10: ret */

static const char escaped[] = "\x48\x83\xec\x18"     /* 0: sub rsp, 0x18 */
			      "\xe8\xf7\x4f\x00\x00" /* 4: call g */
			      "\x48\x89\x44\x24\x08" /* 9: mov [rsp+0x8], rax */
			      "\x48\x8d\x7c\x24\x08" /* 14: lea rdi, [rsp+0x8] */
			      "\xe8\xe8\x3f\x00\x00" /* 19: call f */
			      "\x48\x8b\x44\x24\x08" /* 24: mov rax, [rsp+0x8] */
			      "\x48\x83\xc4\x18"     /* 29: add rsp, 0x18 */
			      "\xc3";                /* 33: ret */

static const char escaped_below[] = "\x48\x83\xec\x18"     /* 0: sub rsp, 0x18 */
				    "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				    "\x48\x89\x44\x24\x08" /* 9: mov [rsp+0x8], rax */
				    "\x48\x89\xe7"         /* 14: mov rdi, rsp */
				    "\xe8\xea\x3f\x00\x00" /* 17: call f */
				    "\x48\x8b\x44\x24\x08" /* 22: mov rax, [rsp+0x8] */
				    "\x48\x83\xc4\x18"     /* 27: add rsp, 0x18 */
				    "\xc3";                /* 31: ret */

static const char escaped_above[] = "\x48\x83\xec\x28"     /* 0: sub rsp, 0x28 */
				    "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				    "\x48\x89\x44\x24\x08" /* 9: mov [rsp+0x8], rax */
				    "\x48\x8d\x7c\x24\x10" /* 14: lea rdi, [rsp+0x10] */
				    "\xe8\xe8\x3f\x00\x00" /* 19: call f */
				    "\x48\x8b\x44\x24\x08" /* 24: mov rax, [rsp+0x8] */
				    "\x48\x83\xc4\x28"     /* 29: add rsp, 0x28 */
				    "\xc3";                /* 33: ret */

static const char pushed_local[] = "\x50"                 /* 0: push rax */
				   "\x48\x89\xe7"         /* 1: mov rdi, rsp */
				   "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				   "\x48\x8b\x04\x24"     /* 9: mov rax, [rsp] */
				   "\x59"                 /* 13: pop rcx */
				   "\xc3";                /* 14: ret */

static const char pushed_halves[] = "\x50"             /* 0: push rax */
				    "\x89\x0c\x24"     /* 1: mov [rsp], ecx */
				    "\x89\x54\x24\x04" /* 4: mov [rsp+0x4], edx */
				    "\x48\x8b\x04\x24" /* 8: mov rax, [rsp] */
				    "\x59"             /* 12: pop rcx */
				    "\xc3";            /* 13: ret */

static const char by_rbp[] = "\x55"                 /* 0: push rbp */
			     "\x48\x83\xec\x10"     /* 1: sub rsp, 0x10 */
			     "\x48\x89\xe5"         /* 5: mov rbp, rsp */
			     "\xe8\xf3\x4f\x00\x00" /* 8: call g */
			     "\x48\x89\x04\x24"     /* 13: mov [rsp], rax */
			     "\x48\x89\xef"         /* 17: mov rdi, rbp */
			     "\xe8\xe7\x3f\x00\x00" /* 20: call f */
			     "\x48\x8b\x04\x24"     /* 25: mov rax, [rsp] */
			     "\x48\x83\xc4\x10"     /* 29: add rsp, 0x10 */
			     "\x5d"                 /* 33: pop rbp */
			     "\xc3";                /* 34: ret */

static const char string_store[] = "\x48\x83\xec\x18" /* 0: sub rsp, 0x18 */
				   "\x48\x89\x3c\x24" /* 4: mov [rsp], rdi */
				   "\x48\x89\xe7"     /* 8: mov rdi, rsp */
				   "\xf3\xaa" /* 11: rep stos BYTE PTR es:[rdi], al */
				   "\x48\x8b\x04\x24" /* 13: mov rax, [rsp] */
				   "\x48\x83\xc4\x18" /* 17: add rsp, 0x18 */
				   "\xc3";            /* 21: ret */

static const char red_zone[] = "\xe8\xfb\x4f\x00\x00" /* 0: call g */
			       "\x48\x89\x44\x24\xf8" /* 5: mov [rsp-0x8], rax */
			       "\x48\x85\xff"         /* 10: test rdi, rdi */
			       "\x48\x8b\x44\x24\xf8" /* 13: mov rax, [rsp-0x8] */
			       "\xc3";                /* 18: ret */

static const char red_zone_call[] = "\xe8\xfb\x4f\x00\x00" /* 0: call g */
				    "\x48\x89\x44\x24\xf8" /* 5: mov [rsp-0x8], rax */
				    "\xe8\xf1\x3f\x00\x00" /* 10: call f */
				    "\x48\x8b\x44\x24\xf8" /* 15: mov rax, [rsp-0x8] */
				    "\xc3";                /* 20: ret */

static const char red_zone_push[] = "\xe8\xfb\x4f\x00\x00" /* 0: call g */
				    "\x48\x89\x44\x24\xf8" /* 5: mov [rsp-0x8], rax */
				    "\x57"                 /* 10: push rdi */
				    "\x5f"                 /* 11: pop rdi */
				    "\x48\x8b\x44\x24\xf8" /* 12: mov rax, [rsp-0x8] */
				    "\xc3";                /* 17: ret */

static const char below_red_zone[] =
	"\x48\x81\xec\x00\x01\x00\x00"     /* 0: sub rsp, 0x100 */
	"\x48\x89\x3c\x24"                 /* 7: mov [rsp], rdi */
	"\x48\x81\xc4\x00\x01\x00\x00"     /* 11: add rsp, 0x100 */
	"\x90"                             /* 18: nop */
	"\x48\x8b\x84\x24\x00\xff\xff\xff" /* 19: mov rax, [rsp-0x100] */
	"\xc3";                            /* 27: ret */

static const char pushed_twice[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
				   "\x74\x07"             /* 3: je 12 */
				   "\x53"                 /* 5: push rbx */
				   "\xe8\xf5\x4f\x00\x00" /* 6: call g */
				   "\x5b"                 /* 11: pop rbx */
				   "\x50"                 /* 12: push rax */
				   "\x48\x89\xe7"         /* 13: mov rdi, rsp */
				   "\xe8\xeb\x4f\x00\x00" /* 16: call g */
				   "\x48\x8b\x04\x24"     /* 21: mov rax, [rsp] */
				   "\x59"                 /* 25: pop rcx */
				   "\xc3";                /* 26: ret */

/* --- results ------------------------------------------------------------------------ */

static void frame_words(void)
{
	struct found f;

	FIND(&f, frame_word, RESULT_WORD);
	CHECK_IN(&f, 9, REG(INSN_RAX));
	CHECK_IN(&f, 14, word(&f, 16));
	CHECK_IN(&f, 19, word(&f, 16));
	found_deinit(&f);

	FIND(&f, rbp_word, RESULT_WORD);
	CHECK_IN(&f, 13, REG(INSN_RAX));
	CHECK_IN(&f, 17, word(&f, 16));
	CHECK_IN(&f, 22, word(&f, 16));
	CHECK(held(&f, 17, VALUE_BP) == word(&f, 8));
	CHECK(held(&f, 27, VALUE_BP) & REG(INSN_RBP));
	found_deinit(&f);

	FIND(&f, pushed, RESULT_WORD);
	CHECK_IN(&f, 5, REG(INSN_RAX));
	CHECK_IN(&f, 6, word(&f, 8));
	CHECK_IN(&f, 9, word(&f, 8));
	found_deinit(&f);
}

/* Code that has an address may write there, and nearer to the return address. */
static void words_of_others(void)
{
	struct found f;

	FIND(&f, escaped, RESULT_WORD);
	CHECK_IN(&f, 19, 0);
	CHECK_IN(&f, 9, 0);
	CHECK_IN(&f, 24, word(&f, 16));
	found_deinit(&f);

	FIND(&f, escaped_below, RESULT_WORD);
	CHECK_IN(&f, 17, 0);
	CHECK_IN(&f, 22, word(&f, 16));
	found_deinit(&f);

	FIND(&f, escaped_above, RESULT_WORD);
	CHECK_IN(&f, 19, word(&f, 32));
	CHECK_IN(&f, 9, REG(INSN_RAX));
	found_deinit(&f);

	/* clang makes room for a word with a push: the pushed value does not count. */
	FIND(&f, pushed_local, RESULT_WORD);
	CHECK_IN(&f, 9, word(&f, 8));
	CHECK_IN(&f, 4, 0);
	CHECK_IN(&f, 0, 0);
	found_deinit(&f);
	/* On another path the same word is a saved register. */
	FIND(&f, pushed_twice, RESULT_WORD);
	CHECK_IN(&f, 21, word(&f, 8));
	CHECK_IN(&f, 16, 0);
	CHECK_IN(&f, 12, 0);
	found_deinit(&f);
	FIND(&f, pushed_halves, RESULT_WORD);
	CHECK_IN(&f, 8, word(&f, 8));
	CHECK_IN(&f, 1, 0);
	CHECK_IN(&f, 0, 0);
	found_deinit(&f);

	/* The address is passed through rbp. */
	FIND(&f, by_rbp, RESULT_WORD);
	CHECK_IN(&f, 25, word(&f, 24));
	CHECK_IN(&f, 20, 0);
	CHECK_IN(&f, 13, 0);
	found_deinit(&f);

	/* By instructions whose effect is unknown. */
	FIND(&f, vector_store, RESULT_WORD);
	CHECK_IN(&f, 13, word(&f, 24));
	CHECK_IN(&f, 8, 0);
	CHECK_IN(&f, 4, 0);
	found_deinit(&f);
	FIND(&f, string_store, RESULT_WORD);
	CHECK_IN(&f, 13, word(&f, 24));
	CHECK_IN(&f, 11, 0);
	found_deinit(&f);
}

static void red_zones(void)
{
	struct found f;

	FIND(&f, red_zone, RESULT_WORD);
	CHECK_IN(&f, 5, REG(INSN_RAX));
	CHECK_IN(&f, 10, word(&f, 8));
	found_deinit(&f);
	FIND(&f, red_zone_call, RESULT_WORD);
	CHECK_IN(&f, 15, word(&f, 8));
	CHECK_IN(&f, 10, 0);
	found_deinit(&f);
	FIND(&f, red_zone_push, RESULT_WORD);
	CHECK_IN(&f, 12, word(&f, 8));
	CHECK_IN(&f, 10, REG(INSN_RDI));
	CHECK_IN(&f, 5, REG(INSN_RDI));
	found_deinit(&f);
	/* A signal handler may overwrite it. */
	FIND(&f, below_red_zone, RESULT_WORD);
	CHECK_IN(&f, 19, word(&f, 256));
	CHECK_IN(&f, 11, 0);
	CHECK_IN(&f, 7, 0);
	CHECK(!(held(&f, 18, VALUE_ARG0) & word(&f, 256)));
	found_deinit(&f);
}

/* --- values since the entry ------------------------------------------------------- */

static void saved_rbp(void)
{
	struct found f;

	FIND(&f, by_rbp, RESULT_WORD);
	CHECK(held(&f, 0, VALUE_BP) == REG(INSN_RBP));
	/* An address on the stack does not reach a saved register. */
	CHECK(held(&f, 8, VALUE_BP) == word(&f, 8));
	CHECK(held(&f, 25, VALUE_BP) == word(&f, 8));
	CHECK(held(&f, 34, VALUE_BP) & REG(INSN_RBP));
	found_deinit(&f);
}

int main(void)
{
	RUN(frame_words);
	RUN(words_of_others);
	RUN(red_zones);
	RUN(saved_rbp);
	return check_done();
}
