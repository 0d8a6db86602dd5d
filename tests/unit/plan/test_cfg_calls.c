// SPDX-License-Identifier: Apache-2.0
/* Where control-flow graphs end: at calls that do not return, and at jumps to other
 * functions. */
#include "check.h"

#include "unit/code/cfg_made.h"
#include "unit/plan/cfg_graph.h"

#define INDIRECT "a jump is indirect"

/* --- functions ---------------------------------------------------------------------- */

static const char dies[] = DIES;

static const char dies_at_end[] = DIES "\x66\x90"      /* 18: xchg ax, ax: a nop */
				       "\x0f\x1f\x00"; /* 20: nop [rax] */

static const char dies_in_helper[] = "\x53"                 /* 0: push rbx */
				     "\x48\x85\xff"         /* 1: test rdi, rdi */
				     "\x74\x05"             /* 4: je 11 */
				     "\xe8\xf5\x3f\x00\x00" /* 6: call f */
				     "\xe8\xf0\x4f\x00\x00" /* 11: call g */
				     "\x5b"                 /* 16: pop rbx */
				     "\xc3";                /* 17: ret */

static const char helper_dies[] = "\x53"                 /* 0: push rbx */
				  "\xe8\xfa\x1f\x00\x00" /* 1: call die */
				  "\x90";                /* 6: nop */

static const char helper_returns[] = "\x53"                 /* 0: push rbx */
				     "\xe8\xfa\x0f\x00\x00" /* 1: call g */
				     "\x5b"                 /* 6: pop rbx */
				     "\xc3";                /* 7: ret */

static const char helper_wraps[] = "\x53"                 /* 0: push rbx */
				   "\xe8\xfa\x0f\x00\x00" /* 1: call g */
				   "\x90"                 /* 6: nop */
				   "\x5b"                 /* 7: pop rbx */
				   "\xc3";                /* 8: ret */

