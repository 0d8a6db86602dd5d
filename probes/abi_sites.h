/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a probe at a site does, and how sites are checked at run time: a part of abi.h. */
#ifndef PROBES_ABI_SITES_H
#define PROBES_ABI_SITES_H

/*
 * What a call at a probe site means, in one word: the attach cookie of the probe. The
 * fields are below, each with its bits. A register without an argument is ABI_ARG_NONE.
 * allocator/allocator.h documents the effects. enum insn_register (arch/insn_registers.h)
 * numbers the registers.
 */
/* [0:3] the effect */
#define ABI_EFFECT_ALLOC      1
#define ABI_EFFECT_ALLOC_OUT  2
#define ABI_EFFECT_REALLOC    3
#define ABI_EFFECT_FREE       4
#define ABI_EFFECT_MAP        5
#define ABI_EFFECT_UNMAP      6
#define ABI_EFFECT_REMAP      7
#define ABI_EFFECT_RESIZE     8
#define ABI_EFFECT_ALLOC_USDT 9 /* USDT probes: ABI_USDT below has the arguments */
#define ABI_EFFECT_FREE_USDT  10
#define ABI_EFFECT_RESULT     11 /* sites inside functions: ABI_RESULT below */
#define ABI_EFFECT_WHOLE      12
#define ABI_EFFECT_CHECK      13 /* see ABI_CHECK below */

#define ABI_ARG_NONE          4 /* number of the stack pointer: never an argument */

/* Registers: [4:7] of the size, [8:11] of the number of elements (a factor of the size),
 * [12:15] of the old block, [16:19] of the out pointer. */
#define ABI_SITE(effect, size_arg, count_arg, old_arg, out_arg)                          \
	((uint64_t)(effect) | (uint64_t)(size_arg) << 4 | (uint64_t)(count_arg) << 8 |   \
	 (uint64_t)(old_arg) << 12 | (uint64_t)(out_arg) << 16)
#define ABI_SITE_UNRECORDED      (1u << 20) /* new blocks are not recorded */
#define ABI_SITE_INSIDE          (1u << 21) /* sites inside the function see the result */
#define ABI_SITE_STOPS           (1u << 22) /* an allocator's check failed: it never returns */
#define ABI_SITE_ALONE           (1u << 23) /* it calls no function that is probed */

#define ABI_SITE_EFFECT(site)    ((site)&0xf)
#define ABI_SITE_SIZE_ARG(site)  ((site) >> 4 & 0xf)
#define ABI_SITE_COUNT_ARG(site) ((site) >> 8 & 0xf)
#define ABI_SITE_OLD_ARG(site)   ((site) >> 12 & 0xf)
#define ABI_SITE_OUT_ARG(site)   ((site) >> 16 & 0xf)

/* [24:31] number of the allocator */
#define ABI_MAX_ALLOCATOR_NUMBERS 255 /* the last one stands for all further ones */
#define ABI_SITE_ALLOCATOR_SHIFT  24
#define ABI_SITE_ALLOCATOR(site)  ((site) >> ABI_SITE_ALLOCATOR_SHIFT & 0xff)

/* [32:47] distance of the return address above the stack pointer, bytes, signed */
#define ABI_SITE_SP_SHIFT       32
#define ABI_SITE_SP(delta)      ((uint64_t)(uint16_t)(delta) << ABI_SITE_SP_SHIFT)
#define ABI_SITE_SP_DELTA(site) ((int64_t)(int16_t)((site) >> ABI_SITE_SP_SHIFT))

/* [48:63] number of the site */
#define ABI_MAX_SITES         4096 /* the last one stands for all further sites */
#define ABI_SITE_NUMBER_SHIFT 48
#define ABI_SITE_NUMBER(site) ((uint32_t)((site) >> ABI_SITE_NUMBER_SHIFT))

/*
 * A site inside a function at which the result is settled. ABI_EFFECT_RESULT ends a call
 * that has a record; ABI_EFFECT_WHOLE sees the whole call. The fields are below, each
 * with its bits. A result is a kind [0:2] and a signed payload [3:15].
 */
