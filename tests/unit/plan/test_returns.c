// SPDX-License-Identifier: Apache-2.0
/* Sites where results are settled, in functions given by their bytes. */
#include "check.h"

#include "plan/returns.h"
#include "unit/code/cfg_made.h"
#include "unit/plan/returns_made.h"

#define NO_SITE "a way to its end has no site"

/* --- functions ---------------------------------------------------------------------- */

static const char plain[] = "\x53"                 /* 0: push rbx */
			    "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			    "\x48\x89\xc3"         /* 6: mov rbx, rax */
			    "\x48\x85\xc0"         /* 9: test rax, rax */
			    "\x74\x05"             /* 12: je 19 */
			    "\xe8\xed\x3f\x00\x00" /* 14: call f */
			    "\x48\x89\xd8"         /* 19: mov rax, rbx */
			    "\x5b"                 /* 22: pop rbx */
			    "\xc3";                /* 23: ret */

static const char both_ways[] = "\x53"                 /* 0: push rbx */
				"\xe8\xfa\x4f\x00\x00" /* 1: call g */
				"\x48\x89\xc3"         /* 6: mov rbx, rax */
				"\x48\x85\xff"         /* 9: test rdi, rdi */
				"\x74\x05"             /* 12: je 19 */
				"\x48\x89\xd8"         /* 14: mov rax, rbx */
				"\x5b"                 /* 17: pop rbx */
				"\xc3"                 /* 18: ret */
				"\xb8\x07\x00\x00\x00" /* 19: mov eax, 0x7 */
				"\x5b"                 /* 24: pop rbx */
				"\xc3";                /* 25: ret */

static const char stepped[] = "\x53"                 /* 0: push rbx */
			      "\xe8\xfa\x4f\x00\x00" /* 1: call g */
			      "\x5b"                 /* 6: pop rbx */
			      "\xc3";                /* 7: ret */

static const char fails_stepped[] = "\x53"                 /* 0: push rbx */
				    "\xe8\xfa\x4f\x00\x00" /* 1: call g */
				    "\x48\x85\xff"         /* 6: test rdi, rdi */
				    "\x90"                 /* 9: nop */
				    "\x5b"                 /* 10: pop rbx */
				    "\xc3";                /* 11: ret */

static const char keeps_bp[] = "\x55"                 /* 0: push rbp */
			       "\x48\x89\xfd"         /* 1: mov rbp, rdi */
			       "\xe8\xf7\x4f\x00\x00" /* 4: call g */
			       "\x90"                 /* 9: nop */
			       "\x48\x89\xc5"         /* 10: mov rbp, rax */
			       "\xe8\xee\x4f\x00\x00" /* 13: call g */
			       "\x5d"                 /* 18: pop rbp */
			       "\xc3";                /* 19: ret */

static const char bp_gone[] = "\x48\x89\xfd"         /* 0: mov rbp, rdi */
			      "\xe8\xf8\x4f\x00\x00" /* 3: call g */
			      "\x90"                 /* 8: nop */
			      "\xc3";                /* 9: ret */

static const char frame_result[] = "\x48\x83\xec\x18"     /* 0: sub rsp, 0x18 */
				   "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				   "\x48\x89\x44\x24\x08" /* 9: mov [rsp+0x8], rax */
				   "\xe8\xed\x4f\x00\x00" /* 14: call g */
				   "\x90"                 /* 19: nop */
				   "\xe8\xe7\x4f\x00\x00" /* 20: call g */
				   "\x48\x8b\x44\x24\x08" /* 25: mov rax, [rsp+0x8] */
				   "\x48\x83\xc4\x18"     /* 30: add rsp, 0x18 */
				   "\xc3";                /* 34: ret */

static const char in_a_loop[] = "\x53"                 /* 0: push rbx */
				"\x48\x89\xfb"         /* 1: mov rbx, rdi */
				"\xe8\xf7\x4f\x00\x00" /* 4: call g */
				"\x90"                 /* 9: nop */
				"\x48\xff\xcb"         /* 10: dec rbx */
				"\x75\xf5"             /* 13: jne 4 */
				"\x5b"                 /* 15: pop rbx */
				"\xc3";                /* 16: ret */

static const char dear_call[] = "\x53"                 /* 0: push rbx */
				"\xe8\xfa\x4f\x00\x00" /* 1: call g */
				"\x48\x89\xc3"         /* 6: mov rbx, rax */
				"\xe8\xf2\x4f\x00\x00" /* 9: call g */
				"\x48\x89\xd8"         /* 14: mov rax, rbx */
				"\x5b"                 /* 17: pop rbx */
				"\xc3";                /* 18: ret */

/* --- sites that are found --------------------------------------------------------- */

#define AT(offset)                                                                       \
	{                                                                                \
		RETURN_FRAME, 0, (offset)                                                \
	}
#define BLOCK(reg)                                                                       \
	{                                                                                \
		RETURN_BLOCK, (reg), 0                                                   \
	}
#define WHEN(code) true, (code)

#define JE         4
#define JNE        5