static const char helper_branches[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
				      "\x74\x06"             /* 3: je 11 */
				      "\xe8\xf6\x1f\x00\x00" /* 5: call die */
				      "\x90"                 /* 10: nop */
				      "\xc3";                /* 11: ret */

static const char calls_pointer_at_end[] = "\x53"         /* 0: push rbx */
					   "\x48\x85\xff" /* 1: test rdi, rdi */
					   "\x74\x02"     /* 4: je 8 */
					   "\x5b"         /* 6: pop rbx */
					   "\xc3"         /* 7: ret */
					   "\xff\xd0"     /* 8: call rax */
					   "\x66\x90";    /* 10: xchg ax, ax: a nop */

static const char returns_before_label[] = "\x53"                 /* 0: push rbx */
					   "\xe8\xfa\x5f\x00\x00" /* 1: call die */
					   "\x90"                 /* 6: nop */
					   "\xe8\xf4\x4f\x00\x00" /* 7: call g */
					   "\x48\xff\xcb"         /* 12: dec rbx */
					   "\x75\xf6"             /* 15: jne 7 */
					   "\x5b"                 /* 17: pop rbx */
					   "\xc3";                /* 18: ret */

static const char again[] = "\x48\x85\xff" /* 0: test rdi, rdi */
			    "\x74\x05"     /* 3: je 10 */
			    "\x48\xff\xcf" /* 5: dec rdi */
			    "\xeb\xf6"     /* 8: jmp 0 */
			    "\xc3";        /* 10: ret */

static const char traps[] = "\x48\x85\xff" /* 0: test rdi, rdi */
			    "\x74\x02"     /* 3: je 7 */
			    "\x0f\x0b"     /* 5: ud2 */
			    "\xc3";        /* 7: ret */

static const char through_register[] = "\x48\x85\xff" /* 0: test rdi, rdi */
				       "\x74\x02"     /* 3: je 7 */
				       "\xff\xe0"     /* 5: jmp rax */
				       "\xc3";        /* 7: ret */

static const char switches[] = "\x53"      /* 0: push rbx */
			       "\xff\xe0"; /* 1: jmp rax */

/* --- code that is understood ------------------------------------------------------ */

static void tail_calls(void)
{
	struct code code;
	struct cfg cfg;
	const struct cfg_insn *way;

	READ(&code, tail_call, &cfg);
	CHECK_INT(insn_at(&cfg, 7)->exit, CFG_LEAVES);
	CHECK_INT(insn_at(&cfg, 7)->callee.kind, CALLEE_HERE);
	CHECK_INT(insn_at(&cfg, 7)->callee.address, F);
	CHECK_INT(insn_at(&cfg, 1)->callee.address, G);
	CHECK(insn_at(&cfg, 0)->returns);
	cfg_deinit(&cfg);

	/* The way out of the function is a pseudo instruction. */
	READ(&code, conditional_tail_call, &cfg);
	CHECK_INT(cfg.insns.len, 5);
	way = &cfg.insns.data[insn_at(&cfg, 3)->next[0]];
	CHECK(way->is_pseudo);
	CHECK_INT(way->exit, CFG_LEAVES);
	CHECK_INT(way->callee.kind, CALLEE_HERE);
	CHECK_INT(way->callee.address, F);
	CHECK_INT(next_of(&cfg, 3, 1), 9);
	cfg_deinit(&cfg);

	/* A jump by a pointer: the target is unknown. */
	READ(&code, through_register, &cfg);
	CHECK_INT(insn_at(&cfg, 5)->exit, CFG_LEAVES);
	CHECK_INT(insn_at(&cfg, 5)->callee.kind, CALLEE_OTHER);
	cfg_deinit(&cfg);

	/* With a frame it is taken for a switch. */
	CHECK_NONE(switches, INDIRECT);

	/* The function calls itself. */
	READ(&code, again, &cfg);
	CHECK_INT(insn_at(&cfg, 8)->exit, CFG_LEAVES);
	CHECK_INT(insn_at(&cfg, 8)->callee.address, BASE);
	cfg_deinit(&cfg);
}

static void split_functions(void)
{
	struct code code;
	struct cfg cfg;
	const struct cfg_insn *cold;

	CODE(&code, splits);
	CHECK_STR(read_code(&code, &cfg), NO_CODE);
	cfg_deinit(&cfg);

	CODE_ADD(&code, COLD, splits_cold);
	code.source.extent = NULL;
	CHECK_STR(read_code(&code, &cfg), LEAVES);
	cfg_deinit(&cfg);
	code.source.extent = code_extent;
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(cfg.insns.len, 8);
	CHECK_INT(next_of(&cfg, 4, 0), COLD - BASE);
	cold = &cfg.insns.data[insn_at(&cfg, 4)->next[0]];
	CHECK_INT(cold->sp_delta, 8);
	CHECK(cold->returns);
	CHECK_INT(next_of(&cfg, COLD - BASE + 2, 0), 10);
	cfg_deinit(&cfg);

	/* Without a frame the cold part counts as another function. */
	CODE(&code, "\x48\x85\xff\x0f\x88\xf7\x1f\0\0\xc3");
	CODE_ADD(&code, COLD, splits_cold);
	REQUIRE(!read_code(&code, &cfg));
	CHECK(cfg.insns.data[insn_at(&cfg, 3)->next[0]].is_pseudo);
	CHECK_INT(cfg.insns.data[insn_at(&cfg, 3)->next[0]].callee.address, COLD);
	cfg_deinit(&cfg);
}

static void calls_that_do_not_return(void)
{
	struct callees callees = {.known = {{CALLEE_ENDS, DIE}, {CALLEE_FIRST, G}},
				  .known_count = 2};
	struct code code;
	struct cfg cfg;

	/* The call is at the end of the function. */
	READ(&code, dies, &cfg);
	CHECK_INT(insn_at(&cfg, 13)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 13)->returns);
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	cfg_deinit(&cfg);

	/* Only nops follow, up to the end of the function. */
	READ(&code, dies_at_end, &cfg);
	CHECK_INT(insn_at(&cfg, 13)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 18) && !insn_at(&cfg, 20));
	cfg_deinit(&cfg);

	/* A call by a pointer. */
	READ(&code, calls_pointer_at_end, &cfg);
	CHECK_INT(insn_at(&cfg, 8)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 10));
	cfg_deinit(&cfg);

	/* A branch goes to the code after the nops, but not to the nops. */
	READ(&code, dies_before_label, &cfg);
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 11));
	cfg_deinit(&cfg);

	/* The called function has a return instruction: -O0 emits nops anywhere. */
	CODE(&code, dies_before_label);
	CODE_ADD(&code, DIE, helper_returns);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	CHECK_INT(next_of(&cfg, 6, 0), 11);
	cfg_deinit(&cfg);
	CODE(&code, dies_before_label);
	CODE_ADD(&code, DIE, helper_dies);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_ENDS);
	cfg_deinit(&cfg);

	/* No branch goes to the code after the nops: the call returns. */
	READ(&code, dies_with_nops, &cfg);
	CHECK_INT(insn_at(&cfg, 13)->exit, CFG_GOES_ON);
	CHECK(insn_at(&cfg, 20) && insn_at(&cfg, 20)->returns);
	cfg_deinit(&cfg);

	/* Known by name. */
	CODE(&code, dies_with_nops);
	code.source.callees = &callees;
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 13)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 18) && !insn_at(&cfg, 20));
	CHECK_INT(insn_at(&cfg, 6)->callee.kind, CALLEE_FIRST);
	cfg_deinit(&cfg);

	READ(&code, traps, &cfg);
	CHECK_INT(insn_at(&cfg, 5)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 5)->returns);
	cfg_deinit(&cfg);
}

