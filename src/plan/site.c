// SPDX-License-Identifier: Apache-2.0
#include "plan/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "arch/arch.h"
#include "code/callees.h"
#include "code/cfg.h"
#include "code/flow.h"
#include "code/place.h"
#include "code/reach.h"
#include "plan/malformed.h"
#include "plan/returns.h"
#include "plan/site_entry.h"
#include "code/start.h"
#include "unwind/cfi.h"
#include "unwind/rules.h"
#include "util/cleanup.h"

static unsigned kernel_emulates(void)
{
	unsigned emulated = 0;
	struct utsname name;
	unsigned major, minor;

	if (arch.has_decoder && uname(&name) == 0 &&
	    sscanf(name.release, "%u.%u", &major, &minor) == 2)
		emulated = emulated_by_kernel(major, minor);
	return emulated;
}

/*
 * Is the function known to take a size as its only argument, and not to call another
 * probed function? Such a call would be nested in one that has not been seen yet.
 * glibc's malloc() calls _int_malloc() and similar functions (malloc/malloc.c).
 */
static bool has_known_body(const struct allocator *allocator,
			   const struct alloc_function *function)
{
	return !strcmp(allocator->label, LABEL_GLIBC) &&
	       !strcmp(function->name, "malloc") && function->effect == EFFECT_ALLOC;
}

/* --- the functions of a file -------------------------------------------------------- */

DEFINE_CLEANUP(struct site_code *, site_code_close);

/* The entry probe of a function; addresses. */
struct entry_place {
	uint64_t function, at;
};

struct site_code {
	struct site_file file;
	struct site_options options;
	uint64_t text_bias; /* the address of code minus its file offset */
	struct cfi *cfi;    /* NULL: none */
	struct starts starts;
	struct callees callees;
	bool has_callees;
	struct cfg_source source;
	struct returns returns;
	struct reach reach;
	/* Functions with sites that see whole calls. */
	VEC(uint64_t) bodies;
	/* The entry probes of the other functions. */
	VEC(struct entry_place) entries;
	uint64_t asked_for; /* function whose own entry probe is ignored; 0: none */
};

static size_t read_at(void *arg, uint64_t address, uint8_t *ret, size_t size)
{
	const struct site_code *code = arg;

	/* A wrapped address is outside of the file: nothing is read. */
	return elf_file_read(code->file.elf, address - code->text_bias, ret, size);
}

static bool find_extent(void *arg, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct site_code *code = arg;
	struct cfi_fde fde;

	if (!code->cfi || !cfi_find_fde(code->cfi, address, &fde))
		return false;
	*start = fde.start;
	*end = fde.end;
	return true;
}

static bool has_sites(void *arg, uint64_t address)
{
	const struct site_code *code = arg;

	vec_foreach (body, &code->bodies)
		if (*body == address)
			return true;
	return false;
}

/* Is another function's entry probe at this place? Two programs at one place run in an
 * unknown order. */
static bool is_entry(void *arg, uint64_t address)
{
	const struct site_code *code = arg;

	vec_foreach (entry, &code->entries)
		if (entry->at == address && entry->function != code->asked_for)
			return true;
	return false;
}

/* Is it a traced function of the allocator? */
static bool is_function(void *arg, uint64_t address)
{
	const struct site_code *code = arg;

	vec_foreach (found, &code->file.allocator->functions)
		if (found->symbol.address == address &&
		    (code->options.mappings || !found->function->mapping))
			return true;
	return false;
}

static bool calls_function(void *arg, uint64_t address)
{
	struct site_code *code = arg;

	return reach_any(&code->reach, address);
}

static const char *check_code(void *arg, uint64_t address, size_t size)
{
	const struct site_code *code = arg;
	uint64_t offset = address - code->text_bias;
	_cleanup_(freep) uint8_t *bytes = malloc(size);

	if (!bytes)
		return "out of memory";
	if (elf_file_read(code->file.elf, offset, bytes, size) != size)
		return "its code cannot be read";
	return site_text_check(code->file.target, code->file.allocator, offset, bytes,
			       size);
}

enum result_width site_result_width(enum alloc_effect effect)
{
	switch (effect) {
	case EFFECT_ALLOC_OUT:
		return RESULT_OUT;
	case EFFECT_REALLOC:
		return RESULT_MOVED;
	case EFFECT_UNMAP:
		return RESULT_INT;
	case EFFECT_FREE:
		return RESULT_VOID;
	default:
		return RESULT_WORD;
	}
}

