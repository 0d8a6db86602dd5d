// SPDX-License-Identifier: Apache-2.0
#include "plan/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "plan/callees.h"
#include "plan/cfg.h"
#include "plan/flow.h"
#include "plan/place.h"
#include "plan/reach.h"
#include "plan/returns.h"
#include "target/living.h"
#include "unwind/cfi.h"
#include "unwind/rules.h"
#include "unwind_step.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

/* No allocator's function is longer; the file may say anything. */
#define CODE_MAX (1u << 20)

/* How much behind the last site has to be the same in memory, bytes. */
#define CODE_BEHIND 16

#define TRAP        0xcc /* int3, what a uprobe is in memory */

#define FIRST       "first instruction"

static unsigned kernel_emulates(void)
{
	unsigned emulated = 0;
#if defined(__x86_64__)
	struct utsname name;
	unsigned major, minor;

	if (uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2)
		emulated = place_kernel_emulates(major, minor);
#endif
	return emulated;
}

static unsigned arguments_of(const struct alloc_function *f)
{
	const uint8_t all[] = {f->size_arg, f->count_arg, f->old_arg, f->out_arg};
	unsigned arguments = 0;

	for (size_t i = 0; i < sizeof(all); i++)
		if (all[i] < PLACE_ARGUMENTS)
			arguments |= 1u << all[i];
	return arguments;
}

static struct place_request request_of(const struct plan_site *site)
{
	const struct alloc_function *f = site->function;

	return (struct place_request){
		.arguments = arguments_of(f),
		/* The probe of mremap reads more arguments, where calls pass them. */
		.emulated = f->effect == EFFECT_REMAP ? 0 : kernel_emulates(),
		.wants_return = site->wants_return,
		.frees = f->effect == EFFECT_FREE && f->old_arg == 0,
		/* Nobody else knows the address of a new mapping before the return. */
		.past_syscall = f->effect == EFFECT_MAP,
	};
}

/* All bytes of the function, or NULL. */
static uint8_t *read_code(struct elf_file *file, const struct elf_symbol *symbol)
{
	uint8_t *code = NULL;

	if (symbol->size_bytes && symbol->size_bytes <= CODE_MAX)
		code = malloc((size_t)symbol->size_bytes);
	if (code && elf_file_read(file, symbol->file_offset, code,
				  (size_t)symbol->size_bytes) != symbol->size_bytes) {
		free(code);
		code = NULL;
	}
	return code;
}

/* --- the text in memory ------------------------------------------------------------- */

static bool is_ours(const struct site_target *target, uint64_t file_offset)
{
	if (!target->breakpoints)
		return false;
	vec_foreach (offset, &target->breakpoints->offsets)
		if (*offset == file_offset)
			return true;
	return false;
}

/* Does an instruction begin at code[at]? One does at code[0]. */
static bool is_boundary(const uint8_t *code, size_t size, size_t at)
{
	size_t offset = 0;
	struct insn insn = {.length = 1};

	while (offset < at && insn.length) {
		insn_decode(code + offset, size - offset, &insn);
		offset += insn.length;
	}
	return offset == at;
}

/*
 * May the byte in memory be another? A breakpoint is there, ours or somebody's, if it is
 * the first of an instruction: whoever put it there executes what the file has.
 */
static const char *judge_byte(const struct site_target *target, uint64_t file_offset,
			      const uint8_t *code, size_t size, size_t at, uint8_t byte)
{
	if (byte != TRAP)
		return FIRST ": text in memory differs from the file";
	if (is_ours(target, file_offset + at))
		return NULL;
	if (!is_boundary(code, size, at))
		return FIRST ": a breakpoint is in the middle of an instruction";
	return proc_is_debugged(target->proc) ? FIRST
		       ": a debugger may have breakpoints there"
					      : NULL;
}

/* Why the bytes at `address` in the target, `file_offset` in the file, are no good; NULL:
 * they are `code`. */
static const char *compare_at(const struct site_target *target, uint64_t address,
			      uint64_t file_offset, const uint8_t *code, size_t size)
{
	uint8_t memory[4096];
	const char *why = NULL;

	for (size_t i = 0; i < size && !why; i++) {
		size_t at = i % sizeof(memory), left = size - i;

		if (!at && !living_read(target->proc->pid, address + i, memory,
					left < sizeof(memory) ? left : sizeof(memory)))
			return FIRST ": text in memory cannot be read";
		if (memory[at] != code[i])
			why = judge_byte(target, file_offset, code, size, i, memory[at]);
	}
	return why;
}

