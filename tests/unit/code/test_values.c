// SPDX-License-Identifier: Apache-2.0
/* Finds the places of results and arguments, in functions given by their bytes. */
#include "check.h"

#include "code/values.h"
#include "unit/code/cfg_made.h"
#include "unit/code/values_found.h"

/* --- functions ---------------------------------------------------------------------- */

static const char copies[] = "\x53"                 /* 0: push rbx */
			     "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			     "\x48\x89\xc3"         /* 6: mov rbx, rax */
			     "\xe8\xf2\x3f\x00\x00" /* 9: call f */
			     "\x48\x89\xd8"         /* 14: mov rax, rbx */
			     "\x5b"                 /* 17: pop rbx */
			     "\xc3";                /* 18: ret */

static const char constants[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
				"\x74\x08"             /* 3: je 13 */
				"\x78\x0b"             /* 5: js 18 */
				"\xb8\x05\x00\x00\x00" /* 7: mov eax, 0x5 */
				"\xc3"                 /* 12: ret */
				"\x48\x83\xc8\xff" /* 13: or rax, 0xffffffffffffffff */
				"\xc3"             /* 17: ret */
				"\x31\xc0"         /* 18: xor eax, eax */
				"\xc3";            /* 20: ret */

static const char filled[] = "\x53"                 /* 0: push rbx */
			     "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			     "\x48\x89\xc3"         /* 6: mov rbx, rax */
			     "\x48\x85\xc0"         /* 9: test rax, rax */
			     "\x74\x08"             /* 12: je 22 */
			     "\x48\x89\xc7"         /* 14: mov rdi, rax */
			     "\xe8\xea\x3f\x00\x00" /* 17: call f */
			     "\x48\x89\xd8"         /* 22: mov rax, rbx */
			     "\x5b"                 /* 25: pop rbx */
			     "\xc3";                /* 26: ret */

static const char returns_first[] = "\x53"                 /* 0: push rbx */
				    "\xe8\xfa\x4f\x00\x00" /* 1: call g */
				    "\x48\x89\xc7"         /* 6: mov rdi, rax */
				    "\x31\xf6"             /* 9: xor esi, esi */
				    "\xe8\xf0\x3f\x00\x00" /* 11: call f */
				    "\x5b"                 /* 16: pop rbx */
				    "\xc3";                /* 17: ret */

static const char leaves_first[] = "\x53"                  /* 0: push rbx */
				   "\xe8\xfa\x4f\x00\x00"  /* 1: call g */
				   "\x48\x89\xc7"          /* 6: mov rdi, rax */
				   "\x5b"                  /* 9: pop rbx */
				   "\xe9\xf1\x3f\x00\x00"; /* 10: jmp f */

static const char posix_late[] = "\x53"                 /* 0: push rbx */
				 "\x48\x89\xfb"         /* 1: mov rbx, rdi */
				 "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				 "\x48\x89\x03"         /* 9: mov [rbx], rax */
				 "\x48\x8b\x0a"         /* 12: mov rcx, [rdx] */
				 "\x48\x89\x0a"         /* 15: mov [rdx], rcx */
				 "\x31\xc0"             /* 18: xor eax, eax */
				 "\x5b"                 /* 20: pop rbx */
				 "\xc3";                /* 21: ret */

static const char posix_other[] = "\x53"                 /* 0: push rbx */
				  "\x48\x89\xf3"         /* 1: mov rbx, rsi */
				  "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				  "\x48\x89\x03"         /* 9: mov [rbx], rax */
				  "\x31\xc0"             /* 12: xor eax, eax */
				  "\x5b"                 /* 14: pop rbx */
				  "\xc3";                /* 15: ret */

static const char joins[] = "\x53"                 /* 0: push rbx */
			    "\x48\x85\xff"         /* 1: test rdi, rdi */
			    "\x74\x0a"             /* 4: je 16 */
			    "\xe8\xf5\x4f\x00\x00" /* 6: call g */
			    "\x48\x89\xc3"         /* 11: mov rbx, rax */
			    "\xeb\x08"             /* 14: jmp 24 */
			    "\xe8\xeb\x3f\x00\x00" /* 16: call f */
			    "\x48\x89\xc3"         /* 21: mov rbx, rax */
			    "\xe8\xe3\x4f\x00\x00" /* 24: call g */
			    "\x48\x89\xd8"         /* 29: mov rax, rbx */
			    "\x5b"                 /* 32: pop rbx */
			    "\xc3";                /* 33: ret */

static const char differs[] = "\x53"         /* 0: push rbx */
			      "\x48\x85\xff" /* 1: test rdi, rdi */
			      "\x74\x05"     /* 4: je 11 */
			      "\x48\x89\xd8" /* 6: mov rax, rbx */
			      "\x5b"         /* 9: pop rbx */
			      "\xc3"         /* 10: ret */
			      "\x48\x89\xf0" /* 11: mov rax, rsi */
			      "\x5b"         /* 14: pop rbx */
			      "\xc3";        /* 15: ret */

static const char counts[] = "\x31\xc0"     /* 0: xor eax, eax */
			     "\x48\xff\xc0" /* 2: inc rax */
			     "\x48\xff\xcf" /* 5: dec rdi */
			     "\x75\xf8"     /* 8: jne 2 */
			     "\x90"         /* 10: nop */
			     "\xc3";        /* 11: ret */

static const char keeps[] = "\x48\x89\xf0" /* 0: mov rax, rsi */
			    "\x48\xff\xcf" /* 3: dec rdi */
			    "\x75\xfb"     /* 6: jne 3 */
			    "\xc3";        /* 8: ret */

static const char endless[] = "\x48\x89\xf8" /* 0: mov rax, rdi */
			      "\xeb\xfe";    /* 3: jmp 3 */

static const char halves[] = "\x53"                 /* 0: push rbx */
			     "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			     "\x89\xc3"             /* 6: mov ebx, eax */
			     "\xe8\xf3\x3f\x00\x00" /* 8: call f */
			     "\x89\xd8"             /* 13: mov eax, ebx */
			     "\x5b"                 /* 15: pop rbx */
			     "\xc3";                /* 16: ret */

static const char without[] = "\x53"                 /* 0: push rbx */
			      "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			      "\x48\x85\xff"         /* 6: test rdi, rdi */
			      "\x74\x05"             /* 9: je 16 */
			      "\xe8\xf0\x3f\x00\x00" /* 11: call f */
			      "\x5b"                 /* 16: pop rbx */
			      "\xc3";                /* 17: ret */

static const char without_leaves[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
				     "\x74\x05"             /* 3: je 10 */
				     "\xe9\xf6\x3f\x00\x00" /* 5: jmp f */
				     "\xc3";                /* 10: ret */

static const char product[] = "\x53"                 /* 0: push rbx */
			      "\x48\x89\xf8"         /* 1: mov rax, rdi */
			      "\x48\xf7\xe6"         /* 4: mul rsi */
			      "\x48\x89\xc3"         /* 7: mov rbx, rax */
			      "\xe8\xf1\x4f\x00\x00" /* 10: call g */
			      "\x5b"                 /* 15: pop rbx */
			      "\xc3";                /* 16: ret */

static const char square[] = "\x48\x0f\xaf\xff"     /* 0: imul rdi, rdi */
			     "\x48\x0f\xaf\xf7"     /* 4: imul rsi, rdi */
			     "\xe8\xf3\x4f\x00\x00" /* 8: call g */
			     "\xc3";                /* 13: ret */

/* --- results ------------------------------------------------------------------------ */

static void copies_of_registers(void)
{
	struct found f;

	FIND(&f, copies, RESULT_WORD);
	CHECK_IN(&f, 0, 0);
	CHECK_IN(&f, 1, 0);
	CHECK_IN(&f, 6, REG(INSN_RAX));
	CHECK_IN(&f, 9, REG(INSN_RBX));
	CHECK_IN(&f, 14, REG(INSN_RBX));
	CHECK_IN(&f, 17, REG(INSN_RAX));
	CHECK_IN(&f, 18, REG(INSN_RAX));
	found_deinit(&f);

	/* Half a word is enough for an int, but not for a word. */
	FIND(&f, halves, RESULT_INT);
	CHECK_IN(&f, 6, REG(INSN_RAX));
	CHECK_IN(&f, 8, REG(INSN_RBX));
	found_deinit(&f);
	FIND(&f, halves, RESULT_WORD);
	CHECK_IN(&f, 8, 0);
	CHECK_IN(&f, 13, 0);
	CHECK_IN(&f, 15, REG(INSN_RAX));
	found_deinit(&f);
}

static void known_values(void)
{
	struct found f;

	FIND(&f, constants, RESULT_WORD);
	CHECK(!before(&f, 0)->is_known && !before(&f, 3)->is_known);
	CHECK(!result_is_settled(before(&f, 3), RESULT_WORD));
	CHECK_VALUE(&f, 7, 5);
	CHECK_VALUE(&f, 13, -1);
	CHECK_VALUE(&f, 18, 0);
	CHECK_IN(&f, 12, REG(INSN_RAX));
	found_deinit(&f);
}

static void callees_that_return_their_argument(void)
{
	struct found f;

	FIND(&f, returns_first, RESULT_WORD);
	CHECK_IN(&f, 6, 0);
	found_deinit(&f);
	FIND_FIRST(&f, returns_first, RESULT_WORD);
	CHECK_IN(&f, 6, REG(INSN_RAX));
	CHECK_IN(&f, 9, REG(INSN_RDI));
	CHECK_IN(&f, 11, REG(INSN_RDI));
	CHECK_IN(&f, 16, REG(INSN_RAX));
	found_deinit(&f);

	FIND(&f, leaves_first, RESULT_WORD);
	CHECK_IN(&f, 9, 0);
	found_deinit(&f);
	FIND_FIRST(&f, leaves_first, RESULT_WORD);
	CHECK_IN(&f, 6, REG(INSN_RAX));
	CHECK_IN(&f, 10, REG(INSN_RDI));
	found_deinit(&f);

	/* calloc() fills the block if there is one. */
	FIND_FIRST(&f, filled, RESULT_WORD);
	CHECK_IN(&f, 6, REG(INSN_RAX));
	CHECK_IN(&f, 12, REG(INSN_RBX));
	found_deinit(&f);
}

static void ways_that_meet(void)
{
	struct found f;

	FIND(&f, joins, RESULT_WORD);
	CHECK_IN(&f, 4, 0);
	CHECK_IN(&f, 11, REG(INSN_RAX));
	CHECK_IN(&f, 14, REG(INSN_RBX));
	CHECK_IN(&f, 21, REG(INSN_RAX));
	CHECK_IN(&f, 24, REG(INSN_RBX));
	found_deinit(&f);

	FIND(&f, differs, RESULT_WORD);
	CHECK_IN(&f, 4, 0);
	CHECK_IN(&f, 6, REG(INSN_RBX));
	CHECK_IN(&f, 11, REG(INSN_RSI));
	found_deinit(&f);
}

static void loops(void)
{
	struct found f;

	FIND(&f, counts, RESULT_WORD);
	CHECK_IN(&f, 0, 0);
	CHECK_IN(&f, 2, 0);
	CHECK_IN(&f, 5, 0);
	CHECK_IN(&f, 8, 0);
	CHECK_IN(&f, 10, REG(INSN_RAX));
	found_deinit(&f);

	FIND(&f, keeps, RESULT_WORD);
	CHECK_IN(&f, 0, REG(INSN_RSI));
	CHECK_IN(&f, 3, REG(INSN_RAX));
	found_deinit(&f);

	FIND(&f, endless, RESULT_WORD);
	CHECK(before(&f, 0)->is_any && before(&f, 3)->is_any);
	found_deinit(&f);
}

static void stored_blocks(void)
{
	struct found f;

	FIND(&f, posix, RESULT_OUT);
	/* The block is in rax, and the result is 0. */
	CHECK_VALUE(&f, 14, 0);
	CHECK(before(&f, 14)->out == REG(INSN_RAX));
	CHECK_VALUE(&f, 17, 0);
	CHECK(before(&f, 17)->out & PLACES_STORED);
	CHECK_VALUE(&f, 21, 12);
	CHECK(!result_is_settled(before(&f, 9), RESULT_OUT));
	CHECK(result_is_settled(before(&f, 14), RESULT_OUT));
	CHECK(result_is_settled(before(&f, 21), RESULT_OUT));
	CHECK(held(&f, 14, VALUE_ARG0) == REG(INSN_RBX));
	found_deinit(&f);

	/* A later store may be to the same address. */
	FIND(&f, posix_late, RESULT_OUT);
	CHECK(!before(&f, 15)->out);
	CHECK(!before(&f, 9)->out);
	CHECK(before(&f, 18)->out & PLACES_STORED);
	found_deinit(&f);

	/* That is not the first argument. */
	FIND(&f, posix_other, RESULT_OUT);
	CHECK(!before(&f, 9)->out);
	CHECK(!result_is_settled(before(&f, 9), RESULT_OUT));
	found_deinit(&f);
}

static void no_results(void)
{
	struct found f;

	FIND(&f, without, RESULT_VOID);
	CHECK(!before(&f, 1)->is_known);
	CHECK(!before(&f, 6)->is_known);
	CHECK(!before(&f, 11)->is_known);
	CHECK_VALUE(&f, 16, 0);
	CHECK_VALUE(&f, 17, 0);
	found_deinit(&f);

	FIND(&f, without_leaves, RESULT_VOID);
	CHECK(!before(&f, 0)->is_known);
	CHECK(!before(&f, 5)->is_known);
	CHECK_VALUE(&f, 10, 0);
	found_deinit(&f);
}

/* --- values since the entry ------------------------------------------------------- */

static void arguments(void)
{
	struct found f;

	FIND(&f, copies, RESULT_WORD);
	CHECK(held(&f, 0, VALUE_ARG0) == REG(INSN_RDI));
	CHECK(held(&f, 1, VALUE_ARG1) == REG(INSN_RSI));
	CHECK(held(&f, 6, VALUE_ARG0) == 0);
	found_deinit(&f);

	FIND(&f, vector_store, RESULT_WORD);
	CHECK(held(&f, 8, VALUE_ARG0) == (REG(INSN_RDI) | word(&f, 24)));
	CHECK(!(held(&f, 13, VALUE_ARG0) & word(&f, 24)));
	found_deinit(&f);
}

static void products(void)
{
	struct found f;

	FIND(&f, product, RESULT_WORD);
	CHECK(held(&f, 4, VALUE_PRODUCT) == 0);
	CHECK(held(&f, 7, VALUE_PRODUCT) == REG(INSN_RAX));
	CHECK(held(&f, 10, VALUE_PRODUCT) == (REG(INSN_RAX) | REG(INSN_RBX)));
	CHECK(held(&f, 15, VALUE_PRODUCT) == REG(INSN_RBX));
	CHECK(held(&f, 16, VALUE_PRODUCT) == 0);
	CHECK(held(&f, 7, VALUE_ARG0) == REG(INSN_RDI));
	found_deinit(&f);

	/* A product of other factors. */
	FIND(&f, square, RESULT_WORD);
	CHECK(held(&f, 4, VALUE_PRODUCT) == 0);
	CHECK(held(&f, 8, VALUE_PRODUCT) == 0);
	found_deinit(&f);
}

int main(void)
{
	RUN(copies_of_registers);
	RUN(known_values);
	RUN(callees_that_return_their_argument);
	RUN(ways_that_meet);
	RUN(loops);
	RUN(stored_blocks);
	RUN(no_results);
	RUN(arguments);
	RUN(products);
	return check_done();
}
