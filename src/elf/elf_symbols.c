// SPDX-License-Identifier: Apache-2.0
#include "elf/elf.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_here.h"
#include "util/cleanup.h"

/* Bound on a symbol or string table. Real tables are smaller. */
#define TABLE_MAX_BYTES ((uint64_t)1 << 30)

#define VERSYM_HIDDEN   0x8000 /* in .gnu.version: not the default version */

/* A symbol table with its string and version tables. */
struct table {
	Elf_Data *symbols, *names;
	Elf_Data *versions; /* .gnu.version, or NULL */
	size_t count;
	bool is_debug; /* it is the debug file's */
};

Elf_Data *elf_file_section_data(struct elf_file *file, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    sh.sh_size > TABLE_MAX_BYTES || sh.sh_offset > file->size_bytes ||
	    sh.sh_size > file->size_bytes - sh.sh_offset)
		return NULL;

	Elf_Data *data = elf_getdata(scn, NULL);

	return data && (data->d_buf || !data->d_size) ? data : NULL;
}

/* Find the first section of `type`; *found stays false if the file has none. */
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
		.symbols = elf_file_section_data(file, scn),
		.names = elf_file_section_data(file, elf_getscn(file->elf, sh.sh_link)),
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
			ret->versions = elf_file_section_data(file, scn);
			return ret->versions ? NULL
					     : elf_file_malformed("its symbol versions");
		}
	return NULL;
}

/* Preference among symbols of one name: a higher rank replaces a lower one. */
enum rank {
	RANK_NONE,
	RANK_LOCAL,
	RANK_HIDDEN,
	RANK_DEFAULT
};

/* Is the symbol a defined function? Then *offset is its offset in the file. */
static bool is_function(const struct elf_file *file, const GElf_Sym *sym,
			uint64_t *offset)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_shndx != SHN_COMMON &&
	       elf_file_code_offset(file, sym->st_value, offset);
}

/* A hash table of the wanted names' indexes. */
struct wanted {
	const char *const *names;
	size_t longest;  /* bytes of the longest name */
	uint32_t *slots; /* 0: free, else index + 1 */
	uint32_t mask;
	uint8_t *ranks; /* enum rank of the symbol found so far, for each name */
};

/* FNV-1a. */
static uint32_t hash_name(const char *name, size_t length)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

static bool wanted_init(struct wanted *wanted, const char *const names[], size_t count)
{
	size_t slots = 8;

	while (slots < 2 * count)
		slots *= 2;
	*wanted = (struct wanted){
		.names = names,
		.slots = calloc(slots, sizeof(*wanted->slots)),
		.mask = (uint32_t)slots - 1,
		.ranks = calloc(count + 1, sizeof(*wanted->ranks)),
	};
	if (!wanted->slots || !wanted->ranks)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		uint32_t at = hash_name(names[i], length) & wanted->mask;

		while (wanted->slots[at])
			at = (at + 1) & wanted->mask;
		wanted->slots[at] = (uint32_t)i + 1;
		if (length > wanted->longest)
			wanted->longest = length;
	}
	return true;
}

static void wanted_deinit(struct wanted *wanted)
{
	free(wanted->slots);
	free(wanted->ranks);
}

/* A name in .symtab may carry its version: "name@@V" is the default, "name@V" is not. */
static enum rank rank_of_name(const char *end)
{
	return *end == '@' && end[1] != '@' ? RANK_HIDDEN : RANK_DEFAULT;
}

/*
 * The length of the symbol's name without its version. 0 if it is longer than each
 * wanted name, or does not end within the table.
 */
static size_t name_length(const struct table *table, const struct wanted *wanted,
			  size_t offset)
{
	const char *name = (const char *)table->names->d_buf + offset;
	size_t left = table->names->d_size - offset;
	size_t most = wanted->longest < left ? wanted->longest + 1 : left;

	for (size_t i = 0; i < most; i++)
		if (!name[i] || (name[i] == '@' && i + 1 < left))
			return i;
	return 0;
}

static void offer_symbol(const struct elf_file *file, const struct table *table,
			 struct wanted *wanted, size_t index, struct elf_symbol ret[])
{
	GElf_Sym sym;
	GElf_Versym version = 0;
	uint64_t offset = 0;

