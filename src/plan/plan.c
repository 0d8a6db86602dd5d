// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "code/decode.h"
#include "plan/plan_cache.h"
#include "plan/site.h"
#include "plan/usdt_site.h"
#include "elf/elf.h"
#include "process/target_elf.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct plan *, plan_destroy);
DEFINE_CLEANUP(struct site_code *, site_code_close);

/* Can a call of one function stand for a call of the other? */
static bool same_kind(const struct alloc_function *a, const struct alloc_function *b)
{
	return a->effect == b->effect && a->old_arg == b->old_arg &&
	       a->out_arg == b->out_arg;
}

static const struct plan_site *site_at(const struct plan_object *object, uint64_t address)
{
	vec_foreach (site, &object->sites)
		if (site->address == address)
			return site;
	return NULL;
}

static struct error *skip(struct plan_object *object, enum plan_skip_why why,
			  const struct alloc_function *function,
			  const struct alloc_function *other, const char *reason)
{
	const struct plan_skip skipped = {function, why, other, reason};

	return vec_push(&object->skipped, skipped) ? NULL : error_no_memory();
}

/* Does the code at `address` begin with a direct jump? Then *ret is the target. The
 * arguments and the stack are still the caller's there. */
static bool begins_with_jump(const unsigned char *code, size_t size, uint64_t address,
			     uint64_t *ret)
{
	struct insn insn;
	size_t at = 0;

	insn_decode(code, size, &insn);
	if (insn.kind == INSN_ENDBR) {
		at = insn.length;
		insn_decode(code + at, size - at, &insn);
	}
	*ret = address + at + (uint64_t)insn.target;
	return insn.kind == INSN_JMP;
}

/* The function that `from` begins with a jump to, if a call of `from` is also exactly
 * one call of it; else NULL. */
static const struct allocator_function *jump_target(const struct plan_object *object,
						    struct elf_file *file,
						    const struct allocator_function *from)
{
	unsigned char code[16];
	size_t size = elf_file_read(file, from->symbol.file_offset, code, sizeof(code));
	uint64_t address;

	if (!begins_with_jump(code, size, from->symbol.address, &address) ||
	    address == from->symbol.address)
		return NULL;
	vec_foreach (to, &object->allocator.functions)
		if (to->symbol.address == address && to->symbol.type != STT_GNU_IFUNC &&
		    same_kind(from->function, to->function))
			return to;
	return NULL;
}

static bool is_unwanted(const struct alloc_function *function,
			const struct plan_options *options)
{
	return options->function && alloc_function_allocates(function) &&
	       strcmp(function->name, options->function);
}

/* What an analysis of one file looks at. All borrowed. */
struct analysis {
	struct plan_object *object;
	struct elf_file *file;
	const struct plan_options *options;
	const struct site_target *on;
	struct site_code *code;
	struct usdt_file usdt; /* read with the first static probe */
	bool has_usdt;
	bool is_usdt_unread;
};

/* What the notes say is not proven: in the middle of an instruction a probe would destroy
 * the code. */
static const char *check_usdt(struct analysis *a, const struct usdt_place *usdt,
			      struct plan_site *site)
{
	const struct text_file text = site_text_file(&a->object->allocator);
	_cleanup_(usdt_code_deinit) struct usdt_code code = {0};
	bool is_alone = !a->options->is_shared && !a->options->has_others;
	struct error *err;
	const char *why;

	if (!a->has_usdt) {
		err = usdt_file_open(a->object->allocator.file, &a->usdt);
		a->is_usdt_unread = err;
		error_destroy(err);
	}
	a->has_usdt = true;
	if (a->is_usdt_unread)
		return "the file cannot be read";
	a->usdt.budget = a->on->budget;
	why = usdt_file_check(&a->usdt, usdt, is_alone, &code);
	site->is_private = !code.is_proven;
	site->code_offset = code.file_offset;
	return why ? why
		   : site_text_doubt(a->on, &text, code.file_offset, code.bytes,
				     code.size);
}

