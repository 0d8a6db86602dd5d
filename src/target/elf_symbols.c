// SPDX-License-Identifier: Apache-2.0
#include "target/elf.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "target/elf_file.h"
#include "util/cleanup.h"

/* No real symbol or string table is larger. */
#define TABLE_MAX_BYTES ((uint64_t)1 << 30)

#define VERSYM_HIDDEN   0x8000 /* of .gnu.version: not the default version */

/* The file offset of code at `address`; false outside of executable segments. */
static bool code_offset(const struct elf_file *file, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (address >= s->address && address - s->address < s->size_bytes) {
			*ret = s->file_offset + (address - s->address);
			return true;
		}
	}
	return false;
}

/* A symbol table with what belongs to it. */
struct table {
	Elf_Data *symbols, *names;
	Elf_Data *versions; /* .gnu.version, or NULL */
	size_t count;
};

/* The whole contents of a section, or NULL. */
static Elf_Data *section_data(struct elf_file *file, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    sh.sh_size > TABLE_MAX_BYTES || sh.sh_offset > file->size_bytes ||
	    sh.sh_size > file->size_bytes - sh.sh_offset)
		return NULL;

	Elf_Data *data = elf_getdata(scn, NULL);

	return data && (data->d_buf || !data->d_size) ? data : NULL;
}

/* Find the first section of `type`; *found stays false when there is none. */
static struct error *open_table(struct elf_file *file, unsigned type, struct table *ret,
				bool *found)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	*found = false;
	while ((scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			return elf_file_malformed("its section headers");
		if (sh.sh_type == type)
			break;
	}
	if (!scn)
		return NULL;
	if (sh.sh_entsize != sizeof(Elf64_Sym))
		return elf_file_malformed("the entry size of its symbol table");

	*ret = (struct table){
		.symbols = section_data(file, scn),
		.names = section_data(file, elf_getscn(file->elf, sh.sh_link)),
	};
	if (!ret->symbols || !ret->names)
		return elf_file_malformed("its symbol table");
	ret->count = ret->symbols->d_size / sizeof(Elf64_Sym);
	*found = true;
	if (type != SHT_DYNSYM)
		return NULL;

	size_t index = elf_ndxscn(scn);

	for (scn = NULL; (scn = elf_nextscn(file->elf, scn));)
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym &&
		    sh.sh_link == index) {
			ret->versions = section_data(file, scn);
			return ret->versions ? NULL
					     : elf_file_malformed("its symbol versions");
		}
	return NULL;
}

/* How well a symbol serves; a better one replaces it. */
enum rank {
	RANK_NONE,
	RANK_HIDDEN,
	RANK_DEFAULT
};

/*
 * Compare the name at `offset` in the table with `want`. A name in .symtab may carry its
 * version: "name@@V" is the default, "name@V" is not.
 */
static enum rank match_name(const struct table *table, uint64_t offset, const char *want,
			    size_t want_len)
{
	size_t left = table->names->d_size - (size_t)offset;
	const char *name = (const char *)table->names->d_buf + offset;

	if (left <= want_len + 1 || memcmp(name, want, want_len))
		return left == want_len + 1 && !memcmp(name, want, want_len + 1)
			       ? RANK_DEFAULT
			       : RANK_NONE;
	if (name[want_len] == '\0')
		return RANK_DEFAULT;
	if (name[want_len] != '@')
		return RANK_NONE;
	return name[want_len + 1] == '@' ? RANK_DEFAULT : RANK_HIDDEN;
}

/* A defined function that other code can name, and where it lies. */
static bool is_function(const struct elf_file *file, const GElf_Sym *sym,
			uint64_t *offset)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && bind != STB_LOCAL &&
	       sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_shndx != SHN_COMMON && code_offset(file, sym->st_value, offset);
}

static void search_table(const struct elf_file *file, const struct table *table,
			 const char *const names[], const size_t lengths[], size_t count,
			 const bool initials[256], uint8_t ranks[],
			 struct elf_symbol ret[])
{
	for (size_t i = 0; i < table->count; i++) {
		GElf_Sym sym;
		GElf_Versym version = 0;
		uint64_t offset = 0;
		bool checked = false;

		if (!gelf_getsym(table->symbols, (int)i, &sym) ||
		    sym.st_name >= table->names->d_size ||
		    !initials[((const unsigned char *)table->names->d_buf)[sym.st_name]])
			continue;
		for (size_t n = 0; n < count; n++) {
			enum rank rank =
				match_name(table, sym.st_name, names[n], lengths[n]);

			if (rank == RANK_NONE)
				continue;
			if (!checked && !is_function(file, &sym, &offset))
				break;
			checked = true;
			if (table->versions &&
			    gelf_getversym(table->versions, (int)i, &version) &&
			    version & VERSYM_HIDDEN)
				rank = RANK_HIDDEN;
			if (rank <= ranks[n])
				continue;
			ranks[n] = (uint8_t)rank;
			ret[n] = (struct elf_symbol){
				.name = names[n],
				.address = sym.st_value,
				.size_bytes = sym.st_size,
				.file_offset = offset,
				.type = GELF_ST_TYPE(sym.st_info),
			};
		}
	}
}

struct error *elf_file_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
{
	static const unsigned types[] = {SHT_DYNSYM, SHT_SYMTAB};
	bool initials[256] = {false};
	_cleanup_(freep) size_t *lengths = calloc(count + 1, sizeof(*lengths));
	_cleanup_(freep) uint8_t *ranks = calloc(count + 1, sizeof(*ranks));

	if (!lengths || !ranks)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct elf_symbol){0};
		lengths[i] = strlen(names[i]);
		initials[(unsigned char)names[i][0]] = true;
	}

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		struct table table;
		size_t missing = 0;
		bool found;

		for (size_t i = 0; i < count; i++) {
			/* What .dynsym has, .symtab does not replace. */
			if (ranks[i])
				ranks[i] = RANK_DEFAULT;
			else
				missing++;
		}
		if (!missing)
			break;

		struct error *err = open_table(file, types[t], &table, &found);
		if (err)
			return err;
		if (found)
			search_table(file, &table, names, lengths, count, initials, ranks,
				     ret);
	}
	return NULL;
}
