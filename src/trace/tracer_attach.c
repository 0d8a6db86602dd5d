// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach/site_places.h"
#include "trace/site_numbers.h"
#include "trace/tracer_state.h"
#include "util/cleanup.h"

/* --- sites ------------------------------------------------------------------------ */

/* The return probe replaces the word at the stack pointer: see plan/site.c, which checks
 * this, too. Otherwise the target would crash. */
static bool can_return(const struct plan_site *site)
{
	return site->return_offset != site->entry_offset || site->sp_delta == 0;
}

/* Code in front of a probe, if the probe is in the function: attach_probe.before. */
#define BEFORE_MAX (64u << 10)

static uint32_t bytes_before(const struct plan_site *site, uint64_t offset)
{
	uint64_t from = site->code_offset ? site->code_offset : site->offset;

	return offset >= from && offset - from <= BEFORE_MAX ? (uint32_t)(offset - from)
							     : 0;
}

static struct error *site_probes(struct tracer *t, const struct plan_object *object,
				 const struct plan_site *site, uint64_t file,
				 uint64_t meaning, struct attach_probe ret[2],
				 size_t *count)
{
	int entry;
	struct error *err = t->mode->load_entry(t, site, meaning, &entry);
	bool is_session = !err && entry == t->programs[PROGRAM_SESSION];

	if (!err && site->wants_return && !is_session)
		err = tracer_load(t, PROGRAM_RETURN);
	if (err)
		return err;
	ret[0] = (struct attach_probe){
		.path = target_file_link(object->allocator.file),
		.module = object->allocator.module_path,
		.is_private = object->allocator.has_targets_names || site->is_private,
		.function = site->function->name,
		.file = file,
		.offset = site->entry_offset,
		.before = bytes_before(site, site->entry_offset),
		.ref_ctr = site->ref_ctr,
		.program = entry,
		.cookie = meaning,
		.is_session = is_session,
	};
	*count = 1;
	if (!site->wants_return || is_session)
		return NULL;
	ret[1] = ret[0];
	ret[1].offset = site->return_offset;
	ret[1].before = bytes_before(site, site->return_offset);
	ret[1].program = t->programs[PROGRAM_RETURN];
	ret[1].cookie = 0;
	ret[1].is_return = true;
	*count = 2;
	return NULL;
}

/* What one call of tracer_attach() adds. */
struct addition {
	struct attach_probe *probes;
	size_t count;
	VEC(struct attached_site) sites;
	size_t refused;
	VEC(struct check_request) checks;
	/* For the sites that are being collected: */
	uint64_t file_number;
	int file; /* a descriptor, or -1; borrowed */
};

static void addition_deinit(struct addition *a)
{
	vec_foreach (check, &a->checks)
		check_request_deinit(check);
	vec_deinit(&a->checks);
	free(a->probes);
	vec_deinit(&a->sites);
}

static bool same_place(const struct attached_site *a, const struct attached_site *b)
{
	return a->file && a->file == b->file && a->offset == b->offset;
}

/* One function must not get probes at a second place. */
static bool same_site(const struct attached_site *a, const struct attached_site *b)
{
	if (a->pid != b->pid)
		return false;
	return a->function && a->file ? a->file == b->file && a->function == b->function
				      : same_place(a, b);
}

bool tracer_is_attached(const struct tracer *t, const struct attached_site *site)
{
	vec_foreach (s, &t->sites)
		if (same_site(s, site))
			return true;
	return false;
}

/* Two allocators of a file may have the same function. */
static bool is_added(const struct addition *a, const struct attached_site *site)
{
	vec_foreach (s, &a->sites)
		if (same_site(s, site))
			return true;
	return false;
}

/* Find the number of the site at this place in a list, and mark the numbers that are
 * used. Returns false if the list does not have the place; 0 is a valid number. */
static bool find_number(const struct attached_site list[], size_t count,
			const struct attached_site *site, bool used[], unsigned *ret)
{
	for (size_t i = 0; i < count; i++) {
		/* Sites that read results have no number. */
		if (list[i].meaning)
			continue;
		used[list[i].number] = true;
		if (same_place(&list[i], site)) {
			*ret = list[i].number;
			return true;
		}
	}
	return false;
}

/* Sites at the same place of a file have the same number, in all processes. All sites
 * beyond ABI_MAX_SITES - 1 share the last number. */