/* Record where the entry probe would be if the function had no sites for whole calls. */
static bool add_entry(struct site_code *c, const struct allocator_function *found)
{
	_cleanup_(freep) uint8_t *code = site_read_code(c->file.elf, &found->symbol);
	struct plan_site site = {
		.function = found->function,
		.wants_return = plan_wants_return(found->function, c->options.mappings),
	};

	return !site_place_entry(&c->file, found, code, &site) ||
	       vec_push(&c->entries,
			(struct entry_place){site.address,
					     site.address +
						     (site.entry_offset - site.offset)});
}

static void drop_entry(struct site_code *c, uint64_t function)
{
	size_t kept = 0;

	vec_foreach (entry, &c->entries)
		if (entry->function != function)
			c->entries.data[kept++] = *entry;
	c->entries.len = kept;
}

enum value site_asked(const struct alloc_function *f)
{
	bool is_product = (f->size_arg == 0 && f->count_arg == 1) ||
			  (f->size_arg == 1 && f->count_arg == 0);

	if (f->effect != EFFECT_ALLOC)
		return RETURN_NO_SIZE;
	if (is_product)
		return VALUE_PRODUCT;
	return f->count_arg == ARG_NONE && f->size_arg <= VALUE_ARG3 ? f->size_arg
								     : RETURN_NO_SIZE;
}

/* The request for a function. Sites for whole calls need calls that are described by
 * their size alone, and no need to find the call around a nested mapping. */
static struct returns_request request_for(const struct site_code *c,
					  const struct allocator_function *found)
{
	const struct alloc_function *f = found->function;
	bool is_wanted = !c->options.function || !strcmp(c->options.function, f->name);
	bool is_simple = is_wanted && !c->options.mappings;

	return (struct returns_request){
		.address = found->symbol.address,
		.size = found->symbol.size_bytes,
		.width = site_result_width(f->effect),
		.asked = is_simple ? site_asked(f) : RETURN_NO_SIZE,
	};
}

/* Find the functions with sites for whole calls: other functions may jump to them. */
static bool find_bodies(struct site_code *c)
{
	struct returns trial = c->returns;
	bool ok = true;

	vec_foreach (found, &c->file.allocator->functions) {
		const struct returns_request request = request_for(c, found);
		struct return_sites sites = {0};

		if (!ok || request.asked == RETURN_NO_SIZE ||
		    has_known_body(c->file.allocator, found->function) ||
		    has_sites(c, request.address) ||
		    malformed_overlap(c->file.allocator, found, &c->source))
			continue;
		c->asked_for = request.address;
		if (!returns_find(&trial, &request, &sites) && sites.is_fused)
			ok = vec_push(&c->bodies, request.address);
		return_sites_deinit(&sites);
	}
	returns_deinit(&trial);
	c->asked_for = 0;
	vec_foreach (body, &c->bodies)
		drop_entry(c, *body);
	return ok;
}

static bool find_entries(struct site_code *c)
{
	vec_foreach (found, &c->file.allocator->functions)
		if (!add_entry(c, found))
			return false;
	return find_bodies(c);
}

struct error *site_code_open(struct elf_file *file, const struct allocator *allocator,
			     const struct site_target *target,
			     const struct site_options *options, struct site_code **ret)
{
	_cleanup_(site_code_closep) struct site_code *code = calloc(1, sizeof(*code));
	struct error *err;

	if (!code)
		return error_no_memory();
	*code = (struct site_code){
		.file = {file, allocator, target, kernel_emulates()},
		.options = *options,
	};
	starts_init(&code->starts, NULL, -1);
	code->source = (struct cfg_source){.read = read_at,
					   .extent = find_extent,
					   .arg = code,
					   .work = target->work};
	code->returns = (struct returns){
		.source = &code->source,
		.emulated = code->file.emulated,
		.is_covered = has_sites,
		.check = check_code,
		.is_taken = is_entry,
		.calls = calls_function,
		.arg = code,
		.has_hooks = !strcmp(allocator->label, LABEL_GLIBC),
	};
	code->reach = (struct reach){
		.source = &code->source, .is_probed = is_function, .arg = code};
	if (allocator->functions.len) {
		const struct elf_symbol *first = &allocator->functions.data[0].symbol;

		code->text_bias = first->address - first->file_offset;
	}
	/* Without unwind information there are return probes. */
	err = start_open_cfi(allocator->file, &code->cfi);
	if (err)
		return err;
	starts_init(&code->starts, code->cfi, target_file_open(allocator->file));
	err = callees_init(&code->callees, file, code->text_bias);
	code->has_callees = !err;
	if (!err)
		code->source.callees = &code->callees;
	error_destroy(err);
	if (!find_entries(code))
		return error_no_memory();
	*ret = take(code);
	return NULL;
}

