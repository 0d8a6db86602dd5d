// SPDX-License-Identifier: Apache-2.0
#include "dwarf/go_names.h"

#include <stdlib.h>
#include <string.h>

#include "elf/go_table.h"

#define SECTION_MAX_BYTES (UINT64_C(256) << 20)

struct go_names {
	struct go_table table;
};

/* The bytes of a section, which libelf reads as a whole; NULL: none. */
static const Elf_Data *data_of(const struct debug_elf *image, const char *name,
			       GElf_Shdr *ret)
{
	Elf_Scn *scn = debug_elf_section(image, name);

	if (!scn || !gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS ||
	    ret->sh_flags & SHF_COMPRESSED || ret->sh_size > SECTION_MAX_BYTES)
		return NULL;
	return elf_rawdata(scn, NULL);
}

/* The value that a relocation stores at `address`; 0: none. */
static uint64_t relocated(const struct debug_elf *image, uint64_t address)
{
	GElf_Shdr sh;
	const Elf_Data *data = data_of(image, ".rela.dyn", &sh);

	return data && data->d_buf
		       ? go_table_relocated(data->d_buf, data->d_size, address)
		       : 0;
}

static bool has_mark(const struct debug_elf *image)
{
	static const char *const marks[] = GO_TABLE_MARKS;

	for (size_t i = 0; i < GO_TABLE_MARK_COUNT; i++)
		if (debug_elf_section(image, marks[i]))
			return true;
	return false;
}

static bool find_table(const struct debug_elf *image, struct go_table *ret)
{
	static const char *const sections[] = GO_TABLE_SECTIONS;

	for (size_t i = 0; i < GO_TABLE_SECTION_COUNT; i++) {
		GElf_Shdr sh;
		const Elf_Data *data = data_of(image, sections[i], &sh);
		size_t at = data && data->d_buf
				    ? go_table_search(data->d_buf, data->d_size)
				    : SIZE_MAX;

		if (data && data->d_buf && at < data->d_size &&
		    go_table_init(ret, (const char *)data->d_buf + at, data->d_size - at,
				  relocated(image, sh.sh_addr + at + GO_TABLE_TEXT_AT)))
			return true;
	}
	return false;
}

struct error *go_names_create(const struct debug_elf *image, struct go_names **ret)
{
	struct go_table table;

	*ret = NULL;
	if (!has_mark(image) || !find_table(image, &table))
		return NULL;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return error_no_memory();
	(*ret)->table = table;
	return NULL;
}

void go_names_destroy(struct go_names *names)
{
	free(names);
}

struct error *go_names_find(const struct go_names *names, uint64_t address,
			    struct source_frames *ret)
{
	struct source_frame frame = {.function = NULL};
	struct go_function function;
	const char *file, *name;

	if (!go_table_find(&names->table, address, &function))
		return NULL;
	name = go_table_name(&names->table, &function);
	if (!*name)
		return NULL;
	frame.line = go_table_line(&names->table, &function, address, &file);
	frame.function = strdup(name);
	frame.file = frame.line && file ? strdup(file) : NULL;
	if (!frame.function || (frame.line && file && !frame.file) ||
	    !vec_push(&ret->list, frame)) {
		free(frame.function);
		free(frame.file);
		return error_no_memory();
	}
	ret->function_offset = address - function.start;
	return NULL;
}
