// SPDX-License-Identifier: Apache-2.0
/* Lists of sites that see results. */
#include <stdlib.h>

#include "plan/returns.h"

static int by_address(const void *a, const void *b)
{
	const struct return_site *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static bool is_same(const struct return_site *a, const struct return_site *b)
{
	bool same = a->sp_delta == b->sp_delta && a->bp_words == b->bp_words &&
		    a->has_condition == b->has_condition && a->condition == b->condition;

	for (size_t n = 0; n < 2; n++)
		same = same && a->value[n].kind == b->value[n].kind &&
		       a->value[n].reg == b->value[n].reg &&
		       a->value[n].offset == b->value[n].offset;
	return same;
}

const char *return_sites_merge(struct return_sites *sites)
{
	size_t kept = 0;

	if (sites->list.len)
		qsort(sites->list.data, sites->list.len, sizeof(*sites->list.data),
		      by_address);
	vec_foreach (site, &sites->list) {
		struct return_site *last = kept ? &sites->list.data[kept - 1] : NULL;

		if (!last || last->address != site->address) {
			sites->list.data[kept++] = *site;
			continue;
		}
		if (!is_same(last, site))
			return "a site is of two functions";
		last->is_shared = true;
	}
	sites->list.len = kept;
	return NULL;
}

void return_sites_deinit(struct return_sites *sites)
{
	vec_deinit(&sites->list);
	vec_deinit(&sites->entries);
	vec_deinit(&sites->exits);
	*sites = (struct return_sites){0};
}

bool return_sites_copy(const struct return_sites *sites, struct return_sites *ret)
{
	struct return_sites copy = {.is_fused = sites->is_fused,
				    .is_complete = sites->is_complete,
				    .has_more_exits = sites->has_more_exits};
	bool ok = vec_copy(&sites->list, &copy.list) &&
		  vec_copy(&sites->entries, &copy.entries) &&
		  vec_copy(&sites->exits, &copy.exits);

	if (!ok)
		return_sites_deinit(&copy);
	*ret = copy;
	return ok;
}
