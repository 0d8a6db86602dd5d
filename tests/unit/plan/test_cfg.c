// SPDX-License-Identifier: Apache-2.0
/* Control-flow graphs of functions given by their bytes. */
#include "check.h"

#include "unit/code/cfg_made.h"
#include "unit/plan/cfg_graph.h"

#define STACK   "the stack pointer moves in an unknown way"
#define BEHIND  "it goes on behind its end"
#define OVERLAP "instructions overlap"
#define UNKNOWN "an instruction is not known"

/* --- functions ---------------------------------------------------------------------- */

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
	CHECK_NONE("\x74\x02\xc3\x90\x06", CFG_NO_INSN);
	/* Of a newer processor, or not known to memtrace. */
	CHECK_NONE("\x74\x02\xc3\x90\xd5\x48\x89\xc0\xc3", UNKNOWN);
	CHECK_NONE("\x06", CFG_NO_INSN);
	/* an instruction is cut off; execution continues after the end */
	CHECK_NONE("\xb8\x01\0", UNKNOWN);
	CHECK_NONE("\x31\xc0", BEHIND);
	CHECK_NONE("\x74\x01\xc3\x31\xc0", BEHIND);
	/* push rbx; je 64 */
	CHECK_NONE("\x53\x74\x40\x5b\xc3", NO_CODE);
}

/* What is behind the bytes that are read may belong to the function. */
static void size_not_known(void)
{
	static uint8_t bytes[8192];
	struct code code;
	struct cfg cfg;

	for (size_t i = 0; i < 2; i++) {
		memset(bytes, 0x90, sizeof(bytes));
		/* mov eax, 1 across the end of what is read */
		if (i)
			bytes[4094] = 0xb8;
		code_init(&code, bytes, sizeof(bytes));
		code.source.extent = NULL;
		CHECK_STR(cfg_read(&code.source, BASE, 0, &cfg), "its size is not known");
		cfg_deinit(&cfg);
		CHECK_STR(cfg_read(&code.source, BASE, 4096, &cfg), i ? UNKNOWN : BEHIND);
		cfg_deinit(&cfg);
	}
	bytes[100] = 0x06;
	CHECK_STR(cfg_read(&code.source, BASE, 0, &cfg), CFG_NO_INSN);
	cfg_deinit(&cfg);
}

int main(void)
{
	RUN(branches_and_loops);
	RUN(frames);
	RUN(unknown_frames);
	RUN(not_understood);
	RUN(size_not_known);
	return check_done();
}
