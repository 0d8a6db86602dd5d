/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds places inside a function where its result is known, so that it needs no return
 * probe, which would rewrite the target's stack: docs/probes.md, "Result sites". Each
 * path to a return passes one of them. Tail calls are followed into the functions that
 * they jump to. Of all such sets of places the cheapest is chosen (code/cut.h).
 */
#ifndef PLAN_RETURNS_H
#define PLAN_RETURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/cfg.h"
#include "code/values.h"
#include "util/vec.h"

/* How a site finds the result of the call, on one path from it. */
enum return_kind {
	RETURN_OPEN,     /* nothing: a later site sees it */
	RETURN_REGISTER, /* the result is in `reg` */
	RETURN_FRAME,    /* the result is the word at rsp + `offset` */
	RETURN_VALUE,    /* the result is the constant `offset` */
	RETURN_BLOCK,    /* with RESULT_OUT: the result is 0, and the block is in `reg` */
};

struct return_value {
	enum return_kind kind;
	uint8_t reg;    /* enum insn_register */
	int32_t offset; /* bytes from rsp, a multiple of 8; or the value */
};

/* Bounds on the distance of a result from rsp, bytes, and on a constant. */
#define RETURN_OFFSET_MAX 32760
#define RETURN_VALUE_MAX  4095

struct return_site {
	uint64_t address; /* in the file's address space */
	int32_t sp_delta; /* bytes; the return address is at rsp + sp_delta */
	/* The caller's rbp is saved this many words below the return address; 0: it is
	 * still in rbp. */
	uint8_t bp_words;
	/* True: value[1] applies if the conditional jump (insn.condition) is taken,
	 * else value[0]. False: value[0] applies. */
	bool has_condition;
	uint8_t condition;
	struct return_value value[2]; /* [1]: when the jump is taken */
	bool is_emulated;
	/* Outside of the requested function: other functions' calls may come here too. */
	bool is_shared;
	/* The code here has no unwind information. returns_find() leaves it false; the
	 * caller sets it. */
	bool lacks_cfi;
	/* With `asked`: one hit sees a whole call, with the size in `size_reg`. The
	 * result is known on one branch at most. */
	bool is_whole;
	uint8_t size_reg;
	const char *reason; /* static */
};

/* With `asked`: a site that records the size, for calls whose result site does not know
 * the size. */
struct entry_site {
	uint64_t address;
	int32_t sp_delta; /* as in struct return_site */
	uint8_t size_reg;
	const char *reason; /* static */
};

/* A place where calls of the function end: a `ret`, or a jump to a function that
 * returns its first argument. */
struct return_exit {
	uint64_t address; /* in the file's address space */
	bool is_jump;     /* the result is in rdi instead of rax */
	bool is_site;     /* it is also a site */
	/* It is within the requested function: calls of other functions do not execute
	 * it. */
	bool is_own;
	bool lacks_cfi; /* as in struct return_site */
};

#define RETURN_BP_WORDS_MAX 15
#define RETURN_SITES_MAX                                                                 \
	64 /* bound for a function and the functions that it jumps to                    \
	    */

struct return_sites {
	VEC(struct return_site) list; /* ordered by address */
	/* Sites that record the size. If it is empty and no site is_whole, all calls
	 * must be recorded at the function's entry. */
	VEC(struct entry_site) entries;
	/* The places where calls end, except in functions that is_covered() accepts. */
	VEC(struct return_exit) exits;
	bool is_fused; /* some sites see whole calls, and `entries` see the others */
	/* Each path to a result passes a site, of this list or of a function that
	 * is_covered(). */
	bool is_complete;
	bool has_more_exits; /* calls also end at places without a possible probe */
};

/* Results per function, so that a function that several jump to is read once. */
struct return_unit;
struct returns {
	const struct cfg_source *source;
	unsigned emulated; /* enum emulated, or-ed */
	/* Does the function at `address` already have sites of its own? May be NULL. */
	bool (*is_covered)(void *arg, uint64_t address);
	/* Why the code cannot be trusted, for instance because a process has changed it
	 * in its memory; NULL: it can. A static string. May be NULL. */
	const char *(*check)(void *arg, uint64_t address, size_t size);
	/* Is there already a probe at `address`, so that a site cannot be there? May be
	 * NULL. */
	bool (*is_taken)(void *arg, uint64_t address);
	/* Can a call of the function at `address` reach a probed function? NULL: every
	 * call can. */
	values_calls_fn *calls;
	void *arg; /* for all four functions */
	/* Jumps through pointers lead to hooks, which programs rarely set (glibc before
	 * 2.34, malloc/hooks.c): the result of such calls is not seen. */
	bool has_hooks;
	VEC(struct return_unit *) units;
};

/* The function to examine. */
struct returns_request {
	uint64_t address;
	uint64_t size; /* size of the function, bytes; 0: unknown */
	enum result_width width;
	/* The value with the size of the new block: an argument or VALUE_PRODUCT. It
	 * must be all that a call is recorded with besides its result. RETURN_NO_SIZE:
	 * more is recorded. */
	enum value asked;
};

#define RETURN_NO_SIZE VALUE_COUNT

/* Sort the sites and remove duplicates: functions with common code have the same sites
 * there. Returns NULL, or why that is impossible: a static string. */
const char *return_sites_merge(struct return_sites *sites);

/*
 * Find the sites of a function. Returns NULL, or a static string: why it has none. With
 * `asked`, sites that see whole calls are preferred (return_sites.is_fused). Call
 * return_sites_deinit() in either case.
 */
const char *returns_find(struct returns *returns, const struct returns_request *request,
			 struct return_sites *ret);
void returns_deinit(struct returns *returns);
void return_sites_deinit(struct return_sites *sites);

/* Copy the sites. False: memory is out, and `ret` is empty. */
bool return_sites_copy(const struct return_sites *sites, struct return_sites *ret);

#endif