	if (!gelf_getsym(table->symbols, (int)index, &sym) ||
	    sym.st_name >= table->names->d_size)
		return;

	const char *name = (const char *)table->names->d_buf + sym.st_name;
	size_t length = name_length(table, wanted, sym.st_name);
	uint32_t at = hash_name(name, length) & wanted->mask;

	for (; length && wanted->slots[at]; at = (at + 1) & wanted->mask) {
		uint32_t n = wanted->slots[at] - 1;
		enum rank rank = rank_of_name(name + length);

		if (strncmp(wanted->names[n], name, length) || wanted->names[n][length])
			continue;
		if (sym.st_shndx == SHN_UNDEF && GELF_ST_BIND(sym.st_info) != STB_WEAK)
			ret[n].is_imported = true;
		if (!is_function(file, &sym, &offset))
			return;
		if (table->versions &&
		    gelf_getversym(table->versions, (int)index, &version) &&
		    version & VERSYM_HIDDEN)
			rank = RANK_HIDDEN;
		if (GELF_ST_BIND(sym.st_info) == STB_LOCAL)
			rank = RANK_LOCAL;
		if (rank == RANK_LOCAL && wanted->ranks[n] == RANK_LOCAL &&
		    sym.st_value != ret[n].address)
			ret[n].is_ambiguous = true;
		if (rank <= wanted->ranks[n])
			continue;
		wanted->ranks[n] = (uint8_t)rank;
		ret[n] = (struct elf_symbol){
			.name = wanted->names[n],
			.address = sym.st_value,
			.size_bytes = sym.st_size,
			.file_offset = offset,
			.type = GELF_ST_TYPE(sym.st_info),
			.is_local = rank == RANK_LOCAL,
			.is_from_debug = table->is_debug,
			.is_imported = ret[n].is_imported,
		};
	}
}

static struct error *search(const struct elf_file *file, struct elf_file *symbols,
			    unsigned type, struct wanted *wanted, size_t count,
			    struct elf_symbol ret[])
{
	struct table table;
	size_t missing = 0;
	bool found;

	for (size_t i = 0; i < count; i++) {
		/* A symbol of a later table must not replace this one. */
		if (wanted->ranks[i] > RANK_LOCAL)
			wanted->ranks[i] = RANK_DEFAULT;
		else
			missing++;
	}
	if (!missing)
		return NULL;

	struct error *err = open_table(symbols, type, &table, &found);

	table.is_debug = symbols != file;
	for (size_t i = 0; !err && found && i < table.count; i++)
		offer_symbol(file, &table, wanted, i, ret);
	return err;
}

struct error *elf_here_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
{
	_cleanup_(wanted_deinit) struct wanted wanted = {0};
	struct error *err = elf_file_begin(file);

	if (err)
		return err;
	if (!wanted_init(&wanted, names, count))
		return error_no_memory();
	err = search(file, file, SHT_DYNSYM, &wanted, count, ret);
	if (!err)
		err = search(file, file, SHT_SYMTAB, &wanted, count, ret);
	/* A debug file's .dynsym has no contents: they stay in the stripped file. */
	if (!err && file->debug)
		err = search(file, file->debug, SHT_SYMTAB, &wanted, count, ret);
	return err;
}

struct error *elf_here_offer_functions(struct elf_file *file, struct nearest *nearest)
{
	static const unsigned types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct error *err = elf_file_begin(file);

	for (size_t t = 0; !err && t < sizeof(types) / sizeof(*types); t++) {
		struct table table;
		bool found;

		err = open_table(file, types[t], &table, &found);
		for (size_t i = 0; !err && found && i < table.count; i++) {
			GElf_Sym sym;
			uint64_t offset;
			const char *name;

			if (!gelf_getsym(table.symbols, (int)i, &sym) ||
			    sym.st_name >= table.names->d_size ||
			    !is_function(file, &sym, &offset))
				continue;
			name = (const char *)table.names->d_buf + sym.st_name;
			nearest_offer(nearest, name,
				      strnlen(name, table.names->d_size - sym.st_name));
		}
	}
	return err;
}
