/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a function's result is settled: places inside it that take the place of a return
 * probe, which would rewrite the target's stack. Each way to a return comes by one of
 * them, with the result in a known place. What the function leaves by tail calls is
 * followed into the functions that it jumps to.
 *
 * Of all such sets of places the cheapest is taken (plan/cut.h): the kernel emulates some
 * instructions and steps through all others at ten times the price. At a conditional jump
 * the flags tell which way it will go, so that it can be a site for one way alone.
 */
#ifndef PLAN_RETURNS_H
#define PLAN_RETURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/cfg.h"
#include "plan/values.h"
#include "util/vec.h"

/* What is known of the result at a site, on one way from there. */
enum return_kind {
	RETURN_OPEN,     /* nothing: another site will come */
	RETURN_REGISTER, /* it is in `reg` */
	RETURN_FRAME,    /* it is in the word at rsp + `offset` */
	RETURN_VALUE,    /* it is `offset` */
	RETURN_BLOCK,    /* with RESULT_OUT: it is 0, and the block is in `reg` */
};

struct return_value {
	enum return_kind kind;
	uint8_t reg;    /* enum insn_register */
	int32_t offset; /* bytes from rsp, a multiple of 8; or the value */
};

/* The farthest from rsp that a result may be, bytes, and the largest constant. */
#define RETURN_OFFSET_MAX 32760
#define RETURN_VALUE_MAX  4095

struct return_site {
	uint64_t address; /* in the file's address space */
	int32_t sp_delta; /* bytes; the return address is at rsp + sp_delta */
	/* The caller's rbp: 0: still there; else in the word so many words below the
	 * return address. */
	uint8_t bp_words;
	/* Whether a conditional jump is taken decides (insn.condition); else it is
	 * value[0] alone. */
	bool has_condition;
	uint8_t condition;
	struct return_value value[2]; /* [1]: when it is taken */
	bool is_emulated;
	/* Not in the function that was asked for: others may come here as well. */
	bool is_shared;
	/* The code there has no unwind information. Of those who know: returns_find()
	 * leaves it false. */
	bool lacks_cfi;
	/* With `asked`: one hit is all of a call, as the size is in `size_reg`; the
	 * result is settled on one way at most. */
	bool is_whole;
	uint8_t size_reg;
	const char *reason; /* static */
};

/* With `asked`: where a call is seen to begin whose result comes by a site that does
 * not know the size. */
struct entry_site {
	uint64_t address;
	int32_t sp_delta; /* as above */
	uint8_t size_reg;
	const char *reason; /* static */
};

/* Where calls of the function end: at a `ret`, or at a jump to a function that returns
 * its first argument. */
struct return_exit {
	uint64_t address; /* in the file's address space */
	bool is_jump;     /* the result is in rdi, and not in rax */
	bool is_site;     /* it is one of the sites, too */
	/* Between the first and last byte of the function that was asked for: no other
	 * function's calls come here. */
	bool is_own;
	bool lacks_cfi; /* as of struct return_site */
};

#define RETURN_BP_WORDS_MAX 15
#define RETURN_SITES_MAX    64 /* of a function and of the functions it jumps to */

struct return_sites {
	VEC(struct return_site) list; /* by address */
	/* Without any, and where no site is_whole, all calls are to be seen at the
	 * function's entry. */
	VEC(struct entry_site) entries;
	/* Where calls end, but for those that end in functions that is_covered. */
	VEC(struct return_exit) exits;
	bool is_fused; /* some sites are whole calls, and `entries` see the others */
	/* Each way to a result has a site, of these or of functions that is_covered. */
	bool is_complete;
	bool has_more_exits; /* calls also end where no probe can be */
};

/* What was found of functions, so that those that several lead to are read once. */
struct return_unit;
struct returns {
	const struct cfg_source *source;
	unsigned emulated; /* enum place_emulated, or-ed */
	/* Have calls of the function at `address` sites of their own already? May be
	 * NULL. */
	bool (*is_covered)(void *arg, uint64_t address);
	/* Why the code may not be trusted to be this (as where a process has changed it
	 * in its memory), or NULL: a static string. May be NULL. */
	const char *(*check)(void *arg, uint64_t address, size_t size);
	/* May there be a site at `address`? Not where there is one already. May be NULL.
	 */
	bool (*is_taken)(void *arg, uint64_t address);
	/* May a call of the function at `address` come to one that is probed? NULL: any
	 * may. */
	values_calls_fn *calls;
	void *arg; /* of all four */
	/* Functions that are jumped to by a pointer are hooks, which programs hardly ever
	 * set (glibc before 2.34, malloc/hooks.c): such calls are without a result. */
	bool has_hooks;
	VEC(struct return_unit *) units;
};

/* What is looked for. */
struct returns_request {
	uint64_t address;
	uint64_t size; /* of the function, bytes; 0: not known */
	enum result_width width;
	/* The value that is the size of the new block, and so all that there is to know
	 * of a call besides its result: an argument or VALUE_PRODUCT. RETURN_NO_SIZE:
	 * there is more. */
	enum value asked;
};

#define RETURN_NO_SIZE VALUE_COUNT

/*
 * Find the sites of a function. Returns NULL, or a static string that says why there are
 * none. With `asked`, sites that see whole calls are preferred (struct
 * return_sites.is_fused). Call return_sites_deinit() in either case.
 */
const char *returns_find(struct returns *returns, const struct returns_request *request,
			 struct return_sites *ret);
void returns_deinit(struct returns *returns);
void return_sites_deinit(struct return_sites *sites);

/* The same sites in memory of their own. False, and `ret` is without any, when there is
 * not enough. */
bool return_sites_copy(const struct return_sites *sites, struct return_sites *ret);

#endif