#define ABI_RESULT_REGISTER 1 /* in the register: the payload is its word in pt_regs */
#define ABI_RESULT_FRAME    2 /* in the word at the stack pointer + 8 * payload */
#define ABI_RESULT_CONSTANT 3 /* the payload is the result */
#define ABI_RESULT_BLOCK    4 /* the result is 0; the block is in the register */

#define ABI_RESULT(kind, payload)                                                        \
	((uint64_t)(((uint64_t)(int64_t)(payload) << 3 | (kind)) & 0xffff))
#define ABI_RESULT_KIND(value)    ((value)&7)
#define ABI_RESULT_PAYLOAD(value) ((uint64_t)((int64_t)((uint64_t)(value) << 48) >> 51))

/* [4:19] the result */
#define ABI_RESULT_VALUE0_SHIFT 4
#define ABI_RESULT_VALUE0(site) ((uint32_t)((site) >> ABI_RESULT_VALUE0_SHIFT & 0xffff))
/* [20:23] the caller's rbp is saved so many words below the return address; 0: it is
 * still in the register */
#define ABI_RESULT_BP_SHIFT       20
#define ABI_RESULT_BP_WORDS(site) ((site) >> ABI_RESULT_BP_SHIFT & 0xf)
/* [24] a condition of the processor decides, [25:28] which one (SDM volume 2, appendix
 * B.1.4.7) */
#define ABI_RESULT_HAS_CONDITION   (1u << 24)
#define ABI_RESULT_CONDITION_SHIFT 25
#define ABI_RESULT_CONDITION(site) ((site) >> ABI_RESULT_CONDITION_SHIFT & 0xf)
#define ABI_RESULT_UNRECORDED      (1u << 31) /* new blocks are not recorded */
/* [32:46] distance of the return address above the stack pointer, bytes */
#define ABI_RESULT_SP_DELTA(site) ((site) >> ABI_SITE_SP_SHIFT & 0x7fff)
#define ABI_RESULT_NO_CFI         (1ull << 47) /* the code there has no unwind information */

/* ABI_EFFECT_RESULT: */
#define ABI_RESULT_SHARED      (1u << 29) /* calls of other functions may come here, too */
#define ABI_RESULT_FAILS_ALONE (1u << 30) /* a call without a record fails here */
/* [48:63] the result when the condition holds */
#define ABI_RESULT_VALUE1_SHIFT 48
#define ABI_RESULT_VALUE1(site) ((uint32_t)((site) >> ABI_RESULT_VALUE1_SHIFT & 0xffff))

/* ABI_EFFECT_WHOLE: the result is settled only if the condition holds; 0: only if not. */
#define ABI_WHOLE_WHEN_TAKEN (1u << 29)
/* [48:51] register of the size, a word of pt_regs */
#define ABI_WHOLE_SIZE_SHIFT     48
#define ABI_WHOLE_SIZE_REG(site) ((uint32_t)((site) >> ABI_WHOLE_SIZE_SHIFT & 0xf))
/* [52:59] number of the allocator */
#define ABI_WHOLE_ALLOCATOR_SHIFT 52
#define ABI_WHOLE_ALLOCATOR(site) ((uint32_t)((site) >> ABI_WHOLE_ALLOCATOR_SHIFT & 0xff))
/* The size is a product, which may have overflowed if the call fails. */
#define ABI_WHOLE_PRODUCT (1ull << 60)

/*
 * Sites by their offset in a page, which is the same in the file and in memory. `meaning`
 * is the meaning of the only site at this offset; 0: no site; ABI_SITE_SEVERAL: several
 * sites, so the attach cookie has to be read. `entry` is ABI_KEY(slot, address) of the
 * last process and address where a hit was found to be the entry of a call; 0: none yet.
 */
#define ABI_SITE_SEVERAL (~0ull)

struct abi_site_at {
	uint64_t meaning;
	uint64_t entry;
	/* Number of the check that has a site here, plus 1; 0: none. With ABI_CHECK_QUIET
	 * a hit does not start the check. */
	uint64_t check;
};
_Static_assert(sizeof(struct abi_site_at) == 24, "no holes");