void site_code_close(struct site_code *code)
{
	if (!code)
		return;
	starts_deinit(&code->starts);
	cfi_close(code->cfi);
	if (code->has_callees)
		callees_deinit(&code->callees);
	returns_deinit(&code->returns);
	reach_deinit(&code->reach);
	vec_deinit(&code->bodies);
	vec_deinit(&code->entries);
	free(code);
}

/* --- sites of a function ------------------------------------------------------------ */

/* Get the number of words below the return address where the rule finds the caller's
 * rbp; 0: in the register. False: sites cannot express it. */
static bool bp_words(uint64_t rule, uint8_t *ret)
{
	int64_t offset = (int64_t)unwind_bp_offset(rule);

	*ret = 0;
	if (!(rule & UNWIND_PLAIN))
		return false;
	if (UNWIND_BP_MODE(rule) == UNWIND_BP_SAME)
		return true;
	*ret = (uint8_t)((-8 - offset) / 8);
	return unwind_bp_saved(rule) && offset <= -16 &&
	       (-8 - offset) / 8 <= RETURN_BP_WORDS_MAX;
}

/* Stacks are unwound from these sites: does a simple rule find the caller from each of
 * them? */
static bool is_unwound(const struct site_code *code, uint64_t function, struct body *body)
{
	for (size_t i = 0; i < body->count; i++) {
		uint64_t pc = function + body->sites[i].delta;
		struct cfi_row row;

		if (!code->cfi || cfi_find_row(code->cfi, pc, &row) != CFI_FOUND ||
		    !bp_words(rule_from_row(&row, pc), &body->bp_words[i]))
			return false;
	}
	return true;
}

/* The place of a function's code in its file. */
struct file_text {
	struct elf_file *file;
	uint64_t offset;
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct file_text *text = arg;

	return elf_file_read(text->file, text->offset + (uint64_t)offset, ret, size);
}

/* Find sites for whole calls, if they are known to be right. */
static bool find_body(struct site_code *c, const struct allocator_function *found,
		      const uint8_t *code, struct plan_site *site)
{
	size_t size = (size_t)found->symbol.size_bytes;
	struct file_text in_file = {c->file.elf, found->symbol.file_offset};
	const struct flow_text text = {code, size, read_other, &in_file};
	struct body body;

	if (!has_known_body(c->file.allocator, found->function) ||
	    site_is_shared(c->file.allocator, found->symbol.address,
			   (uint32_t)size - 1) ||
	    body_find(&text, c->file.emulated, &body) ||
	    site_text_check(c->file.target, c->file.allocator, found->symbol.file_offset,
			    code, size) ||
	    !is_unwound(c, found->symbol.address, &body) ||
	    !vec_push(&c->bodies, found->symbol.address))
		return false;
	site->body = body;
	return true;
}

/*
 * Are the sites more expensive than a return probe? Single-stepping costs ten times as
 * much as a return probe. If a site is stepped, successful calls usually pass it,
 * unless the function has another site for them.
 */
static bool is_dear(const struct return_sites *sites, enum result_width width)
{
	bool is_stepped = false, has_cheap = false;

	vec_foreach (s, &sites->list) {
		bool fails = s->value[0].kind == RETURN_VALUE && width != RESULT_VOID;

		if (s->is_shared || fails)
			continue;
		is_stepped |= !s->is_emulated;
		has_cheap |= s->is_emulated && width != RESULT_VOID;
	}
	return is_stepped && !has_cheap;
}

/* May the function throw a C++ exception? Judged by its name alone. */
static bool may_throw(const struct alloc_function *function)
{
	return !strncmp(function->name, "_Zn", 3) || strstr(function->name, "new");
}

/* Do exceptions pass through to its caller? On other machines return probes are the
 * only possibility. */
static bool is_thrown_through(const struct alloc_function *function)
{
	return arch.has_decoder && may_throw(function) &&
	       !strstr(function->name, "nothrow");
}

static bool lacks_cfi(const struct site_code *c, uint64_t address)
{
	struct cfi_row row;
	struct cfi_fde fde;

	uint64_t cost = WORK_FUNCTION;

	/* The search reads the program from its start. */
	if (c->cfi && cfi_find_fde(c->cfi, address, &fde))
		cost += fde.program_size;
	return !c->cfi || !work_spend(c->source.work, cost) ||
	       cfi_find_row(c->cfi, address, &row) != CFI_FOUND;
}