/* The called function is straight-line code up to a call with a nop after it, so it is
 * assumed not to return. The code after the call to it does not show that. */
static void calls_of_functions_that_do_not_return(void)
{
	struct code code;
	struct cfg cfg;

	CODE(&code, dies_in_helper);
	CODE_ADD(&code, F, helper_dies);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_ENDS);
	CHECK(!insn_at(&cfg, 6)->returns);
	CHECK(insn_at(&cfg, 11) && insn_at(&cfg, 11)->returns);
	cfg_deinit(&cfg);

	/* No nop after its call, or a path around its call. */
	CODE(&code, dies_in_helper);
	CODE_ADD(&code, F, helper_returns);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	CHECK_INT(next_of(&cfg, 6, 0), 11);
	cfg_deinit(&cfg);
	CODE(&code, dies_in_helper);
	CODE_ADD(&code, F, helper_branches);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	cfg_deinit(&cfg);

	/* There is a nop, but also a return instruction after it, as with -O0. */
	CODE(&code, dies_in_helper);
	CODE_ADD(&code, F, helper_wraps);
	REQUIRE(!read_code(&code, &cfg));
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	cfg_deinit(&cfg);

	/* The called function cannot be read. */
	READ(&code, dies_in_helper, &cfg);
	CHECK_INT(insn_at(&cfg, 6)->exit, CFG_GOES_ON);
	cfg_deinit(&cfg);
}

/* The nop after a call that returns aligns a loop. Only the loop's own jump, after the
 * call, goes there. */
static void calls_before_loops(void)
{
	struct code code;
	struct cfg cfg;

	READ(&code, returns_before_label, &cfg);
	CHECK_INT(insn_at(&cfg, 1)->exit, CFG_GOES_ON);
	CHECK(insn_at(&cfg, 1)->returns);
	cfg_deinit(&cfg);
}

int main(void)
{
	RUN(tail_calls);
	RUN(split_functions);
	RUN(calls_that_do_not_return);
	RUN(calls_of_functions_that_do_not_return);
	RUN(calls_before_loops);
	return check_done();
}
