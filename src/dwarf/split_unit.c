// SPDX-License-Identifier: Apache-2.0
#include "dwarf/split_unit.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_read.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

#define ADDRESS_BYTES 8u

DEFINE_CLEANUP(struct split_unit *, split_unit_destroy);

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* The bytes of a section from offset `base` on. */
static struct split_bytes section_from(const struct debug_elf *image, const char *name,
				       uint64_t base)
{
	const Elf_Data *data = debug_elf_data(image, name);

	if (!data || base > data->d_size)
		return (struct split_bytes){.size = 0};
	return (struct split_bytes){
		.data = (const unsigned char *)data->d_buf + base,
		.size = data->d_size - base,
	};
}

bool split_skeleton_read(const struct debug_elf *image, Dwarf_Die *unit,
			 struct split_skeleton *ret)
{
	Dwarf_Half version;
	uint64_t base;
	uint8_t address_bytes;
	Dwarf_Addr low;

	*ret = (struct split_skeleton){.id = 0};
	/* The arguments for the split unit's DIE are NULL, so that libdw opens no
	 * file. */
	if (dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, &ret->id, &address_bytes,
			  NULL) ||
	    (version != 4 && version != 5) || address_bytes != ADDRESS_BYTES)
		return false;
	ret->version = version;
	ret->name = string_attribute(unit,
				     version == 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name);
	if (!ret->name || !*ret->name)
		return false;
	ret->directory = string_attribute(unit, DW_AT_comp_dir);
	if (!dwarf_lowpc(unit, &low))
		ret->base = low;
	base = dwarf_number(unit, version == 5 ? DW_AT_addr_base : DW_AT_GNU_addr_base);
	ret->addresses = section_from(image, ".debug_addr", base);
	if (version == 4)
		ret->ranges = section_from(image, ".debug_ranges",
					   dwarf_number(unit, DW_AT_GNU_ranges_base));
	return true;
}

static bool is_copied(const struct split_sections *sections, size_t i)
{
	return sections->of[i].data && !(i == SPLIT_STR && sections->shares_strings);
}

/* Add a section to the ELF file in memory. It is padded to 8 bytes with at least one
 * NUL, so that an unterminated string ends. */
static void add_section(struct strbuf *file, Elf64_Ehdr *header, Elf64_Shdr table[],
			Elf64_Word type, size_t name, const void *data, size_t size)
{
	table[header->e_shnum++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)name,
		.sh_type = type,
		.sh_offset = file->len,
		.sh_size = size,
		.sh_addralign = 1,
	};
	strbuf_append_bytes(file, data, size);
	strbuf_append_bytes(file, "\0\0\0\0\0\0\0", 8 - file->len % 8);
}

/* Make an ELF file of only the unit's sections (gABI); `bytes` is their total size. */
static char *make_file(const struct split_sections *from, uint64_t bytes, size_t *size)
{
	/* The null section, the unit's sections, the section names. */
	Elf64_Shdr table[SPLIT_SECTIONS + 2] = {{.sh_type = SHT_NULL}};
	_cleanup_(strbuf_deinit) struct strbuf file = {0}, names = {0};
	Elf64_Ehdr header;

	if (!gelf_getehdr(from->elf->elf, &header))
		return NULL;
	header.e_type = ET_REL;
	header.e_phoff = 0;
	header.e_phnum = 0;
	header.e_shnum = 1;
	header.e_shentsize = sizeof(*table);
	strbuf_reserve(&file, bytes + sizeof(header) + sizeof(table) + 256);
	strbuf_append_bytes(&file, (const char *)&header, sizeof(header));
	strbuf_append_char(&names, '\0');
	for (size_t i = 0; i < SPLIT_SECTIONS; i++) {
		const char *name = split_section_name(i);

		if (!is_copied(from, i))
			continue;
		add_section(&file, &header, table, SHT_PROGBITS, names.len,
			    from->of[i].data, from->of[i].size);
		strbuf_append_bytes(&names, name, strlen(name) + 1);
	}
	if (names.failed)
		return NULL;
	header.e_shstrndx = header.e_shnum;
	add_section(&file, &header, table, SHT_STRTAB, 0, names.data, names.len);
	header.e_shoff = file.len;
	strbuf_append_bytes(&file, (const char *)table, header.e_shnum * sizeof(*table));
	if (file.failed)
		return NULL;
	memcpy(file.data, &header, sizeof(header));
	*size = file.len;
	return strbuf_steal(&file);
}

