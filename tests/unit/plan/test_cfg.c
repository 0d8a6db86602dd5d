// SPDX-License-Identifier: Apache-2.0
/* Control-flow graphs of functions given by their bytes. */
#include "check.h"

#include "plan/returns.h"
#include "code/values.h"
#include "elf/elf.h"
#include "unit/code/cfg_made.h"
#include "unit/code/guarded.h"
#include "unit/random.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define STACK    "the stack pointer moves in an unknown way"
#define BEHIND   "it goes on behind its end"
#define LEAVES   "a jump leaves the function"
#define INDIRECT "a jump is indirect"
#define TOO_LONG "it is too long"
#define OVERLAP  "instructions overlap"
#define UNKNOWN  "an instruction is not known"

/* --- functions ---------------------------------------------------------------------- */

static const char branches[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
			       "\x74\x06"             /* 3: je 11 */
			       "\xb8\x01\x00\x00\x00" /* 5: mov eax, 0x1 */
			       "\xc3"                 /* 10: ret */
			       "\x31\xc0"             /* 11: xor eax, eax */
			       "\xc3";                /* 13: ret */

static const char looping[] = "\x31\xc0"     /* 0: xor eax, eax */
			      "\x48\x01\xf8" /* 2: add rax, rdi */
			      "\x48\xff\xcf" /* 5: dec rdi */
			      "\x75\xf8"     /* 8: jne 2 */
			      "\xc3";        /* 10: ret */

static const char tail_call[] = "\x53"                  /* 0: push rbx */
				"\xe8\xfa\x4f\x00\x00"  /* 1: call g */
				"\x5b"                  /* 6: pop rbx */
				"\xe9\xf4\x3f\x00\x00"; /* 7: jmp f */

static const char conditional_tail_call[] = "\x48\x85\xff" /* 0: test rdi, rdi */
					    "\x0f\x84\xf7\x3f\x00\x00" /* 3: je f */
					    "\x48\x89\xf8" /* 9: mov rax, rdi */
					    "\xc3";        /* 12: ret */

static const char splits[] = "\x53"                     /* 0: push rbx */
			     "\x48\x85\xff"             /* 1: test rdi, rdi */
			     "\x0f\x88\xf6\x1f\x00\x00" /* 4: js cold */
			     "\x48\x89\xf8"             /* 10: mov rax, rdi */
			     "\x5b"                     /* 13: pop rbx */
			     "\xc3";                    /* 14: ret */

static const char splits_cold[] = "\x31\xc0"              /* 0: xor eax, eax */
				  "\xe9\x03\xe0\xff\xff"; /* 2: jmp 10 */

/* One of two paths calls die(). That call is the last instruction. */
#define DIES                                                                             \
	"\x53"                 /* 0: push rbx */                                         \
	"\x48\x85\xff"         /* 1: test rdi, rdi */                                    \
	"\x74\x07"             /* 4: je 13 */                                            \
	"\xe8\xf5\x4f\x00\x00" /* 6: call g */                                           \
	"\x5b"                 /* 11: pop rbx */                                         \
	"\xc3"                 /* 12: ret */                                             \
	"\xe8\xee\x5f\x00\x00" /* 13: call die */

static const char dies[] = DIES;

static const char dies_with_nops[] = DIES "\x90"                 /* 18: nop */
					  "\x90"                 /* 19: nop */
					  "\xe8\xe7\x4f\x00\x00" /* 20: call g */
					  "\xeb\xeb";            /* 25: jmp 6 */

static const char dies_at_end[] = DIES "\x66\x90"      /* 18: xchg ax, ax: a nop */
				       "\x0f\x1f\x00"; /* 20: nop [rax] */

static const char dies_before_label[] = "\x53"                 /* 0: push rbx */
					"\x48\x85\xff"         /* 1: test rdi, rdi */
					"\x74\x06"             /* 4: je 12 */
					"\xe8\xf5\x5f\x00\x00" /* 6: call die */
					"\x90"                 /* 11: nop */
					"\xe8\xef\x4f\x00\x00" /* 12: call g */
					"\x5b"                 /* 17: pop rbx */
					"\xc3";                /* 18: ret */

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

static const char frame[] = "\x55"                 /* 0: push rbp */
			    "\x48\x89\xe5"         /* 1: mov rbp, rsp */
			    "\x53"                 /* 4: push rbx */
			    "\x48\x83\xec\x28"     /* 5: sub rsp, 0x28 */
			    "\xe8\xf2\x4f\x00\x00" /* 9: call g */
			    "\xc9"                 /* 14: leave */
			    "\xc3";                /* 15: ret */

static const char frame_lea[] = "\x55"                 /* 0: push rbp */
				"\x48\x89\xe5"         /* 1: mov rbp, rsp */
				"\x41\x54"             /* 4: push r12 */
				"\x53"                 /* 6: push rbx */
				"\x48\x83\xec\x20"     /* 7: sub rsp, 0x20 */
				"\xe8\xf0\x4f\x00\x00" /* 11: call g */
				"\x48\x8d\x65\xf0"     /* 16: lea rsp, [rbp-0x10] */
				"\x5b"                 /* 20: pop rbx */
				"\x41\x5c"             /* 21: pop r12 */
				"\x5d"                 /* 23: pop rbp */
				"\xc3";                /* 24: ret */

static const char pushes[] = "\x53"                 /* 0: push rbx */
			     "\x6a\x05"             /* 1: push 0x5 */
			     "\xff\x37"             /* 3: push [rdi] */
			     "\x48\x83\xec\x08"     /* 5: sub rsp, 0x8 */
			     "\xe8\xf2\x4f\x00\x00" /* 9: call g */
			     "\x48\x83\xc4\x18"     /* 14: add rsp, 0x18 */
			     "\x5b"                 /* 18: pop rbx */
			     "\xc3";                /* 19: ret */

static const char aligned_frame[] =
	"\x55"                 /* 0: push rbp */
	"\x48\x89\xe5"         /* 1: mov rbp, rsp */
	"\x48\x83\xe4\xe0"     /* 4: and rsp, 0xffffffffffffffe0 */
	"\x48\x83\xec\x40"     /* 8: sub rsp, 0x40 */
	"\xe8\xef\x4f\x00\x00" /* 12: call g */
	"\x48\x85\xc0"         /* 17: test rax, rax */
	"\xc9"                 /* 20: leave */
	"\xc3";                /* 21: ret */

static const char alloca_frame[] = "\x55"                 /* 0: push rbp */
				   "\x48\x89\xe5"         /* 1: mov rbp, rsp */
				   "\x48\x29\xfc"         /* 4: sub rsp, rdi */
				   "\xe8\xf4\x4f\x00\x00" /* 7: call g */
				   "\x48\x85\xc0"         /* 12: test rax, rax */
				   "\xc9"                 /* 15: leave */
				   "\xc3";                /* 16: ret */

static const char flags_saved[] = "\x9c"                 /* 0: pushf */
				  "\xe8\xfa\x4f\x00\x00" /* 1: call g */
				  "\x48\x85\xc0"         /* 6: test rax, rax */
				  "\x9d"                 /* 9: popf */
				  "\xc3";                /* 10: ret */

static const char swapped_stack[] = "\x53"                 /* 0: push rbx */
				    "\x48\x87\xdc"         /* 1: xchg rsp, rbx */
				    "\xe8\xf7\x4f\x00\x00" /* 4: call g */
				    "\x48\x87\xdc"         /* 9: xchg rsp, rbx */
				    "\x5b"                 /* 12: pop rbx */
				    "\xc3";                /* 13: ret */

static const char unbalanced[] = "\x53"         /* 0: push rbx */
				 "\x48\x85\xff" /* 1: test rdi, rdi */
				 "\x74\x01"     /* 4: je 7 */
				 "\x5b"         /* 6: pop rbx */
				 "\xc3";        /* 7: ret */

static const char bp_lost[] = "\x55"                 /* 0: push rbp */
			      "\x48\x85\xff"         /* 1: test rdi, rdi */
			      "\x74\x03"             /* 4: je 9 */
			      "\x48\x89\xe5"         /* 6: mov rbp, rsp */
			      "\xe8\xf2\x4f\x00\x00" /* 9: call g */
			      "\xc9"                 /* 14: leave */
			      "\xc3";                /* 15: ret */

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

/* --- rules for every graph -------------------------------------------------------- */

/* Checks what must be true for every graph. */
static void check_graph(const struct cfg *cfg)
{
	REQUIRE(cfg->entry < cfg->insns.len);
	CHECK(cfg->insns.data[cfg->entry].address == cfg->start);
	CHECK_INT(cfg->insns.data[cfg->entry].sp_delta, 0);
	for (size_t i = 0; i < cfg->insns.len; i++) {
		const struct cfg_insn *at = &cfg->insns.data[i];
		bool returns = at->exit == CFG_RETURNS || at->exit == CFG_LEAVES;

		CHECK(at->next_count <= CFG_SUCCESSORS);
		CHECK_INT(at->next_count > 0, at->exit == CFG_GOES_ON);
		CHECK(at->is_pseudo || at->insn.length > 0);
		CHECK(i == 0 || at->is_pseudo ||
		      cfg->insns.data[i - 1].address < at->address);
		CHECK(at->sp_delta >= 0);
		CHECK(at->exit != CFG_RETURNS || at->sp_delta == 0);
		for (uint8_t n = 0; n < at->next_count; n++) {
			REQUIRE(at->next[n] < cfg->insns.len);
			returns |= cfg->insns.data[at->next[n]].returns;
		}
		CHECK_INT(at->returns, returns);
	}
}

static const char *read_code(const struct code *code, struct cfg *ret)
{
	const char *why = cfg_read(&code->source, BASE, code->parts[0].size, ret);

	if (!why)
		check_graph(ret);
	return why;
}

#define CHECK_NONE(bytes, reason)                                                        \
	do {                                                                             \
		struct code code_;                                                       \
		struct cfg cfg_;                                                         \
		CODE(&code_, bytes);                                                     \
		CHECK_STR(read_code(&code_, &cfg_), (reason));                           \
		cfg_deinit(&cfg_);                                                       \
	} while (0)

/* Reads code that must be understood. */
#define READ(code, bytes, cfg)                                                           \
	do {                                                                             \
		CODE(code, bytes);                                                       \
		REQUIRE(!read_code(code, cfg));                                          \
	} while (0)

/* The offset of a following instruction. `way` 0 of a conditional jump is the taken one.
 * UINT64_MAX: none. */
static uint64_t next_of(const struct cfg *cfg, uint64_t offset, unsigned way)
{
	const struct cfg_insn *at = insn_at(cfg, offset);

	REQUIRE(at);
	return way < at->next_count ? cfg->insns.data[at->next[way]].address - BASE
				    : UINT64_MAX;
}

/* --- code that is understood ------------------------------------------------------ */

static void branches_and_loops(void)
{
	struct code code;
	struct cfg cfg;

	READ(&code, branches, &cfg);
	CHECK_INT(cfg.insns.len, 6);
	CHECK_INT(next_of(&cfg, 3, 0), 11);
	CHECK_INT(next_of(&cfg, 3, 1), 5);
	CHECK_INT(insn_at(&cfg, 3)->insn.condition, 4);
	CHECK_INT(insn_at(&cfg, 10)->exit, CFG_RETURNS);
	CHECK_INT(insn_at(&cfg, 13)->exit, CFG_RETURNS);
	cfg_deinit(&cfg);

	READ(&code, looping, &cfg);
	CHECK_INT(cfg.insns.len, 5);
	CHECK_INT(next_of(&cfg, 8, 0), 2);
	CHECK_INT(next_of(&cfg, 8, 1), 10);
	cfg_deinit(&cfg);

	/* It never returns: jmp 0 */
	READ(&code, "\x31\xc0\xeb\xfe", &cfg);
	CHECK(!insn_at(&cfg, 0)->returns);
	cfg_deinit(&cfg);
}

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
	CHECK_STR(read_code(&code, &cfg), LEAVES);
	cfg_deinit(&cfg);

	CODE_ADD(&code, COLD, splits_cold);
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

static void frames(void)
{
	struct code code;
	struct cfg cfg;

	READ(&code, frame, &cfg);
	CHECK_INT(insn_at(&cfg, 1)->sp_delta, 8);
	CHECK_INT(insn_at(&cfg, 1)->bp_delta, CFG_NO_BP);
	CHECK_INT(insn_at(&cfg, 4)->bp_delta, 8);
	CHECK_INT(insn_at(&cfg, 9)->sp_delta, 56);
	CHECK_INT(insn_at(&cfg, 14)->bp_delta, 8);
	CHECK_INT(insn_at(&cfg, 15)->sp_delta, 0);
	CHECK_INT(insn_at(&cfg, 15)->bp_delta, CFG_NO_BP);
	cfg_deinit(&cfg);

	READ(&code, frame_lea, &cfg);
	CHECK_INT(insn_at(&cfg, 11)->sp_delta, 56);
	CHECK_INT(insn_at(&cfg, 20)->sp_delta, 24);
	CHECK_INT(insn_at(&cfg, 24)->sp_delta, 0);
	cfg_deinit(&cfg);

	READ(&code, pushes, &cfg);
	CHECK_INT(insn_at(&cfg, 9)->sp_delta, 32);
	CHECK_INT(insn_at(&cfg, 18)->sp_delta, 8);
	cfg_deinit(&cfg);

	/* The stack pointer differs between two paths. */
	CHECK_NONE(unbalanced, STACK);
	/* rbp differs, and leave needs it. */
	CHECK_NONE(bp_lost, STACK);
	/* ret with a frame on the stack; pop with an empty frame */
	CHECK_NONE("\x53\xc3", STACK);
	CHECK_NONE("\x5b\x53\xc3", STACK);
	/* leave without a frame */
	CHECK_NONE("\xc9\xc3", STACK);
}

/* The position of the stack pointer must not be guessed. */
static void unknown_frames(void)
{
	CHECK_NONE(aligned_frame, STACK);
	CHECK_NONE(alloca_frame, STACK);
	CHECK_NONE(flags_saved, STACK);
	CHECK_NONE(swapped_stack, STACK);
	/* mov rsp, [rdi]; movzx esp, dil; pop rsp; enter: not known; push di; inc spl */
	CHECK_NONE("\x48\x8b\x27\xc3", STACK);
	CHECK_NONE("\x40\x0f\xb6\xe7\xc3", STACK);
	CHECK_NONE("\x5c\xc3", STACK);
	CHECK_NONE("\xc8\x10\0\0\xc3", UNKNOWN);
	CHECK_NONE("\x66\x57\xc3", STACK);
	CHECK_NONE("\x40\xfe\xc4\xc3", STACK);
	/* pop [rdi] */
	CHECK_NONE("\x53\x8f\x07\xc3", STACK);
}

static void not_understood(void)
{
	/* jmp 1: the second byte of itself */
	CHECK_NONE("\xeb\xff\xc0\xc3", OVERLAP);
	/* je 4, which is inside of mov eax, 0xc3c3c3c3 */
	CHECK_NONE("\x74\x02\xb8\xc3\xc3\xc3\xc3\xc3", OVERLAP);
	/* je 4: data */
	CHECK_NONE("\x74\x02\xc3\x90\x06", UNKNOWN);
	CHECK_NONE("\x06", UNKNOWN);
	/* an instruction is cut off; execution continues after the end */
	CHECK_NONE("\xb8\x01\0", UNKNOWN);
	CHECK_NONE("\x31\xc0", BEHIND);
	CHECK_NONE("\x74\x01\xc3\x31\xc0", BEHIND);
	/* push rbx; je 64 */
	CHECK_NONE("\x53\x74\x40\x5b\xc3", LEAVES);
}

/* --- hostile functions -------------------------------------------------------------- */

static void too_long(void)
{
	double before_s = check_cpu_s();
	static uint8_t bytes[200000];
	struct code code;
	struct cfg cfg;

	/* 100,000 basic blocks: je to the next instruction */
	for (size_t i = 0; i < sizeof(bytes); i += 2)
		memcpy(bytes + i, "\x74\0", 2);
	code_init(&code, bytes, sizeof(bytes));
	CHECK_STR(read_code(&code, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	/* as long as a symbol may be */
	code_init(&code, bytes, CFG_RANGE_MAX);
	CHECK_STR(read_code(&code, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	/* an address space, and beyond its end */
	code_init(&code, bytes, sizeof(bytes));
	CHECK_STR(cfg_read(&code.source, BASE, UINT64_MAX, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	CHECK_STR(cfg_read(&code.source, BASE, UINT64_MAX - BASE, &cfg), TOO_LONG);
	cfg_deinit(&cfg);
	CHECK(check_cpu_s() - before_s < 2);
}

/* All analyses of a function. */
static const char *analyze(const struct code *code, size_t size)
{
	static const enum result_width widths[] = {RESULT_WORD, RESULT_INT, RESULT_OUT,
						   RESULT_VOID};
	const char *why = NULL;

	for (size_t i = 0; i < COUNT(widths); i++) {
		struct returns returns = {.source = &code->source, .emulated = 15};
		struct return_sites sites;

		why = returns_find(&returns,
				   &(struct returns_request){.address = BASE,
							     .size = size,
							     .width = widths[i],
							     .asked = RETURN_NO_SIZE},
				   &sites);
		CHECK(why || sites.list.len);
		return_sites_deinit(&sites);
		returns_deinit(&returns);
	}
	return why;
}

/* Takes one second, or several with sanitizers. Without bounds in the code it would take
 * more than half a minute. */
#define SLOW_S 15

static void analyze_in_time(const uint8_t *bytes, size_t size)
{
	double before_s = check_cpu_s();
	struct code code;

	code_init(&code, bytes, size);
	analyze(&code, size);
	CHECK(check_cpu_s() - before_s < SLOW_S);
}

/* Chains of jumps, arranged so that information spreads as slowly as possible. */
static void slow_functions(void)
{
	static uint8_t bytes[CFG_RANGE_MAX];
	size_t count = 16000, size = 0;

	/* jmp to the last; each jumps to the one before it; the first is ret. */
	bytes[size++] = 0xe9;
	size += 4;
	bytes[size++] = 0xc3;
	for (size_t i = 0; i < count; i++) {
		/* ret is one byte before the first jump */
		memcpy(bytes + size, i ? "\xeb\xfc" : "\xeb\xfd", 2);
		size += 2;
	}
	for (unsigned i = 0; i < 4; i++)
		bytes[1 + i] = (uint8_t)((size - 2 - 5) >> (8 * i));
	analyze_in_time(bytes, size);

	/* Forward: each conditional jump goes to the next one, and all go to the end. */
	for (size = 0; size < 10900 * 6; size += 6) {
		uint32_t to = (uint32_t)(10900 * 6 - size - 6);

		memcpy(bytes + size, "\x0f\x84", 2);
		memcpy(bytes + size + 2, &to, 4);
	}
	bytes[size++] = 0xc3;
	analyze_in_time(bytes, size);

	/* Each call is to another function. */
	for (size = 0; size + 6 < sizeof(bytes); size += 5) {
		uint32_t to = (uint32_t)(0x100000 + 11 * size);

		bytes[size] = 0xe8;
		memcpy(bytes + size + 1, &to, 4);
	}
	bytes[size++] = 0xc3;
	analyze_in_time(bytes, size);
}

/* Longest function that is tested at the end of readable memory, bytes. */
#define GUARDED_SIZE 16384

/* True if the function is understood. */
static bool try_guarded(const struct guarded *g, const uint8_t *bytes, size_t size)
{
	struct code code;
	struct cfg cfg;
	const char *why;

	code_init(&code, guarded_copy(g, bytes, size), size);
	code_add(&code, COLD, splits_cold, sizeof(splits_cold) - 1);
	why = read_code(&code, &cfg);
	cfg_deinit(&cfg);
	if (!why)
		analyze(&code, size);
	return !why;
}

static void random_bytes(void)
{
	struct guarded g = guarded_map(GUARDED_SIZE);
	unsigned found = 0;
	uint8_t bytes[300];

	for (unsigned i = 0; i < 60000; i++) {
		size_t size = 1 + random_below(i % 16 ? 24 : sizeof(bytes));

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)random_below(256);
		if (i & 1)
			bytes[size - 1] = 0xc3;
		found += try_guarded(&g, bytes, size);
	}
	guarded_unmap(&g);
	printf("     %u of random bytes are understood\n", found);
	CHECK(found > 100);
}

static unsigned mutate(const uint8_t *original, size_t size, unsigned times)
{
	struct guarded g = guarded_map(GUARDED_SIZE);
	uint8_t *bytes = malloc(size);
	unsigned found = 0;

	REQUIRE(bytes);
	for (unsigned i = 0; i < times; i++) {
		size_t part = random_below(16) ? size : 1 + random_below((uint32_t)size);

		memcpy(bytes, original, size);
		random_damage(bytes, size, random_below(4));
		found += try_guarded(&g, bytes, part);
	}
	free(bytes);
	guarded_unmap(&g);
	return found;
}

static void mutations(void)
{
#define MUTATE(bytes) found += mutate((const uint8_t *)(bytes), sizeof(bytes) - 1, 2000)
	unsigned found = 0;

	MUTATE(branches);
	MUTATE(looping);
	MUTATE(tail_call);
	MUTATE(conditional_tail_call);
	MUTATE(splits);
	MUTATE(dies_with_nops);
	MUTATE(dies_before_label);
	MUTATE(frame);
	MUTATE(frame_lea);
	MUTATE(pushes);
	printf("     %u of 20000 mutations are understood\n", found);
	CHECK(found > 1000);
}

/* Functions of this machine's C library. */
static void mutations_of_real_functions(void)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	static const char *const names[] = {"malloc", "free", "posix_memalign", "mmap",
					    "qsort"};
	unsigned found = 0, tried = 0;

	for (size_t i = 0; i < COUNT(paths) && !tried; i++) {
		_cleanup_(elf_file_closep) struct elf_file *file = NULL;
		_cleanup_(error_destroyp) struct error *error =
			elf_file_open(paths[i], &file);
		struct elf_symbol symbols[COUNT(names)];
		uint8_t bytes[4096];

		if (error)
			continue;
		REQUIRE(!elf_file_find_functions(file, names, COUNT(names), symbols));
		for (size_t n = 0; n < COUNT(names); n++) {
			size_t size = (size_t)symbols[n].size_bytes;

			if (!symbols[n].name || !size || size > sizeof(bytes))
				continue;
			REQUIRE(elf_file_read(file, symbols[n].file_offset, bytes,
					      size) == size);
			tried += 800;
			found += mutate(bytes, size, 800);
		}
	}
	printf("     %u of %u mutations of real functions are understood\n", found,
	       tried);
}

int main(void)
{
	RUN(branches_and_loops);
	RUN(tail_calls);
	RUN(split_functions);
	RUN(calls_that_do_not_return);
	RUN(calls_of_functions_that_do_not_return);
	RUN(calls_before_loops);
	RUN(frames);
	RUN(unknown_frames);
	RUN(not_understood);
	RUN(too_long);
	RUN(slow_functions);
	RUN(random_bytes);
	RUN(mutations);
	RUN(mutations_of_real_functions);
	return check_done();
}