/* The place of a static probe; why it cannot have one of ours, or NULL. */
static const char *place_usdt(struct analysis *a, const struct allocator_function *found,
			      struct plan_site *site)
{
	const struct usdt_place *usdt = &found->usdt;
	bool allocates = found->function->effect == EFFECT_ALLOC_USDT;
	size_t used = allocates ? USDT_ARGS : 1, needed = allocates ? 2 : 1;
	const char *why = check_usdt(a, usdt, site);

	if (why)
		return why;
	for (size_t i = 0; i < used; i++) {
		if (usdt->args[i].kind == USDT_ARG_UNKNOWN)
			return "an argument is where a probe cannot read it";
		if (usdt->args[i].kind == USDT_ARG_NONE && i < needed)
			return "it has too few arguments";
	}
	site->address = found->symbol.address;
	site->offset = site->entry_offset = usdt->file_offset;
	site->ref_ctr = usdt->semaphore;
	memset(site->arg_reg, PLACE_NO_REGISTER, sizeof(site->arg_reg));
	memcpy(site->usdt, usdt->args, sizeof(site->usdt));
	site->reason = "static probe";
	return NULL;
}

static struct error *add_usdt(struct analysis *a, const struct allocator_function *found)
{
	struct plan_object *object = a->object;
	/* A linker that folds functions leaves the notes of each of them. */
	const struct plan_site *other = site_at(object, found->symbol.address);
	struct plan_site site = {.function = found->function};
	const char *why = other ? NULL : place_usdt(a, found, &site);

	if (other)
		return skip(object, PLAN_SKIP_SAME, found->function, other->function,
			    NULL);
	if (why)
		return skip(object, PLAN_SKIP_REFUSED, found->function, NULL, why);
	return vec_push(&object->sites, site) ? NULL : error_no_memory();
}

static struct error *add_function(struct analysis *a,
				  const struct allocator_function *found)
{
	struct plan_object *object = a->object;
	const struct plan_options *options = a->options;
	const struct alloc_function *function = found->function;
	bool unwanted = is_unwanted(function, options);
	const struct plan_site *other;
	const struct allocator_function *target;

	if (function->mapping && !options->mappings)
		return NULL;
	if (function->effect == EFFECT_ALLOC_USDT || function->effect == EFFECT_FREE_USDT)
		return add_usdt(a, found);
	if (unwanted && function->effect != EFFECT_REALLOC)
		return skip(object, PLAN_SKIP_UNWANTED, function, NULL, NULL);
	if (found->symbol.type == STT_GNU_IFUNC)
		return skip(object, PLAN_SKIP_INDIRECT, function, NULL, NULL);
	other = site_at(object, found->symbol.address);
	if (other)
		return skip(object, PLAN_SKIP_SAME, function, other->function, NULL);
	target = options->function ? NULL : jump_target(object, a->file, found);
	if (target)
		return skip(object, PLAN_SKIP_JUMP, function, target->function, NULL);

	struct plan_site site = {
		.function = function,
		.wants_return = plan_wants_return(function, options->mappings),
		.unrecorded = unwanted,
	};
	if (!site_place(a->code, found, &site))
		return skip(object, PLAN_SKIP_REFUSED, function, NULL, site.reason);
	if (vec_push(&object->sites, site))
		return NULL;
	return_sites_deinit(&site.returns);
	return error_no_memory();
}

/* Find the sites of an allocator in its file. */
static struct error *analyze(struct plan_object *object, struct elf_file *file,
			     const struct plan_options *options,
			     const struct site_target *on)
{
	const struct site_options how = {.function = options->function,
					 .mappings = options->mappings,
					 .no_return_probes = options->no_return_probes};
	_cleanup_(site_code_closep) struct site_code *code = NULL;
	struct error *err = site_code_open(file, &object->allocator, on, &how, &code);
	struct analysis a = {object, file, options, on, code, {.image = {.fd = -1}},
			     false,  false};

	/* A function named by options.function comes before its aliases. */
	for (int pass = options->function ? 0 : 1; pass < 2 && !err; pass++) {
		vec_foreach (found, &object->allocator.functions) {
			bool named = options->function &&
				     !strcmp(found->function->name, options->function);

			if (named != (pass == 0))
				continue;
			err = add_function(&a, found);
			if (err)
				break;
		}
	}
	usdt_file_close(&a.usdt);
	return err;
}

