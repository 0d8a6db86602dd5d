/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of control-flow graphs: functions that several of them read, and what holds
 * for every graph. */
#ifndef TESTS_UNIT_PLAN_CFG_GRAPH_H
#define TESTS_UNIT_PLAN_CFG_GRAPH_H

#include "check.h"

#include "unit/code/cfg_made.h"

#define LEAVES  "a jump leaves the function"
#define NO_CODE "it jumps to where the file has no code"

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

static const char dies_with_nops[] = DIES "\x90"                 /* 18: nop */
					  "\x90"                 /* 19: nop */
					  "\xe8\xe7\x4f\x00\x00" /* 20: call g */
					  "\xeb\xeb";            /* 25: jmp 6 */

static const char dies_before_label[] = "\x53"                 /* 0: push rbx */
					"\x48\x85\xff"         /* 1: test rdi, rdi */
					"\x74\x06"             /* 4: je 12 */
					"\xe8\xf5\x5f\x00\x00" /* 6: call die */
					"\x90"                 /* 11: nop */
					"\xe8\xef\x4f\x00\x00" /* 12: call g */
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

/* --- rules for every graph -------------------------------------------------------- */

/* Checks what must be true for every graph. */
static inline void check_graph(const struct cfg *cfg)
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

static inline const char *read_code(const struct code *code, struct cfg *ret)
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
static inline uint64_t next_of(const struct cfg *cfg, uint64_t offset, unsigned way)
{
	const struct cfg_insn *at = insn_at(cfg, offset);

	REQUIRE(at);
	return way < at->next_count ? cfg->insns.data[at->next[way]].address - BASE
				    : UINT64_MAX;
}

#endif
