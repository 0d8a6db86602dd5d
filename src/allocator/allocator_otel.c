// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator_otel.h"

#include <elf.h>
#include <string.h>

#include "elf/usdt.h"

/* No argument numbers: the USDT note says where the arguments are. */
static const struct alloc_function functions[] = {
	{OTEL_PROVIDER ":alloc", EFFECT_ALLOC_USDT, ARG_NONE, ARG_NONE, ARG_NONE,
	 ARG_NONE, false, false},
	{OTEL_PROVIDER ":free", EFFECT_FREE_USDT, ARG_NONE, ARG_NONE, ARG_NONE, ARG_NONE,
	 false, false},
};

static const char *name_of(const struct alloc_function *function)
{
	return function->name + sizeof(OTEL_PROVIDER);
}

static struct error *add_function(struct elf_file *elf,
				  const struct alloc_function *function,
				  struct allocator *ret)
{
	struct usdt_places places = {0};
	struct error *err =
		usdt_find(elf, OTEL_PROVIDER, name_of(function), NULL, &places);

	vec_foreach (place, &places.list) {
		const struct allocator_function found = {
			.function = function,
			.symbol =
				{
					.name = function->name,
					.address = place->address,
					.file_offset = place->file_offset,
					.type = STT_NOTYPE,
				},
			.usdt = *place,
		};

		if (!err && !vec_push(&ret->functions, found))
			err = error_no_memory();
	}
	ret->places_left_out += places.left_out;
	vec_deinit(&places.list);
	return err;
}

struct error *allocator_otel_scan(const struct allocator_file *file, struct elf_file *elf,
				  struct allocators *ret)
{
	const char *build_id = elf_file_build_id(elf);
	struct allocator a = {
		.module_start = file->module_start,
		.text_start = file->text_start,
		.text_end = file->text_end,
	};
	struct error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(functions) / sizeof(*functions); i++)
		err = add_function(elf, &functions[i], &a);
	if (err || !a.functions.len) {
		allocator_deinit(&a);
		return err;
	}
	a.module_path = strdup(file->module_path);
	a.file = target_file_share(file->file);
	a.label = strdup(OTEL_PROVIDER);
	a.build_id = build_id ? strdup(build_id) : NULL;
	if (a.module_path && a.label && (!build_id || a.build_id) &&
	    vec_push(&ret->list, a))
		return NULL;
	allocator_deinit(&a);
	return error_no_memory();
}
