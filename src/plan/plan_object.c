// SPDX-License-Identifier: Apache-2.0
/* The parts of a plan that stand alone. */
#include <stdlib.h>

#include "plan/plan.h"

/* A free needs no return probe: its block is removed at the entry, because free cannot
 * fail. */
bool plan_wants_return(const struct alloc_function *function, bool mappings)
{
	return function->effect != EFFECT_FREE || mappings;
}

void plan_object_drop_sites(struct plan_object *object)
{
	vec_foreach (site, &object->sites)
		return_sites_deinit(&site->returns);
	object->sites.len = object->skipped.len = 0;
}

void plan_object_deinit(struct plan_object *object)
{
	allocator_deinit(&object->allocator);
	free(object->build_id);
	vec_foreach (site, &object->sites)
		return_sites_deinit(&site->returns);
	vec_deinit(&object->sites);
	vec_deinit(&object->skipped);
	vec_deinit(&object->missing);
}