/* analyze(), or what the cache has for the file. */
static struct error *find_sites(struct plan_object *object, struct elf_file *file,
				const struct plan_options *options,
				const struct site_target *on)
{
	_cleanup_(site_checks_deinit) struct site_checks checks = {0};
	struct site_target here = *on;
	struct error *err;

	if (!options->cache)
		return analyze(object, file, options, on);
	if (plan_cache_find(options->cache, file, on, object))
		return NULL;
	here.checks = &checks;
	err = analyze(object, file, options, &here);
	if (!err)
		plan_cache_add(options->cache, file, &here, object);
	return err;
}

/* Will a function get a probe in all processes that it does not have yet? */
static bool has_new(const struct plan_object *object, const struct plan_options *options)
{
	const char *path = target_file_link(object->allocator.file);

	if (options->others)
		vec_foreach (site, &object->sites)
			if (!options->is_probed ||
			    !options->is_probed(options->breakpoints_arg, path,
						site->offset, site->entry_offset))
				return true;
	return false;
}

static struct error *fill(struct plan_object *object, const struct plan_options *options,
			  const struct site_target *on)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	const struct target_file *from = object->allocator.file;
	struct error *err = target_elf_open(from, &file);
	struct site_target here = *on;
	struct site_others others;

	if (err)
		return error_prefix(err, "allocator %s", object->allocator.module_path);
	vec_foreach (function, &object->allocator.missing)
		if (!vec_push(&object->missing, *function))
			return error_no_memory();
	if (options->find_breakpoints)
		here.breakpoints = options->find_breakpoints(options->breakpoints_arg,
							     target_file_link(from));
	err = find_sites(object, file, options, &here);
	if (err || !has_new(object, options))
		return err;
	err = site_others_find(options->others, from, &others);
	if (err || !others.runs->list.len)
		return err;
	/* Some process may have changed the code: choose again. */
	plan_object_drop_sites(object);
	here.others = &others;
	return analyze(object, file, options, &here);
}

static struct error *no_such_function(const struct plan *plan, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf list = {0};

	vec_foreach (object, &plan->objects) {
		const char *before = "";

		strbuf_appendf(&list, "; %s has ", object->allocator.module_path);
		vec_foreach (found, &object->allocator.functions) {
			if (!alloc_function_allocates(found->function))
				continue;
			strbuf_appendf(&list, "%s%s", before, found->function->name);
			before = ", ";
		}
	}
	if (list.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND,
			    "no allocator has a function %s that allocates%s", name,
			    strbuf_text(&list));
}

/* A function that is left out because a probe in it is not safe. */
static struct error *check_refused(const struct plan *plan)
{
	vec_foreach (object, &plan->objects)
		vec_foreach (s, &object->skipped)
			if (s->reason &&
			    (s->reason == plan->refusal || site_is_doubt(s->reason)))
				return error_create(ERROR_UNSAFE,
						    "%s: %s cannot be probed: %s",
						    object->allocator.module_path,
						    s->function->name, s->reason);
	return NULL;
}

/* Check that at least one allocating and one freeing function are probed. */
static struct error *check(const struct plan *plan, const struct plan_options *options)
{
	bool allocates = plan_records(plan);
	struct error *err;

	if (allocates && plan_frees(plan))
		return NULL;
	/* The other functions may be in files that already have their probes. */
	if (options->otel && options->known && options->known->mappings.len &&
	    plan_site_count(plan))
		return NULL;
	err = check_refused(plan);
	if (err)
		return err;
	if (!allocates && options->function)
		return no_such_function(plan, options->function);
	vec_foreach (object, &plan->objects) {
		vec_foreach (s, &object->skipped) {
			if (s->why == PLAN_SKIP_REFUSED)
				return error_create(ERROR_UNSUPPORTED,
						    "%s: %s cannot be probed: %s",
						    object->allocator.module_path,
						    s->function->name, s->reason);
			if (s->why == PLAN_SKIP_INDIRECT || s->why == PLAN_SKIP_SAME)
				return error_create(
					ERROR_UNSUPPORTED,
					s->other ? "%s: %s has the same code as %s"
						 : "%s: %s is an indirect function%s, "
						   "which cannot be probed: name "
						   "another file with --lib PATH",
					object->allocator.module_path, s->function->name,
					s->other ? s->other->name : "");
		}
	}
	if (options->otel)
		return error_create(ERROR_NOT_FOUND,
				    "no USDT probe otel_memory:%s was found: without it "
				    "memtrace cannot tell which blocks are live",
				    allocates ? "free" : "alloc");
	return error_create(ERROR_NOT_FOUND,
			    "no function that %s was found: name the file that holds the "
			    "allocator with --lib PATH",
			    allocates ? "frees" : "allocates");
}

