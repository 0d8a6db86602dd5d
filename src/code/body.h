/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes inside an allocation function. A single probe is enough at a place where the
 * result is already determined and the requested size is still in a register; probes at
 * the entry and at the return are two hits for each call. docs/probes.md, "One probe for
 * a whole call", explains the search. x86-64; pure: bytes in, sites out.
 */
#ifndef CODE_BODY_H
#define CODE_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "code/flow.h"

enum body_part {
	BODY_WHOLE = 1, /* both size and result: sees a whole call */
	BODY_ENTRY,  /* the size; BODY_RETURN or BODY_FAILURE follows in the same call */
	BODY_RETURN, /* the result of a call that passed BODY_ENTRY */
	/* The result is about to become 0. Some of these calls passed BODY_ENTRY. Such
	 * calls are rare, so any instruction will do, emulated or not. */
	BODY_FAILURE,
	BODY_STOP, /* a check has failed: the function does not return */
};

#define BODY_SITES_MAX 16

struct body_site {
	enum body_part part;
	uint32_t delta;   /* bytes from the function's first byte */
	int32_t sp_delta; /* bytes; there the return address is at rsp + sp_delta */
	/* WHOLE and ENTRY: register with the size (enum insn_register); others:
	 * PLACE_NO_REGISTER. */
	uint8_t size_reg;
	const char *reason; /* static */
};

struct body {
	size_t count; /* 0: no sites */
	/* In the order of attaching them to a running program: a site that records the
	 * first half of a call comes after the sites for the second half. */
	struct body_site sites[BODY_SITES_MAX];
	/* For each site: the caller's rbp is saved this many words below the return
	 * address; 0: it is still in the register. body_find() leaves it 0; the caller
	 * fills it in. */
	uint8_t bp_words[BODY_SITES_MAX];
};

/*
 * Find the sites of a function that takes the size as its first argument and returns a
 * block or 0. `emulated` is enum emulated, or-ed. Returns NULL, or a static
 * string: why it has no sites, or none better than place.h's.
 */
const char *body_find(const struct flow_text *text, unsigned emulated, struct body *ret);

#endif