/* Find the unit with the skeleton's id. */
static bool find_unit(struct split_unit *unit, struct dwarf_budget *budget)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;
	uint8_t address_bytes, offset_bytes, type;
	Dwarf_Half version;
	uint64_t id;

	while (!dwarf_next_unit(unit->dwarf, offset, &next, &header_bytes, NULL, NULL,
				NULL, NULL, NULL, NULL)) {
		Dwarf_Die die;

		if (next <= offset || !dwarf_budget_spend(budget, 1))
			return false;
		if (dwarf_offdie(unit->dwarf, offset + header_bytes, &die) &&
		    dwarf_tag(&die) == DW_TAG_compile_unit &&
		    !dwarf_cu_info(die.cu, &version, &type, NULL, NULL, &id,
				   &address_bytes, &offset_bytes) &&
		    type == DW_UT_split_compile && id == unit->skeleton.id &&
		    version == unit->skeleton.version && address_bytes == ADDRESS_BYTES) {
			unit->die = offset + header_bytes;
			unit->offset_bytes = offset_bytes;
			return true;
		}
		offset = next;
	}
	return false;
}

/* The table of string offsets. DWARF 5 has a header before it (section 7.26), which
 * early versions of GCC omitted. Without the header no index can be trusted. */
static struct split_bytes find_offsets(const struct split_unit *unit)
{
	struct split_bytes bytes = unit->sections.of[SPLIT_STR_OFFSETS];
	size_t length_bytes = unit->offset_bytes == 8 ? 12 : 4;
	uint16_t version;

	if (unit->skeleton.version < 5)
		return bytes;
	if (bytes.size < length_bytes + 4)
		return (struct split_bytes){.size = 0};
	memcpy(&version, bytes.data + length_bytes, sizeof(version));
	if (version != 5)
		return (struct split_bytes){.size = 0};
	bytes.data += length_bytes + 4;
	bytes.size -= length_bytes + 4;
	return bytes;
}

/* Refer to the copied sections instead of the sections of the original file. */
static bool move_sections(struct split_unit *unit)
{
	for (size_t i = 0; i < SPLIT_SECTIONS; i++) {
		const Elf_Data *data;

		if (!is_copied(&unit->sections, i))
			continue;
		data = debug_elf_data(unit->image, split_section_name(i));
		unit->sections.of[i] =
			data ? (struct split_bytes){data->d_buf, data->d_size}
			     : (struct split_bytes){.size = 0};
	}
	unit->sections.elf = unit->image;
	return unit->sections.of[SPLIT_INFO].data;
}

/* Copy and open the unit's sections. Sets *loaded if libdw can read them. */
static struct error *load(struct split_unit *unit, struct dwarf_budget *budget,
			  uint64_t *memory_bytes, bool *loaded)
{
	struct error *err;
	uint64_t bytes = 0;
	size_t size;
	char *file;

	*loaded = false;
	for (size_t i = 0; i < SPLIT_SECTIONS; i++)
		bytes += is_copied(&unit->sections, i) ? unit->sections.of[i].size : 0;
	/* Copying 64 bytes takes no longer than looking at a DIE. */
	if (bytes > *memory_bytes || !dwarf_budget_spend(budget, bytes / 64))
		return NULL;
	file = make_file(&unit->sections, bytes, &size);
	if (!file)
		return error_no_memory();
	err = debug_elf_from_memory(file, size, &unit->image);
	if (err)
		return err;
	*memory_bytes -= bytes;
	unit->dwarf = dwarf_begin_elf(unit->image->elf, DWARF_C_READ, NULL);
	*loaded = unit->dwarf && move_sections(unit);
	return NULL;
}

struct error *split_unit_create(const struct split_skeleton *skeleton,
				const struct split_sections *sections,
				struct dwarf_budget *budget, uint64_t *memory_bytes,
				struct split_unit **ret)
{
	_cleanup_(split_unit_destroyp) struct split_unit *unit = calloc(1, sizeof(*unit));
	uint64_t before = *memory_bytes;
	struct error *err;
	bool loaded;

	*ret = NULL;
	if (!unit)
		return error_no_memory();
	unit->skeleton = *skeleton;
	unit->sections = *sections;
	err = load(unit, budget, memory_bytes, &loaded);
	err = error_only_no_memory(err);
	if (err)
		return err;
	if (!loaded || !find_unit(unit, budget)) {
		*memory_bytes = before;
		return NULL;
	}
	unit->offsets = find_offsets(unit);
	*ret = take(unit);
	return NULL;
}

void split_unit_destroy(struct split_unit *unit)
{
	if (!unit)
		return;
	dwarf_end(unit->dwarf);
	debug_elf_close(unit->image);
	free(unit);
}