/* The same wherever the target has mapped this part of the allocator's file. */
static const char *compare_text(const struct site_target *target,
				const struct allocator *allocator, uint64_t file_offset,
				const uint8_t *code, size_t size)
{
	const char *why = FIRST ": text is not mapped";

	if (target->unmapped)
		return NULL;
	if (!target->proc)
		return FIRST ": no text in memory to compare with";
	vec_foreach (m, &target->maps->mappings) {
		if (!m->executable || m->start < allocator->text_start ||
		    m->start >= allocator->text_end ||
		    strcmp(m->path, allocator->module_path) != 0 ||
		    file_offset < m->file_offset ||
		    file_offset - m->file_offset > m->end - m->start ||
		    size > m->end - m->start - (file_offset - m->file_offset))
			continue;
		why = compare_at(target, m->start + (file_offset - m->file_offset),
				 file_offset, code, size);
		if (why)
			break;
	}
	return why;
}

/* --- the place ---------------------------------------------------------------------- */

static uint32_t last_delta(const struct plan_site *site, const struct place *place)
{
	return site->wants_return && place->return_delta > place->entry_delta
		       ? place->return_delta
		       : place->entry_delta;
}

/* Another name of the table begins behind the function's first byte: who calls it would
 * be taken for a caller of both. */
static bool is_shared(const struct allocator *allocator, uint64_t address, uint32_t delta)
{
	vec_foreach (other, &allocator->functions)
		if (other->symbol.address > address &&
		    other->symbol.address - address <= delta)
			return true;
	return false;
}

/* Why a proven place is not to be used all the same; NULL: it is. */
static const char *why_not(const struct allocator *allocator,
			   const struct allocator_function *found,
			   const struct site_target *target, const struct plan_site *site,
			   const struct place *place, const uint8_t *code)
{
	uint64_t size = found->symbol.size_bytes;
	uint32_t last = last_delta(site, place);

	if (!last)
		return NULL;
	/* The return probe replaces the word at the stack pointer, which has to be the
	 * return address; the entry's program wants to see it as it was. */
	if (site->wants_return &&
	    (place->return_delta < place->entry_delta ||
	     (place->return_delta == place->entry_delta && place->sp_delta != 0)))
		return FIRST ": no place for the return probe";
	if (place->sp_delta < INT16_MIN || place->sp_delta > INT16_MAX)
		return FIRST ": the stack pointer is too far off";
	if (is_shared(allocator, found->symbol.address, last))
		return FIRST ": another function begins inside";
	if (size - last > CODE_BEHIND)
		size = last + CODE_BEHIND;
	return compare_text(target, allocator, found->symbol.file_offset, code,
			    (size_t)size);
}

/*
 * Is it known of the function that it takes a size as its only argument, and comes by no
 * other function that is probed? Such would be nested in a call that nobody has seen yet.
 * glibc's malloc() calls _int_malloc() and the like (malloc/malloc.c).
 */
static bool has_known_body(const struct allocator *allocator,
			   const struct alloc_function *function)
{
	return !strcmp(allocator->label, LABEL_GLIBC) &&
	       !strcmp(function->name, "malloc") && function->effect == EFFECT_ALLOC;
}

/* --- sites inside --------------------------------------------------------------------
 */

DEFINE_CLEANUP(struct site_code *, site_code_close);

/* Where calls of a function are seen to begin: addresses. */
struct entry_place {
	uint64_t function, at;
};

struct site_code {
	struct elf_file *file;
	const struct allocator *allocator;
	const struct site_target *target;
	struct site_options options;
	uint64_t text_bias; /* the address of code less its file offset */
	struct cfi *cfi;    /* NULL: none */
	struct callees callees;
	bool has_callees;
	struct cfg_source source;
	struct returns returns;
	struct reach reach;
	/* Functions with sites that see whole calls. */
	VEC(uint64_t) bodies;
	/* Where calls of the others are seen to begin. */
	VEC(struct entry_place) entries;
	uint64_t asked_for; /* the function whose own entry does not matter, 0: none */
	bool is_filtered;   /* a return probe might kill the process */
};

