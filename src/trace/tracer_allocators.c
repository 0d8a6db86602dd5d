// SPDX-License-Identifier: Apache-2.0
/* The numbers of allocators, and the meanings of the sites that a plan has. */
#include <stdlib.h>
#include <string.h>

#include "trace/tracer_state.h"

static bool same_allocator(const struct snapshot_allocator *a, const struct allocator *b)
{
	return !strcmp(a->label, b->label) && !strcmp(a->module, b->module_path);
}

unsigned tracer_allocator_number(const struct tracer *t,
				 const struct allocator *allocator)
{
	unsigned i = 0;

	while (i < t->allocators.len &&
	       !same_allocator(&t->allocators.data[i], allocator))
		i++;
	return i < ABI_MAX_ALLOCATOR_NUMBERS ? i : ABI_MAX_ALLOCATOR_NUMBERS;
}

static bool number_allocator(struct tracer *t, const struct allocator *allocator)
{
	struct snapshot_allocator fresh;

	if (tracer_allocator_number(t, allocator) < t->allocators.len ||
	    t->allocators.len == ABI_MAX_ALLOCATOR_NUMBERS)
		return true;
	fresh.label = strdup(allocator->label);
	fresh.module = strdup(allocator->module_path);
	if (fresh.label && fresh.module && vec_push(&t->allocators, fresh))
		return true;
	free(fresh.label);
	free(fresh.module);
	return false;
}

/* The meanings here have site number 0: programs do not depend on the number. */
static bool add_meanings(const struct plan_site *site, unsigned allocator, bool inside,
			 struct meanings *ret)
{
	for (size_t i = 0; inside && i < site->body.count; i++)
		if (!vec_push(&ret->list,
			      source_body_site(site, &site->body.sites[i], allocator, 0)))
			return false;
	vec_foreach (at, &site->returns.list)
		if (inside &&
		    !vec_push(&ret->list, source_return_site(site, at, allocator)))
			return false;
	vec_foreach (at, &site->returns.entries)
		if (inside &&
		    !vec_push(&ret->list, source_entry_site(site, at, allocator, 0)))
			return false;
	return vec_push(&ret->list, source_site(site, allocator, 0, false));
}

struct error *tracer_number_allocators(struct tracer *t, const struct plan *plan,
				       struct meanings *ret)
{
	bool inside = tracer_takes_bodies(t->config, &t->features);

	vec_foreach (object, &plan->objects) {
		if (!number_allocator(t, &object->allocator))
			return error_no_memory();

		unsigned number = tracer_allocator_number(t, &object->allocator);

		vec_foreach (site, &object->sites)
			if (ret && !add_meanings(site, number, inside, ret))
				return error_no_memory();
	}
	return NULL;
}
