// SPDX-License-Identifier: Apache-2.0
#include "plan/site_entry.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "code/decode.h"
#include "code/place.h"

/* Bound on a function's size, bytes: the file may claim any size. */
#define CODE_MAX (1u << 20)

/* Bytes after the last site that must be the same in memory. */
#define CODE_BEHIND 16

uint8_t *site_read_code(struct elf_file *file, const struct elf_symbol *symbol)
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

bool site_is_shared(const struct allocator *allocator, uint64_t address, uint32_t delta)
{
	vec_foreach (other, &allocator->functions)
		if (other->symbol.address > address &&
		    other->symbol.address - address <= delta)
			return true;
	return false;
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

static struct place_request request_of(const struct site_file *file,
				       const struct plan_site *site)
{
	const struct alloc_function *f = site->function;

	return (struct place_request){
		.arguments = arguments_of(f),
		/* The probe of mremap reads more arguments from the registers of the
		 * call. */
		.emulated = f->effect == EFFECT_REMAP ? 0 : file->emulated,
		.wants_return = site->wants_return,
		.frees = f->effect == EFFECT_FREE && f->old_arg == 0,
		/* No other thread knows the address of a new mapping before the
		 * return. */
		.past_syscall = f->effect == EFFECT_MAP,
	};
}

static uint32_t last_delta(const struct plan_site *site, const struct place *place)
{
	return site->wants_return && place->return_delta > place->entry_delta
		       ? place->return_delta
		       : place->entry_delta;
}

/* Why a proven place must not be used; NULL: it can be. */
static const char *why_not(const struct site_file *file,
			   const struct allocator_function *found,
			   const struct plan_site *site, const struct place *place,
			   const uint8_t *code)
{
	uint64_t size = found->symbol.size_bytes;
	uint32_t last = last_delta(site, place);

	if (!last)
		return NULL;
	/* The return probe replaces the word at the stack pointer, which must be the
	 * return address. The entry's program must read this word before it is
	 * replaced. */
	if (site->wants_return &&
	    (place->return_delta < place->entry_delta ||
	     (place->return_delta == place->entry_delta && place->sp_delta != 0)))
		return SITE_FIRST ": no place for the return probe";
	if (place->sp_delta < INT16_MIN || place->sp_delta > INT16_MAX)
		return SITE_FIRST ": the stack pointer is too far off";
	if (site_is_shared(file->allocator, found->symbol.address, last))
		return SITE_FIRST ": another function begins inside";
	if (size - last > CODE_BEHIND)
		size = last + CODE_BEHIND;
	return site_text_check(file->target, file->allocator, found->symbol.file_offset,
			       code, (size_t)size);
}

/* Is the first instruction in memory the one of the file? */
static const char *doubt_first(const struct site_file *file,
			       const struct elf_symbol *symbol, const uint8_t *code,
			       size_t size)
{
	const struct text_file text = site_text_file(file->allocator);
	struct insn insn;

	insn_decode(code, size, &insn);
	return site_text_doubt(file->target, &text, symbol->file_offset, code,
			       insn.length ? insn.length : size);
}

/* The first instruction. Returns why no breakpoint may be there, or NULL. */
static const char *place_first(const struct site_file *file,
			       const struct elf_symbol *symbol, struct place *ret)
{
	const struct place_request nothing_emulated = {.emulated = 0};
	/* A nop is assumed if the code cannot be read. */
	uint8_t code[CODE_BEHIND] = {arch.nop[0]};
	size_t size = 0;
	const char *why = NULL;

	if (arch.has_decoder)
		size = elf_file_read(file->elf, symbol->file_offset, code, sizeof(code));
	if (size)
		why = doubt_first(file, symbol, code, size);
	return place_choose(code, size ? size : 1, &nothing_emulated, ret) ? why
									   : ret->reason;
}

bool site_place_entry(const struct site_file *file,
		      const struct allocator_function *found, const uint8_t *code,
		      struct plan_site *site)
{
	const struct elf_symbol *symbol = &found->symbol;
	const struct place_request request = request_of(file, site);
	struct place place, best;
	const char *why = SITE_FIRST;
	const char *refused = place_first(file, symbol, &place);

	/* All of the code is searched for jumps back. */
	if (code && request.emulated &&
	    work_spend(file->target->work, symbol->size_bytes) &&
	    place_choose(code, (size_t)symbol->size_bytes, &request, &best)) {
		why = why_not(file, found, site, &best, code);
		if (!why)
			place = best;
	}
	if (refused && (why || !last_delta(site, &place))) {
		site->reason = refused;
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