static size_t read_at(void *arg, uint64_t address, uint8_t *ret, size_t size)
{
	const struct site_code *code = arg;

	/* A file that wraps around has nothing there. */
	return elf_file_read(code->file, address - code->text_bias, ret, size);
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

/* Two programs at one place would run in an order that nobody knows. */
static bool is_entry(void *arg, uint64_t address)
{
	const struct site_code *code = arg;

	vec_foreach (entry, &code->entries)
		if (entry->at == address && entry->function != code->asked_for)
			return true;
	return false;
}

/* Is it one of the allocator's that are traced? */
static bool is_function(void *arg, uint64_t address)
{
	const struct site_code *code = arg;

	vec_foreach (found, &code->allocator->functions)
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
	if (elf_file_read(code->file, offset, bytes, size) != size)
		return "its code cannot be read";
	return compare_text(code->target, code->allocator, offset, bytes, size);
}

static bool place_entry(const struct site_code *c, const struct allocator_function *found,
			const uint8_t *code, struct plan_site *site);

static enum result_width width_of(enum alloc_effect effect)
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

/* Where it would begin if it had no sites for whole calls. */
static bool add_entry(struct site_code *c, const struct allocator_function *found)
{
	_cleanup_(freep) uint8_t *code = read_code(c->file, &found->symbol);
	struct plan_site site = {
		.function = found->function,
		.wants_return = plan_wants_return(found->function, c->options.mappings),
	};

	return !place_entry(c, found, code, &site) ||
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

/* The size is all that there is to know of a call, and no mapping inside is to be told
 * apart by its record. */
static struct returns_request request_for(const struct site_code *c,
					  const struct allocator_function *found)
{
	const struct alloc_function *f = found->function;
	bool is_wanted = !c->options.function || !strcmp(c->options.function, f->name);
	bool is_simple = is_wanted && f->effect == EFFECT_ALLOC &&
			 f->count_arg == ARG_NONE && f->size_arg < RETURN_NO_SIZE &&
			 !c->options.mappings;

	return (struct returns_request){
		.address = found->symbol.address,
		.size = found->symbol.size_bytes,
		.width = width_of(f->effect),
		.size_arg = is_simple ? f->size_arg : RETURN_NO_SIZE,
	};
}

/* Which functions have sites for whole calls? Others may jump to them. */
static bool find_bodies(struct site_code *c)
{
	struct returns trial = c->returns;
	bool ok = true;

	vec_foreach (found, &c->allocator->functions) {
		const struct returns_request request = request_for(c, found);
		struct return_sites sites = {0};

		if (!ok || request.size_arg == RETURN_NO_SIZE ||
		    has_known_body(c->allocator, found->function) ||
		    has_sites(c, request.address))
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
	vec_foreach (found, &c->allocator->functions)
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
	int fd;

	if (!code)
		return error_no_memory();
	*code = (struct site_code){.file = file,
				   .allocator = allocator,
				   .target = target,
				   .options = *options};
	code->source =
		(struct cfg_source){.read = read_at, .extent = find_extent, .arg = code};
	code->returns = (struct returns){
		.source = &code->source,
		.emulated = kernel_emulates(),
		.is_covered = has_sites,
		.check = check_code,
		.is_taken = is_entry,
		.calls = calls_function,
		.arg = code,
		.has_hooks = !strcmp(allocator->label, LABEL_GLIBC),
	};
	code->reach = (struct reach){
		.source = &code->source, .is_probed = is_function, .arg = code};
	code->is_filtered = !target->proc || proc_is_filtered(target->proc);
	if (allocator->functions.len) {
		const struct elf_symbol *first = &allocator->functions.data[0].symbol;

		code->text_bias = first->address - first->file_offset;
	}
	fd = regular_file_open(allocator->open_path);
	err = fd < 0 ? NULL : cfi_open_file(fd, &code->cfi);
	/* Without it there are return probes. */
	error_destroy(err);
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
	cfi_close(code->cfi);
	if (code->has_callees)
		callees_deinit(&code->callees);
	returns_deinit(&code->returns);
	reach_deinit(&code->reach);
	vec_deinit(&code->bodies);
	vec_deinit(&code->entries);
	free(code);
}

/* How many words below the return address the rule finds the caller's rbp; false: as
 * sites can say it, nowhere. */
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

/* Stacks are walked from these sites on: is it known of each of them, and without ado,
 * where the caller is? */
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

/* Where a function's text is in its file. */
struct file_text {
	struct elf_file *file;
	uint64_t offset;
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct file_text *text = arg;

	return elf_file_read(text->file, text->offset + (uint64_t)offset, ret, size);
}

/* Sites for all of a call, where they are known to be right. */
static bool find_body(struct site_code *c, const struct allocator_function *found,
		      const uint8_t *code, struct plan_site *site)
{
	size_t size = (size_t)found->symbol.size_bytes;
	struct file_text in_file = {c->file, found->symbol.file_offset};
	const struct flow_text text = {code, size, read_other, &in_file};
	struct body body;

	if (!has_known_body(c->allocator, found->function) ||
	    is_shared(c->allocator, found->symbol.address, (uint32_t)size - 1) ||
	    body_find(&text, kernel_emulates(), &body) ||
	    compare_text(c->target, c->allocator, found->symbol.file_offset, code,
			 size) ||
	    !is_unwound(c, found->symbol.address, &body) ||
	    !vec_push(&c->bodies, found->symbol.address))
		return false;
	site->body = body;
	return true;
}

/*
 * Stepping through the copy of an instruction takes ten times as long as a return probe.
 * Where one has to be, calls that get what they ask for come by it as a rule, unless the
 * function has another site for those.
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

/* Can an exception leave the function? C++ says so in names alone. */
static bool may_throw(const struct alloc_function *function)
{
	return !strncmp(function->name, "_Zn", 3) || strstr(function->name, "new");
}

/* Walks that are handed over to memtrace begin at a site, if they can. */
static void find_cfi(const struct site_code *c, struct return_sites *sites)
{
	vec_foreach (s, &sites->list) {
		struct cfi_row row;

		s->lacks_cfi =
			!c->cfi || cfi_find_row(c->cfi, s->address, &row) != CFI_FOUND;
	}
}

/* Sites that take the place of the return probe. */
static void find_returns(struct site_code *c, const struct allocator_function *found,
			 struct plan_site *site)
{
	struct returns_request request = request_for(c, found);
	const char *why = NULL;

	if (!has_sites(c, request.address))
		request.size_arg = RETURN_NO_SIZE;

#if !defined(__x86_64__)
	why = "the code of this machine is not understood";
#endif
	if (!why)
		why = returns_find(&c->returns, &request, &site->returns);
	if (!why)
		find_cfi(c, &site->returns);
	if (!why && is_dear(&site->returns, request.width) &&
	    !c->options.no_return_probes && !c->is_filtered &&
	    !may_throw(found->function))
		why = "its result is settled by no instruction that is emulated";
	if (why)
		return_sites_deinit(&site->returns);
	site->no_returns = why;
}

/* The first instruction, if the kernel takes a probe there. */
static bool place_first(struct elf_file *file, const struct elf_symbol *symbol,
			struct place *ret)
{
	const struct place_request nothing_emulated = {.emulated = 0};
	/* What stands for code that cannot be read: a nop. */
	uint8_t code[CODE_BEHIND] = {0x90};
	size_t size = 0;

#if defined(__x86_64__)
	size = elf_file_read(file, symbol->file_offset, code, sizeof(code));
#else
	(void)file;
	(void)symbol;
#endif
	return place_choose(code, size ? size : 1, &nothing_emulated, ret);
}

/* Where calls begin to be seen, and where a return probe would sit. False when the kernel
 * takes no probe there. */
static bool place_entry(const struct site_code *c, const struct allocator_function *found,
			const uint8_t *code, struct plan_site *site)
{
	const struct elf_symbol *symbol = &found->symbol;
	const struct place_request request = request_of(site);
	struct place place, best;
	const char *why = FIRST;
	bool first = place_first(c->file, symbol, &place);

	if (code && request.emulated &&
	    place_choose(code, (size_t)symbol->size_bytes, &request, &best)) {
		why = why_not(c->allocator, found, c->target, site, &best, code);
		if (!why)
			place = best;
	}
	if (why && !first) {
		site->reason = place.reason;
		return false;
	}

	site->address = symbol->address;
	site->offset = symbol->file_offset;
	site->entry_offset = symbol->file_offset + place.entry_delta;
	if (site->wants_return)
		site->return_offset = symbol->file_offset + place.return_delta;
	site->sp_delta = place.sp_delta;
	memcpy(site->arg_reg, place.arg_reg, sizeof(site->arg_reg));
	site->reason = why ? why : place.reason;
	return true;
}

bool site_place(struct site_code *c, const struct allocator_function *found,
		struct plan_site *site)
{
	_cleanup_(freep) uint8_t *code = read_code(c->file, &found->symbol);

	if (!place_entry(c, found, code, site))
		return false;
	if (site->wants_return &&
	    (c->options.mappings || !code || !find_body(c, found, code, site)))
		find_returns(c, found, site);
	return true;
}