static unsigned site_number(const struct tracer *t, const struct addition *a,
			    const struct attached_site *site)
{
	struct site_numbers numbers = {{false}};
	unsigned number = 0;

	if (find_number(t->sites.data, t->sites.len, site, numbers.used, &number) ||
	    find_number(a->sites.data, a->sites.len, site, numbers.used, &number))
		return number;
	tracer_mark_leaving_sites(t, numbers.used);
	return site_numbers_find(&numbers);
}

/* Add a probe inside a function. */
static void add_probe(struct tracer *t, const struct plan_object *object,
		      const struct plan_site *site, uint64_t offset, uint64_t meaning,
		      struct addition *a)
{
	size_t program = source_site_begins(meaning) ? PROGRAM_CALL : PROGRAM_RESULT;

	site_announce(site_place(t->sites_at, offset), meaning);
	a->probes[a->count++] = (struct attach_probe){
		.path = target_file_link(object->allocator.file),
		.module = object->allocator.module_path,
		.is_private = object->allocator.has_targets_names,
		.function = site->function->name,
		.file = a->file_number,
		.offset = offset,
		.before = bytes_before(site, offset),
		.program = t->programs[program],
		.cookie = meaning,
	};
}

static struct error *load_inside(struct tracer *t)
{
	struct error *err = tracer_load(t, PROGRAM_RESULT);

	return err ? err : tracer_load(t, PROGRAM_CALL);
}

/* Can probes inside the function see whole calls? */
static bool has_body(const struct tracer *t, const struct plan_site *site)
{
	return site->body.count && tracer_uses_bodies(t, t->attachment.ops);
}

static struct error *collect_body(struct tracer *t, const struct plan_object *object,
				  const struct plan_site *site, unsigned allocator,
				  unsigned number, struct addition *a)
{
	struct error *err = load_inside(t);

	for (size_t i = 0; i < site->body.count && !err; i++) {
		const struct body_site *at = &site->body.sites[i];

		add_probe(t, object, site, site->offset + at->delta,
			  source_body_site(site, at, allocator, number), a);
	}
	return err;
}

/* The place in its file of a site that reads results. */
static struct attached_site place_of(const struct plan_site *site,
				     const struct return_site *at,
				     struct attached_site id)
{
	id.offset = site->offset + (at->address - site->address);
	id.function = 0;
	id.number = 0;
	return id;
}

static bool sees_results_at(const struct attached_site *s, const struct attached_site *id)
{
	return !s->function && s->pid == id->pid && same_place(s, id);
}

/* The result-reading probe at this place, attached or about to be. NULL: none. */
static const struct attached_site *find_place(const struct tracer *t,
					      const struct addition *a,
					      const struct attached_site *id)
{
	vec_foreach (s, &t->sites)
		if (sees_results_at(s, id))
			return s;
	vec_foreach (s, &a->sites)
		if (sees_results_at(s, id))
			return s;
	return NULL;
}

/* Do sites inside the function see its result? A site that another function also reaches
 * must have the same meaning for both. */
static bool has_returns(const struct tracer *t, const struct addition *a,
			const struct plan_site *site, struct attached_site id,
			unsigned allocator)
{
	if (!site->returns.is_complete || !tracer_uses_bodies(t, t->attachment.ops))
		return false;
	vec_foreach (at, &site->returns.list) {
		const struct attached_site place = place_of(site, at, id);
		const struct attached_site *other = find_place(t, a, &place);
		uint64_t meaning = source_return_site(site, at, allocator);

		if (other && (other->meaning ^ meaning) & ~(uint64_t)ABI_RESULT_SHARED)
			return false;
	}
	return true;
}

static struct error *collect_returns(struct tracer *t, const struct plan_object *object,
				     const struct plan_site *site,
				     struct attached_site id, unsigned allocator,
				     unsigned number, struct addition *a)
{
	struct error *err = load_inside(t);

	if (err)
		return err;
	vec_foreach (at, &site->returns.list) {
		struct attached_site place = place_of(site, at, id);

		if (find_place(t, a, &place))
			continue;
		place.meaning = source_return_site(site, at, allocator);
		if (!vec_push(&a->sites, place))
			return error_no_memory();
		add_probe(t, object, site, place.offset, place.meaning, a);
	}
	vec_foreach (at, &site->returns.entries)
		add_probe(t, object, site, site->offset + (at->address - site->address),
			  source_entry_site(site, at, allocator, number), a);
	return NULL;
}