/* Mark sites without unwind information: an unwind miss can only start from a site that
 * has it. */
static void find_cfi(const struct site_code *c, struct return_sites *sites)
{
	vec_foreach (s, &sites->list)
		s->lacks_cfi = lacks_cfi(c, s->address);
	vec_foreach (exit, &sites->exits)
		exit->lacks_cfi = lacks_cfi(c, exit->address);
}

/* Find the sites that replace the return probe. */
static void find_returns(struct site_code *c, const struct allocator_function *found,
			 struct plan_site *site)
{
	struct returns_request request = request_for(c, found);
	const char *why = NULL;

	if (!has_sites(c, request.address))
		request.asked = RETURN_NO_SIZE;

	if (!arch.has_decoder)
		why = "the code of this machine is not understood";
	if (!why)
		why = returns_find(&c->returns, &request, &site->returns);
	if (!why)
		find_cfi(c, &site->returns);
	/* Functions that return a block through a pointer are called seldom. */
	if (!why && found->function->effect != EFFECT_ALLOC_OUT &&
	    is_dear(&site->returns, request.width) && !c->options.no_return_probes &&
	    !may_throw(found->function) && c->file.target->proc &&
	    !site_refused_return(c->file.target))
		why = "its result is settled by no instruction that is emulated";
	if (why)
		return_sites_deinit(&site->returns);
	site->no_returns = why;
}

static bool has_body_site(const struct body *body, uint64_t delta)
{
	for (size_t i = 0; i < body->count; i++)
		if (body->sites[i].delta == delta)
			return true;
	return false;
}

/* Find where calls seen by `site->body` return; the body's sites do not change. */
static void find_exits(struct site_code *c, const struct allocator_function *found,
		       struct plan_site *site)
{
	struct returns_request request = request_for(c, found);
	struct return_sites sites;

	request.asked = RETURN_NO_SIZE;
	if (!returns_find(&c->returns, &request, &sites)) {
		find_cfi(c, &sites);
		site->returns.exits = sites.exits;
		site->returns.has_more_exits = sites.has_more_exits;
		sites.exits.data = NULL;
		/* `body` has other sites than `sites`. */
		vec_foreach (exit, &site->returns.exits)
			exit->is_site = has_body_site(&site->body,
						      exit->address - request.address);
	}
	return_sites_deinit(&sites);
}

/* Why the function's code is malformed: a static string. NULL: it is not. */
static const char *malformed(const struct site_code *c,
			     const struct allocator_function *found,
			     const struct plan_site *site)
{
	const char *why = NULL;

	if (arch.has_decoder)
		why = malformed_overlap(c->file.allocator, found, &c->source);
	if (!why && site->no_returns)
		why = malformed_code(site->no_returns);
	return why;
}

/* Give a function with malformed code what its first instruction can show. False:
 * nothing. */
static bool place_malformed(const struct site_code *c,
			    const struct allocator_function *found, const uint8_t *code,
			    struct plan_site *site, const char *why)
{
	return_sites_deinit(&site->returns);
	site->no_returns = NULL;
	site->reason = why;
	site->wants_return = false;
	return found->function->effect == EFFECT_FREE &&
	       site_place_entry(&c->file, found, code, site);
}

bool site_place(struct site_code *c, const struct allocator_function *found,
		struct plan_site *site)
{
	_cleanup_(freep) uint8_t *code = site_read_code(c->file.elf, &found->symbol);
	const char *why;

	site->reason = start_doubt(&c->starts, &found->symbol);
	if (site->reason)
		return false;
	if (!site_place_entry(&c->file, found, code, site))
		return false;
	if (!site->wants_return)
		return true;
	if (!c->options.mappings && code && find_body(c, found, code, site)) {
		find_exits(c, found, site);
		return true;
	}
	find_returns(c, found, site);
	why = malformed(c, found, site);
	if (why)
		return place_malformed(c, found, code, site, why);
	if (!site->no_returns)
		return true;
	if (is_thrown_through(found->function)) {
		site->reason = "a return probe would end programs that catch its "
			       "exceptions, and its code is not understood well enough "
			       "for others";
		return false;
	}

	const char *refusal = site_refused_return(c->file.target);

	if (refusal)
		site->reason = refusal;
	return !refusal;
}