/*
 * Sites inside functions are checked (attach/checks.h): each `ret` of a function has a
 * probe while its first calls are compared. Its effect is ABI_EFFECT_CHECK. It has a
 * result [4:19] and bits 29 and 47 like ABI_EFFECT_RESULT.
 */
#define ABI_CHECK_SHORT (1u << 25) /* compare the low 32 bits of the result only */
/* The `ret` is in the function itself, so each call that ends here has passed a site. */
#define ABI_CHECK_OWN (1u << 26)
/* [48:63] number of the check */
#define ABI_CHECK_NUMBER_SHIFT 48
#define ABI_CHECK_NUMBER(site) ((uint32_t)((site) >> ABI_CHECK_NUMBER_SHIFT))

#define ABI_CHECK_QUIET        (1ull << 32)

#define ABI_MAX_CHECKS         1024 /* functions that are checked at a time */
#define ABI_CHECK_CLAIMS       4096 /* calls that have passed a site and have not ended */
#define ABI_CHECK_RETIRED      1024 /* sites that were found to be wrong */

/* A check ends after this number of calls that agreed, differed, or passed no site. Calls
 * that were already running when the check started have passed no site. Therefore missed
 * calls fail a check only if they outnumber the calls that agreed. */
#define ABI_CHECK_AGREED   1000
#define ABI_CHECK_DIFFERED 2
#define ABI_CHECK_MISSED   8

enum abi_check_state {
	ABI_CHECK_IDLE,
	ABI_CHECK_WANTED, /* the function was called; memtrace starts the check */
	ABI_CHECK_RUNNING,
	ABI_CHECK_OVER,
	ABI_CHECK_FAILED, /* probes at the `ret`s now see the results */
};

struct abi_check {
	uint64_t state;
	uint64_t agreed, differed, missed; /* numbers of calls */
	uint64_t began;                    /* value of checks_begun at its start */
};
_Static_assert(sizeof(struct abi_check) == 40, "no holes");

/* Identifies a call: the thread, as in abi_pending.owner but without the thread id, and
 * the address of the return address. */
struct abi_check_call {
	uint64_t caller, sp;
};

/* The result that a site has read, and abi_control.checks_begun at that time. */
struct abi_check_claim {
	uint64_t result, begun;
};

/* Identifies a site: ABI_CHECK_MEANING() of it, and its offset in the page. */
struct abi_check_site {
	uint64_t meaning, at;
};

/* The meaning of a site without ABI_RESULT_SHARED. If several functions lead to a site,
 * one of them may set that bit and another may not. */
#define ABI_CHECK_MEANING(site)                                                          \
	(ABI_SITE_EFFECT(site) == ABI_EFFECT_RESULT                                      \
		 ? (site) & ~(uint64_t)ABI_RESULT_SHARED                                 \
		 : (site))

/*
 * The arguments of a USDT probe (elf/usdt_args.h), one record for each site number. A
 * register is the byte offset of its member in struct pt_regs. ABI_USDT_VALUE: the
 * argument is value + base + (index << index_shift). ABI_USDT_MEMORY: the argument is in
 * memory at that address. Only its lowest `size_bytes` count; they are sign-extended if
 * `is_signed`.
 */
#define ABI_USDT_NOTHING     0 /* the probe has no such argument: 0 */
#define ABI_USDT_VALUE       1
#define ABI_USDT_MEMORY      2
#define ABI_USDT_NO_REGISTER 0xff
#define ABI_USDT_ARGS        3

struct abi_usdt_arg {
	uint64_t value;
	uint8_t kind, base, index, index_shift;
	uint8_t size_bytes; /* 1, 2, 4 or 8 */
	uint8_t is_signed;
	uint16_t reserved;
};

struct abi_usdt {
	struct abi_usdt_arg arg[ABI_USDT_ARGS];
};
_Static_assert(sizeof(struct abi_usdt) == 48, "no holes");

#endif
