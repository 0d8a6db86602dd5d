/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes inside an allocation function. A probe of the entry and one of the return hit
 * twice a call; where the function has settled what it returns, and the size that was
 * asked for is still in a register, one hit tells all of it. x86-64; pure: bytes in,
 * sites out.
 *
 * The function's control flow is followed from its first byte. An instruction is "final"
 * when the result register stays as it is, and nothing is called, on every way from there
 * to a `ret`. Each way comes into final code once and does not leave it, so the first
 * emulated instruction of it on each way sees each call once. On ways where the size has
 * gone by then a site before it, which all of these ways and no others come by, takes it
 * down.
 *
 * A failed check of the allocator's calls something that does not return, which the code
 * does not say. Taken for such are functions of which a call is followed by nops, or by
 * the function's end, or which end so themselves, but for those of which a call is
 * followed by code that nobody else comes to. So that nothing depends on that unseen,
 * there is a site before each such call (BODY_STOP).
 *
 * What cannot be seen are jumps from outside into the function's middle, as for place.h.
 */
#ifndef PLAN_BODY_H
#define PLAN_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "plan/flow.h"

enum body_part {
	BODY_WHOLE = 1, /* size and result: all of a call */
	BODY_ENTRY,     /* the size; a site of BODY_RETURN or BODY_FAILURE follows */
	BODY_RETURN,    /* the result of a call that came by BODY_ENTRY */
	BODY_FAILURE,   /* the result is about to be 0; some of these calls came by
			   BODY_ENTRY. Rare, so the instruction may be any */
	BODY_STOP,      /* a check has failed: the call does not return */
};

#define BODY_SITES_MAX 16

struct body_site {
	enum body_part part;
	uint32_t delta;   /* bytes from the function's first byte */
	int32_t sp_delta; /* bytes; the return address is there at rsp + sp_delta */
	/* Of WHOLE and ENTRY: where the size is, by the numbers of enum insn_register; of
	 * others PLACE_NO_REGISTER. */
	uint8_t size_reg;
	const char *reason; /* static */
};

struct body {
	size_t count; /* 0: none */
	/* In the order in which they can be attached to a running program: what waits for
	 * another site comes behind that. */
	struct body_site sites[BODY_SITES_MAX];
	/* Of each site: how many words below the return address the caller's rbp is
	 * saved, 0: it is in the register. body_find() leaves it 0, for those who know.
	 */
	uint8_t bp_words[BODY_SITES_MAX];
};

/*
 * Find the sites in a function that takes the size as its first argument and returns a
 * block, or 0. `emulated` is of enum place_emulated. NULL, or why there are none, or none
 * better than those of place.h: a static string.
 */
const char *body_find(const struct flow_text *text, unsigned emulated, struct body *ret);

#endif
