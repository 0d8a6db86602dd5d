// SPDX-License-Identifier: Apache-2.0
/* Describes functions with probes inside for the checks at their first calls
 * (checks.h). */
#include "trace/tracer_state.h"

struct error *tracer_open_checks(struct tracer *t)
{
	const struct checks_maps maps = {
		.checks = compiler_map(t->compiler, "checks"),
		.news = compiler_map(t->compiler, "check_news"),
		.retired = compiler_map(t->compiler, "check_retired"),
		.control = t->control,
		.sites_at = t->sites_at,
	};

	if (maps.checks < 0 || maps.news < 0 || maps.retired < 0)
		return compiler_lacks_map("checks");
	return checks_create(&maps, &t->checks);
}

static uint64_t file_offset(const struct plan_site *site, uint64_t address)
{
	return site->offset + (address - site->address);
}

static bool add_body(const struct plan_site *site, unsigned allocator, unsigned number,
		     struct check_request *ret)
{
	bool ok = true;

	for (size_t i = 0; i < site->body.count && ok; i++) {
		const struct body_site *at = &site->body.sites[i];
		const struct check_probe probe = {
			site->offset + at->delta,
			source_body_site(site, at, allocator, number)};

		ok = vec_push(&ret->sites, probe);
	}
	return ok;
}

static bool add_returns(const struct plan_site *site, unsigned allocator, unsigned number,
			struct check_request *ret)
{
	const struct check_probe entry = {site->entry_offset,
					  source_site(site, allocator, number, true)};
	bool ok = site->returns.is_fused || vec_push(&ret->sites, entry);

	vec_foreach (at, &site->returns.list) {
		const struct check_probe probe = {
			file_offset(site, at->address),
			source_return_site(site, at, allocator)};

		ok = ok && vec_push(&ret->sites, probe);
	}
	vec_foreach (at, &site->returns.entries) {
		const struct check_probe probe = {
			file_offset(site, at->address),
			source_entry_site(site, at, allocator, number)};

		ok = ok && vec_push(&ret->sites, probe);
	}
	return ok;
}

bool tracer_describe_check(const struct tracer *t, const struct plan_object *object,
			   const struct plan_site *site, const struct attached_site *id,
			   unsigned allocator, unsigned number, struct check_request *ret)
{
	bool has_body = site->body.count;
	bool ok;

	*ret = (struct check_request){
		.file_number = id->file,
		.file = -1,
		.offset = site->offset,
		.function = site->function->name,
		.module = object->allocator.module_path,
		.pid = id->pid,
		.has_more_exits = site->returns.has_more_exits,
		.result_program = t->programs[PROGRAM_RESULT],
		.call_program = t->programs[PROGRAM_CALL],
		.check_program = t->programs[PROGRAM_CHECK],
	};
	ok = has_body ? add_body(site, allocator, number, ret)
		      : add_returns(site, allocator, number, ret);
	vec_foreach (exit, &site->returns.exits) {
		const struct check_probe probe = {file_offset(site, exit->address),
						  source_exit_site(site, exit)};

		ok = ok && (exit->is_site ? vec_push(&ret->site_exits, probe.offset)
					  : vec_push(&ret->exits, probe));
	}
	/* Calls are seen by this entry and by the old ones. With another number the
	 * second counts as nested in the first. */
	if (has_body || site->returns.is_fused)
		ret->entry = (struct check_probe){
			site->entry_offset,
			source_site(site, allocator, ABI_MAX_SITES - 1, true)};
	return ok;
}

struct error *tracer_add_check(struct tracer *t, struct check_request *request)
{
	bool ok = !request->entry.offset ||
		  tracer_note_breakpoint(t, request->file_number, request->entry.offset);

	vec_foreach (exit, &request->exits)
		ok = ok && tracer_note_breakpoint(t, request->file_number, exit->offset);
	return ok ? checks_add(t->checks, request) : error_no_memory();
}

uint64_t tracer_checks_left_out(const struct tracer *t)
{
	return t->checks ? checks_left_out(t->checks) : 0;
}

bool tracer_next_verdict(struct tracer *t, struct check_verdict *ret)
{
	return t->checks && checks_next(t->checks, ret);
}
