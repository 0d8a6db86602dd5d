// SPDX-License-Identifier: Apache-2.0
#include "plan/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "plan/flow.h"
#include "plan/place.h"
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

/* Why the bytes at `address` in the target are no good; NULL: they are `code`. */
static const char *compare_at(const struct proc *proc, uint64_t address,
			      const uint8_t *code, size_t size)
{
	uint8_t memory[FLOW_CODE_MAX];

	if (size > sizeof(memory) || !living_read(proc->pid, address, memory, size))
		return FIRST ": text in memory cannot be read";
	for (size_t i = 0; i < size; i++)
		if (memory[i] != code[i])
			return memory[i] == TRAP
				       ? FIRST ": another tracer's probe is in the way"
				       : FIRST ": text in memory differs from the file";
	return NULL;
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
		why = compare_at(target->proc, m->start + (file_offset - m->file_offset),
				 code, size);
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

/* Where a function's text is in its file. */
struct file_text {
	struct elf_file *file;
	uint64_t offset;
};

static size_t read_other(void *arg, int64_t offset, uint8_t *ret, size_t size)
{
	const struct file_text *text = arg;

	/* A file that wraps around has nothing there. */
	return elf_file_read(text->file, text->offset + (uint64_t)offset, ret, size);
}

DEFINE_CLEANUP(struct cfi *, cfi_close);

/* Stacks are walked from these sites on: is it known of each of them, and without ado,
 * where the caller is? */
static bool is_unwound(const char *path, uint64_t function, const struct body *body)
{
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	int fd = regular_file_open(path);
	struct error *err = fd < 0 ? NULL : cfi_open_file(fd, &cfi);
	bool is_known = cfi;

	error_destroy(err);
	for (size_t i = 0; i < body->count && is_known; i++) {
		uint64_t pc = function + body->sites[i].delta;
		struct cfi_row row;

		is_known = cfi_find_row(cfi, pc, &row) == CFI_FOUND &&
			   rule_from_row(&row, pc) & UNWIND_PLAIN;
	}
	return is_known;
}

/* Sites inside the function, where they are known to be right. */
static void find_body(struct elf_file *file, const struct allocator *allocator,
		      const struct allocator_function *found,
		      const struct site_target *target, const uint8_t *code,
		      struct plan_site *site)
{
	size_t size = (size_t)found->symbol.size_bytes;
	struct file_text in_file = {file, found->symbol.file_offset};
	const struct flow_text text = {code, size, read_other, &in_file};
	struct body body;

	if (!has_known_body(allocator, found->function) ||
	    is_shared(allocator, found->symbol.address, (uint32_t)size - 1) ||
	    body_find(&text, kernel_emulates(), &body) ||
	    compare_text(target, allocator, found->symbol.file_offset, code, size) ||
	    !is_unwound(allocator->open_path, found->symbol.address, &body))
		return;
	site->body = body;
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

bool site_place(struct elf_file *file, const struct allocator *allocator,
		const struct allocator_function *found, const struct site_target *target,
		struct plan_site *site)
{
	const struct elf_symbol *symbol = &found->symbol;
	const struct place_request request = request_of(site);
	_cleanup_(freep) uint8_t *code = read_code(file, symbol);
	struct place place, best;
	const char *why = FIRST;
	bool first = place_first(file, symbol, &place);

	if (code && request.emulated &&
	    place_choose(code, (size_t)symbol->size_bytes, &request, &best)) {
		why = why_not(allocator, found, target, site, &best, code);
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
	site->sp_delta = place.sp_delta;
	memcpy(site->arg_reg, place.arg_reg, sizeof(site->arg_reg));
	site->reason = why ? why : place.reason;
	if (code && site->wants_return)
		find_body(file, allocator, found, target, code, site);
	if (site->wants_return)
		site->return_offset = symbol->file_offset + place.return_delta;
	return true;
}
