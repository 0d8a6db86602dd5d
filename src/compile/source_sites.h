/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings of probe sites: what a probe at a site does, as a number that the probes
 * decode (ABI_SITE of probes/abi_sites.h). */
#ifndef COMPILE_SOURCE_SITES_H
#define COMPILE_SOURCE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "util/vec.h"

struct meanings {
	VEC(uint64_t) list;
};

/*
 * The meaning of a call of the site's function. `allocator` is the number of the
 * function's allocator. `number` is the site's number, at most ABI_MAX_SITES - 1.
 * `inside`: sites inside the function see the result, so the function has no return
 * probe.
 */
uint64_t source_site(const struct plan_site *site, unsigned allocator, unsigned number,
		     bool inside);

/* The meaning of one of site.body.sites. */
uint64_t source_body_site(const struct plan_site *site, const struct body_site *at,
			  unsigned allocator, unsigned number);

/* The meaning of one of site.returns.list: unless is_whole, it serves all functions that
 * jump there. And the meaning of one of site.returns.entries. */
uint64_t source_return_site(const struct plan_site *site, const struct return_site *at,
			    unsigned allocator);
uint64_t source_entry_site(const struct plan_site *site, const struct entry_site *at,
			   unsigned allocator, unsigned number);

/* The meaning of one of site.returns.exits, without the number of the check. */
uint64_t source_exit_site(const struct plan_site *site, const struct return_exit *exit);

/* Does a probe with this meaning begin a call, rather than read its result? */
bool source_site_begins(uint64_t site);

/* Is the meaning one of a result, whose site has no arguments? */
bool source_site_is_result(uint64_t site);

/* Bit n is set if the site has an argument in register n. */
unsigned source_site_registers(uint64_t site);

#endif
