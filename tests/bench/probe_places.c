// SPDX-License-Identifier: Apache-2.0
#include "probe_places.h"

#include <string.h>

#include "bench.h"

struct walk {
	struct probe_list *probes;
	const char *path; /* the file that is being gone through */
	enum probe_places places;
};

static bool is_there(const struct walk *walk, uint64_t offset, bool is_return)
{
	vec_foreach (probe, &walk->probes->list)
		if (probe->offset == offset && probe->is_return == is_return &&
		    !strcmp(probe->path, walk->path))
			return true;
	return false;
}

/* Functions may share a place. It gets one probe, which serves all of them. */
static void add(struct walk *walk, const struct plan_site *site, uint64_t offset,
		bool is_return)
{
	const struct attach_probe probe = {
		.path = walk->path,
		.function = site->function->name,
		.offset = offset,
		.is_return = is_return,
	};

	if (!is_there(walk, offset, is_return) && !vec_push(&walk->probes->list, probe))
		die("out of memory");
}

static void add_outside(struct walk *walk, const struct plan_site *site)
{
	add(walk, site, site->entry_offset, false);
	if (site->wants_return)
		add(walk, site, site->return_offset, true);
}

static uint64_t offset_of(const struct plan_site *site, uint64_t address)
{
	return site->offset + (address - site->address);
}

static void add_results(struct walk *walk, const struct plan_site *site)
{
	vec_foreach (at, &site->returns.list)
		if (walk->places == PLACES_INSIDE || !at->is_emulated)
			add(walk, site, offset_of(site, at->address), false);
	if (walk->places != PLACES_INSIDE)
		return;
	vec_foreach (at, &site->returns.entries)
		add(walk, site, offset_of(site, at->address), false);
	if (!site->returns.is_fused)
		add(walk, site, site->entry_offset, false);
}

static void add_site(struct walk *walk, const struct plan_site *site)
{
	bool has_body = site->body.count && walk->places == PLACES_INSIDE;

	for (size_t i = 0; has_body && i < site->body.count; i++)
		add(walk, site, site->offset + site->body.sites[i].delta, false);
	if (site->body.count && walk->places != PLACES_OUTSIDE)
		return;
	if (walk->places != PLACES_OUTSIDE && site->returns.is_complete)
		add_results(walk, site);
	else if (walk->places != PLACES_STEPPED)
		add_outside(walk, site);
}

void probe_list_init(struct probe_list *ret, const struct plan *plan,
		     enum probe_places places)
{
	memset(ret, 0, sizeof(*ret));
	vec_foreach (object, &plan->objects) {
		struct walk walk = {ret, target_file_link(object->allocator.file),
				    places};

		vec_foreach (site, &object->sites)
			add_site(&walk, site);
	}
}

void probe_list_deinit(struct probe_list *probes)
{
	vec_deinit(&probes->list);
}