static void places_of_results(void)
{
	struct world w = {0};

	WORLD(&w, plain);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 12, 8, 0, ALWAYS, {IN(INSN_RBX), OPEN}, true, false, OTHERS});
	WORLD(&w, frame_result);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 19, 24, 0, ALWAYS, {AT(8), OPEN}, true, false, OTHERS});
	WORLD(&w, posix);
	CHECK_SITES(&w, RESULT_OUT,
		    {BASE + 12,
		     8,
		     0,
		     WHEN(JE),
		     {BLOCK(INSN_RAX), IS(12)},
		     true,
		     false,
		     OTHERS});
	/* Only the lower half counts: 0 or 12. */
	CHECK_SITES(&w, RESULT_INT,
		    {BASE + 12, 8, 0, WHEN(JE), {IS(0), IS(12)}, true, false, OTHERS});
	/* The last site after which no function is called. */
	WORLD(&w, plain);
	CHECK_SITES(&w, RESULT_VOID,
		    {BASE + 19, 8, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS});
	returns_deinit(&w.returns);
}

static void conditions(void)
{
	struct world w = {0};

	WORLD(&w, one_way);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 11, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, false, OTHERS},
		    /* Few calls fail: this site is stepped, so that the site at 11 is not
		     * hit by calls that fail. */
		    {BASE + 14, 0, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS});
	WORLD(&w, both_ways);
	CHECK_SITES(
		&w, RESULT_WORD,
		{BASE + 12, 8, 0, WHEN(JE), {IN(INSN_RBX), IS(7)}, true, false, OTHERS});
	/* Only the way out of the loop. */
	WORLD(&w, in_a_loop);
	CHECK_SITES(
		&w, RESULT_WORD,
		{BASE + 13, 8, 0, WHEN(JNE), {IN(INSN_RAX), OPEN}, true, false, OTHERS});
	returns_deinit(&w.returns);
}

static void frame_pointers(void)
{
	struct world w = {0};

	WORLD(&w, keeps_bp);
	w.returns.emulated = 0;
	/* The caller's rbp is on the stack, or back in the register. */
	w.taken = BASE + 18;
	CHECK_SITES(
		&w, RESULT_WORD,
		{BASE + 19, 0, 0, ALWAYS, {IN(INSN_RAX), OPEN}, false, false, OTHERS});
	WORLD(&w, keeps_bp);
	w.returns.emulated = 0;
	w.taken = BASE + 19;
	CHECK_SITES(
		&w, RESULT_WORD,
		{BASE + 18, 8, 1, ALWAYS, {IN(INSN_RAX), OPEN}, false, false, OTHERS});
	/* The caller's rbp is lost. */
	WORLD(&w, bp_gone);
	CHECK_NONE(&w, RESULT_WORD, NO_SITE);
	returns_deinit(&w.returns);
}

static void prices(void)
{
	struct world w = {0};

	/* A stepped instruction, if no other is found. */
	WORLD(&w, stepped);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, false, false, OTHERS});
	WORLD(&w, fails_stepped);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 9, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, false, OTHERS});
	/* Without nops that are emulated no emulated site is found. */
	WORLD(&w, fails_stepped);
	w.returns.emulated = EMULATED_PUSH;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, false, false, OTHERS});
	/* A call, if the kernel emulates it. */
	WORLD(&w, dear_call);
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 6, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, false, false, OTHERS});
	WORLD(&w, dear_call);
	w.returns.emulated = ALL | EMULATED_CALL;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 9, 8, 0, ALWAYS, {IN(INSN_RBX), OPEN}, true, false, OTHERS});
	/* A failing path may be stepped if the other path has an emulated site. */
	WORLD(&w, one_way);
	w.taken = BASE + 3;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 11, 8, 0, ALWAYS, {IN(INSN_RAX), OPEN}, true, false, OTHERS},
		    {BASE + 14, 0, 0, ALWAYS, {IS(0), OPEN}, false, false, OTHERS});
	returns_deinit(&w.returns);
}

static void others_have_a_say(void)
{
	struct world w = {0};

	/* Another tracer has a probe at the best place. */
	WORLD(&w, both_ways);
	w.taken = BASE + 12;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 14, 8, 0, ALWAYS, {IN(INSN_RBX), OPEN}, false, false, OTHERS},
		    {BASE + 19, 8, 0, ALWAYS, {IS(7), OPEN}, false, false, OTHERS});
	/* All of the code in memory is compared. */
	for (uint64_t at = 0; at < sizeof(plain) - 1; at++) {
		WORLD(&w, plain);
		w.changed = BASE + at;
		CHECK_NONE(&w, RESULT_WORD, "it has changed");
	}
	WORLD(&w, plain);
	w.changed = BASE + sizeof(plain) - 1;
	CHECK_SITES(&w, RESULT_WORD,
		    {BASE + 12, 8, 0, ALWAYS, {IN(INSN_RBX), OPEN}, true, false, OTHERS});
	CHECK_INT(w.checks, 1);
	returns_deinit(&w.returns);
}

int main(void)
{
	RUN(places_of_results);
	RUN(conditions);
	RUN(frame_pointers);
	RUN(prices);
	RUN(others_have_a_say);
	return check_done();
}
