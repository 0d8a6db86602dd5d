// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_wire.h"

#include <string.h>

#define SYMBOL_FOUND     1u
#define SYMBOL_LOCAL     2u
#define SYMBOL_DEBUG     4u
#define SYMBOL_AMBIGUOUS 8u
#define SYMBOL_IMPORTED  16u

/* Least number of bytes of a link and of a place in a message. */
#define LINK_BYTES  (2 * sizeof(uint64_t) + sizeof(uint32_t))
#define PLACE_BYTES (3 * sizeof(uint64_t))

void elf_put_symbol(struct strbuf *out, const struct elf_symbol *symbol)
{
	wire_put_u32(out, (symbol->name ? SYMBOL_FOUND : 0) |
				  (symbol->is_local ? SYMBOL_LOCAL : 0) |
				  (symbol->is_from_debug ? SYMBOL_DEBUG : 0) |
				  (symbol->is_ambiguous ? SYMBOL_AMBIGUOUS : 0) |
				  (symbol->is_imported ? SYMBOL_IMPORTED : 0));
	wire_put_u32(out, symbol->type);
	wire_put_u64(out, symbol->address);
	wire_put_u64(out, symbol->size_bytes);
}

void elf_get_symbol(struct wire *in, const struct elf_file *file, const char *name,
		    struct elf_symbol *ret)
{
	uint32_t flags = wire_get_u32(in), type = wire_get_u32(in);
	uint64_t address = wire_get_u64(in), size_bytes = wire_get_u64(in), offset;

	*ret = (struct elf_symbol){.is_imported = flags & SYMBOL_IMPORTED};
	if (!(flags & SYMBOL_FOUND) || !elf_file_code_offset(file, address, &offset))
		return;
	ret->name = name;
	ret->address = address;
	ret->size_bytes = size_bytes;
	ret->file_offset = offset;
	ret->type = (unsigned char)type;
	ret->is_local = flags & SYMBOL_LOCAL;
	ret->is_from_debug = flags & SYMBOL_DEBUG;
	ret->is_ambiguous = flags & SYMBOL_AMBIGUOUS;
}

void elf_put_nearest(struct strbuf *out, const struct nearest *nearest)
{
	wire_put_u32(out, (uint32_t)nearest->count);
	for (size_t i = 0; i < nearest->count; i++)
		wire_put_text(out, nearest->best[i].name);
}

void elf_get_nearest(struct wire *in, struct nearest *ret)
{
	uint32_t count = wire_get_count(in, sizeof(uint32_t));

	for (uint32_t i = 0; i < count && i < NEAREST_MAX; i++) {
		const char *name = wire_get_text(in);

		if (name)
			nearest_offer(ret, name, strlen(name));
	}
}

void elf_put_links(struct strbuf *out, const struct elf_links *links)
{
	wire_put_u32(out, (uint32_t)links->list.len);
	vec_foreach (link, &links->list) {
		wire_put_u64(out, link->slot);
		wire_put_u64(out, link->address);
		wire_put_text(out, link->name);
	}
}

struct error *elf_get_links(struct wire *in, struct elf_links *ret)
{
	uint32_t count = wire_get_count(in, LINK_BYTES);

	if (!vec_reserve(&ret->list, count))
		return error_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		uint64_t slot = wire_get_u64(in), address = wire_get_u64(in);
		const struct elf_link link = {slot, wire_get_text(in), address};

		if (i && slot < ret->list.data[i - 1].slot)
			in->failed = true;
		if (!vec_push(&ret->list, link))
			return error_no_memory();
	}
	return NULL;
}

static void put_arg(struct strbuf *out, const struct usdt_arg *arg)
{
	wire_put_u32(out, arg->kind);
	wire_put_u32(out, (uint32_t)arg->size_bytes | (uint32_t)arg->is_signed << 8);
	wire_put_u32(out, (uint32_t)arg->base | (uint32_t)arg->index << 8 |
				  (uint32_t)arg->shift << 16);
	wire_put_u64(out, (uint64_t)arg->value);
}

static void get_arg(struct wire *in, struct usdt_arg *ret)
{
	uint32_t kind = wire_get_u32(in), form = wire_get_u32(in);
	uint32_t registers = wire_get_u32(in);

	*ret = (struct usdt_arg){
		.kind = (enum usdt_arg_kind)kind,
		.size_bytes = (uint8_t)form,
		.is_signed = form >> 8 & 1,
		.base = (uint8_t)registers,
		.index = (uint8_t)(registers >> 8),
		.shift = (uint8_t)(registers >> 16) & 3,
		.value = (int64_t)wire_get_u64(in),
	};
	if (!usdt_arg_is_valid(ret))
		in->failed = true;
}

void elf_put_places(struct strbuf *out, const struct usdt_places *places)
{
	wire_put_u32(out, (uint32_t)places->list.len);
	vec_foreach (place, &places->list) {
		wire_put_u64(out, place->address);
		wire_put_u64(out, place->semaphore);
		for (size_t i = 0; i < USDT_ARGS; i++)
			put_arg(out, &place->args[i]);
	}
	wire_put_u64(out, places->left_out);
}

struct error *elf_get_places(struct wire *in, const struct elf_file *file,
			     struct usdt_places *ret)
{
	uint32_t count = wire_get_count(in, PLACE_BYTES);

	for (uint32_t n = 0; n < count && n < USDT_PLACES_MAX; n++) {
		struct usdt_place place = {.address = wire_get_u64(in),
					   .semaphore = wire_get_u64(in)};

		for (size_t i = 0; i < USDT_ARGS; i++)
			get_arg(in, &place.args[i]);
		if (elf_file_code_offset(file, place.address, &place.file_offset) &&
		    !vec_push(&ret->list, place))
			return error_no_memory();
	}
	ret->left_out = (size_t)wire_get_u64(in);
	return NULL;
}