static struct error *build_on(const struct site_target *target,
			      struct allocators *allocators,
			      const struct plan_options *options, struct plan **ret)
{
	struct return_question returns = {
		.ask = options->refuse_returns,
		.arg = options->refuse_arg,
		.pid = target->proc ? target->proc->pid : 0,
	};
	struct text_budget budget = {0};
	struct site_target on = *target;
	_cleanup_(plan_destroyp) struct plan *plan = calloc(1, sizeof(*plan));
	struct error *err = NULL;

	if (!plan || !vec_reserve(&plan->objects, allocators->list.len + 1)) {
		allocators_deinit(allocators);
		return error_no_memory();
	}
	vec_foreach (allocator, &allocators->list) {
		struct plan_object object = {.allocator = *allocator};

		object.build_id = take(object.allocator.build_id);
		plan->objects.data[plan->objects.len++] = object;
	}
	vec_deinit(&allocators->list);

	on.returns = &returns;
	on.budget = &budget;
	for (size_t i = 0; i < plan->objects.len && !err; i++) {
		/* No file of the process can use up the work of another: the C library's
		 * functions would get return probes, perhaps in all processes. */
		on.work = &plan->objects.data[i].work;
		err = fill(&plan->objects.data[i], options, &on);
	}
	plan->refusal = returns.refusal;
	if (!err)
		err = check(plan, options);
	if (!err)
		*ret = take(plan);
	return err;
}

struct error *plan_build_for(struct allocators *allocators,
			     const struct plan_options *options, struct plan **ret)
{
	const struct site_target on = {.unmapped = options->unmapped};

	return build_on(&on, allocators, options, ret);
}

struct error *plan_build(const struct proc *proc, const struct proc_maps *maps,
			 const struct plan_options *options, struct plan **ret)
{
	const struct allocator_options how = {
		.library = options->library,
		.symbols_prefix = options->symbols_prefix,
		.mappings = options->mappings,
		.otel = options->otel,
		.is_shared = options->is_shared,
		.known = options->known,
		.untraced = options->untraced,
		.scans = options->scans,
	};
	const struct site_target on = {.proc = proc, .maps = maps};
	_cleanup_(allocators_deinit) struct allocators allocators = {0};
	struct error *err = allocators_find(proc, maps, &how, &allocators);

	if (!err) {
		size_t count = allocators.list.len;

		err = build_on(&on, &allocators, options, ret);
		if (err && options->untraced && err->code != ERROR_NOT_FOUND &&
		    err->code != ERROR_GONE)
			options->untraced->count += count;
	}
	/* If the process has exited, return ERROR_GONE instead of this result: a file
	 * may be missing only for that reason, and code in memory cannot be compared
	 * any more. */
	if ((!err || err->code != ERROR_GONE) && proc_exits(proc)) {
		if (!err)
			plan_destroy(take(*ret));
		error_destroy(err);
		return error_create(ERROR_GONE, "process %d (%s) has exited", proc->pid,
				    proc->command);
	}
	return err;
}

struct error *plan_build_event(const struct event_spec *event, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options, struct plan **ret)
{
	_cleanup_(plan_destroyp) struct plan *plan = calloc(1, sizeof(*plan));
	struct error *err = NULL;

	if (!plan)
		return error_no_memory();
	plan->event = event;
	if (event_is_in_file(event->kind))
		err = event_sites_find(event, proc, maps, options, &plan->places);
	if (!err)
		*ret = take(plan);
	return err;
}

void plan_destroy(struct plan *plan)
{
	if (!plan)
		return;
	vec_foreach (object, &plan->objects)
		plan_object_deinit(object);
	event_sites_deinit(&plan->places);
	vec_deinit(&plan->objects);
	free(plan);
}