/* Functions that free are not checked: they return nothing. */
static struct error *collect_check(struct tracer *t, const struct plan_object *object,
				   const struct plan_site *site,
				   const struct attached_site *id, unsigned allocator,
				   unsigned number, struct addition *a)
{
	struct check_request request;
	bool ok;

	if (!t->checks || site->function->effect == EFFECT_FREE)
		return NULL;
	ok = tracer_describe_check(t, object, site, id, allocator, number, &request);
	request.file = a->file;
	if (ok && vec_push(&a->checks, request))
		return NULL;
	check_request_deinit(&request);
	return error_no_memory();
}

static struct error *collect_site(struct tracer *t, const struct plan_object *object,
				  const struct plan_site *site, struct attached_site id,
				  struct addition *a)
{
	unsigned allocator = tracer_allocator_number(t, &object->allocator);

	id.offset = site->entry_offset;
	id.function = site->offset;
	if (tracer_is_attached(t, &id) || is_added(a, &id))
		return NULL;

	unsigned number = id.number = t->features.cookies ? site_number(t, a, &id) : 0;
	bool inside = has_returns(t, a, site, id, allocator);
	uint64_t meaning = source_site(site, allocator, number, inside);

	if (!source_serves(t->source, meaning) ||
	    (t->mode->take_site && !t->mode->take_site(t, site, number))) {
		a->refused++;
		return NULL;
	}
	if (site->wants_return && !inside && !can_return(site))
		return error_create(ERROR_UNSUPPORTED,
				    "no return probe is possible in %s",
				    site->function->name);
	if (!vec_push(&a->sites, id))
		return error_no_memory();
	bool has_body_sites = has_body(t, site);

	if (has_body_sites || inside) {
		struct error *err = load_inside(t);

		if (!err)
			err = collect_check(t, object, site, &id, allocator, number, a);
		if (err)
			return err;
	}
	if (has_body_sites)
		return collect_body(t, object, site, allocator, number, a);
	if (inside) {
		struct error *err =
			collect_returns(t, object, site, id, allocator, number, a);

		if (!err && !site->returns.is_fused)
			add_probe(t, object, site, id.offset, meaning, a);
		return err;
	}

	/* Its sites inside cannot be used, and no return probe was planned. */
	if (site->wants_return && !site->no_returns &&
	    tracer_uses_bodies(t, t->attachment.ops)) {
		a->refused++;
		a->sites.len--;
		return NULL;
	}

	size_t count = 0;
	struct error *err = site_probes(t, object, site, id.file, meaning,
					a->probes + a->count, &count);

	site_announce(site_place(t->sites_at, id.offset), meaning);
	a->count += count;
	return err;
}

static struct error *collect(struct tracer *t, const struct plan *plan, int pid,
			     struct addition *a)
{
	struct error *more = tracer_load_more(t, plan);

	if (more)
		return more;
	a->probes = calloc(plan_probe_count(plan) + 1, sizeof(*a->probes));
	if (!a->probes)
		return error_no_memory();
	vec_foreach (object, &plan->objects) {
		struct attached_site id = {.pid = pid};
		struct numbered_file file;
		/* If the file is gone by now, the kernel refuses the probe. */
		struct error *number = file_numbers_find(
			&t->files, target_file_link(object->allocator.file), &file);

		if (number)
			return number;
		id.file = a->file_number = file.number;
		a->file = file.fd;
		vec_foreach (site, &object->sites) {
			struct error *err = collect_site(t, object, site, id, a);

			if (err)
				return err;
		}
	}
	return NULL;
}

#define RANKS 4

/* Sites that read results come first: those that begin calls depend on them. */
static unsigned rank_of(const struct attach_probe *probe)
{
	switch (ABI_SITE_EFFECT(probe->cookie)) {
	case ABI_EFFECT_RESULT:
		return 0;
	case ABI_EFFECT_FREE:
	case ABI_EFFECT_FREE_USDT:
	case ABI_EFFECT_UNMAP:
		return 1;
	case ABI_EFFECT_REALLOC:
	case ABI_EFFECT_REMAP:
	case ABI_EFFECT_RESIZE:
		return 2;
	default:
		return 3;
	}
}

