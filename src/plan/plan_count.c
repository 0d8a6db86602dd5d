// SPDX-License-Identifier: Apache-2.0
/* What a plan contains, and what it leaves out. */
#include <string.h>

#include "plan/plan.h"

static size_t count_sites(const struct plan *plan, bool (*of)(const struct plan_site *))
{
	size_t n = 0;

	vec_foreach (object, &plan->objects)
		vec_foreach (site, &object->sites)
			n += of(site);
	return n;
}

static bool any(const struct plan_site *site)
{
	return site->function;
}

static bool frees(const struct plan_site *site)
{
	return alloc_function_frees(site->function);
}

static bool records(const struct plan_site *site)
{
	return alloc_function_allocates(site->function) && !site->unrecorded;
}

bool plan_records(const struct plan *plan)
{
	return count_sites(plan, records);
}

bool plan_frees(const struct plan *plan)
{
	return count_sites(plan, frees);
}

size_t plan_site_count(const struct plan *plan)
{
	return count_sites(plan, any) + plan->places.list.len;
}

size_t plan_probe_count(const struct plan *plan)
{
	size_t n = 0;

	vec_foreach (object, &plan->objects)
		vec_foreach (site, &object->sites)
			n += 2 + site->body.count + site->returns.list.len +
			     site->returns.entries.len;
	return n;
}

bool plan_has_return_probes(const struct plan *plan, bool bodies)
{
	if (plan->event)
		return plan->event->kind == EVENT_URETPROBE;
	vec_foreach (object, &plan->objects)
		vec_foreach (site, &object->sites)
			if (site->wants_return &&
			    !(bodies && (site->body.count || site->returns.is_complete)))
				return true;
	return false;
}

/* Why a function without a probe makes the numbers wrong; NULL: it does not. */
static const char *why_untraced(const struct plan_skip *skip)
{
	const char *name = skip->function->name;

	if (skip->function->effect == EFFECT_ALLOC_USDT ||
	    skip->function->effect == EFFECT_FREE_USDT)
		return NULL;
	if (skip->why == PLAN_SKIP_REFUSED)
		return skip->reason;
	if (skip->why == PLAN_SKIP_INDIRECT &&
	    (!strcmp(name, "malloc") || !strcmp(name, "free")))
		return "it is an indirect function";
	return NULL;
}

size_t plan_untraced(const struct plan *plan, plan_untraced_fn fn, void *arg)
{
	size_t count = 0;

	vec_foreach (object, &plan->objects) {
		vec_foreach (function, &object->allocator.hidden) {
			count++;
			if (fn)
				fn(arg, object, *function, NULL);
		}
		vec_foreach (skip, &object->skipped) {
			const char *reason = why_untraced(skip);

			count += reason != NULL;
			if (fn && reason)
				fn(arg, object, skip->function, reason);
		}
	}
	return count;
}