/* Attach the probes of functions that free blocks first. An allocator that is loaded
 * during tracing may already be in use. A block whose allocation is seen but not its free
 * would stay in the table. */
static bool sort_probes(struct addition *a)
{
	struct attach_probe *sorted = calloc(a->count + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return false;
	for (unsigned rank = 0; rank < RANKS; rank++) {
		for (size_t i = 0; i < a->count; i++) {
			if (rank_of(&a->probes[i]) != rank)
				continue;
			sorted[n] = a->probes[i];
			sorted[n++].rank = rank;
		}
	}
	free(a->probes);
	a->probes = sorted;
	return true;
}

static struct error *attach_with(struct tracer *t, const struct attach_ops *ops,
				 const struct plan *plan, int pid, struct addition *a)
{
	struct error *err =
		t->attachment.ops == ops ? NULL : tracer_begin_programs(t, ops);

	if (!err)
		err = collect(t, plan, pid, a);
	if (!err && !sort_probes(a))
		err = error_no_memory();
	if (!err && a->count)
		err = tracer_attach_probes(t, pid, a->probes, a->count);
	return err;
}

/* Attach; the first time, also find out which mechanism the kernel accepts. */
static struct error *attach_somehow(struct tracer *t, const struct plan *plan, int pid,
				    struct addition *a)
{
	bool is_first = !t->sites.len;
	const struct attach_ops *ops =
		t->attachment.ops ? t->attachment.ops : tracer_preferred_ops(t);
	struct error *err = attach_with(t, ops, plan, pid, a);

	if (!err || !is_first || ops == &attach_perf_event ||
	    t->config->attach == ATTACH_MULTI || err->code != ERROR_UNSUPPORTED)
		return err;
	/* The kernel has uprobe_multi but rejects it: the older mechanism may work. */
	error_destroy(err);
	tracer_close_programs(t);
	t->compiled = 0;
	addition_deinit(a);
	*a = (struct addition){0};
	return attach_with(t, &attach_perf_event, plan, pid, a);
}

struct error *tracer_attach(struct tracer *t, const struct plan *plan, int pid,
			    size_t *refused)
{
	return t->mode->attach(t, plan, t->run.scope == SCOPE_PROCESSES ? pid : 0,
			       refused);
}

struct error *tracer_attach_sites(struct tracer *t, const struct plan *plan, int pid,
				  size_t *refused)
{
	_cleanup_(addition_deinit) struct addition a = {0};
	struct error *err;

	*refused = 0;
	err = tracer_number_allocators(t, plan, NULL);
	if (!err)
		err = attach_somehow(t, plan, pid, &a);
	if (err) {
		tracer_drop_unneeded(t, plan);
		return err;
	}
	*refused = a.refused;
	t->untraced += plan_untraced(plan, NULL, NULL);
	vec_foreach (site, &a.sites) {
		/* Without its record the site would be attached again and then
		 * refused. */
		if (!vec_push(&t->sites, *site))
			return error_no_memory();
	}
	if (a.refused)
		tracer_drop_unneeded(t, plan);
	for (size_t i = 0; i < a.checks.len && !err; i++)
		err = tracer_add_check(t, &a.checks.data[i]);
	return err;
}

void tracer_detach(struct tracer *t)
{
	for (size_t i = 0; i < RAW_TRACEPOINTS; i++) {
		if (t->raw_links[i] >= 0)
			close(t->raw_links[i]);
		if (t->raw_programs[i] >= 0)
			close(t->raw_programs[i]);
	}
	if (t->mode_state && t->mode->close)
		t->mode->close(t);
	tracer_end_files(t);
	checks_stop(t->checks, &t->attachment);
	t->attachment.is_last = true;
	if (t->attachment.ops)
		t->attachment.ops->detach(&t->attachment);
	tracer_close_programs(t);
	vec_deinit(&t->sites);
	tracer_close_breakpoints(t);
	file_numbers_deinit(&t->files);
	vec_deinit(&t->linkers.list);
	vec_deinit(&t->libcs.list);
}

bool tracer_is_probed(void *tracer, const char *path, uint64_t function, uint64_t place)
{
	struct tracer *t = tracer;
	const struct attached_site site = {
		.file = file_numbers_known(&t->files, path),
		.offset = place,
		.function = function,
	};

	return site.file && tracer_is_attached(t, &site);
}
