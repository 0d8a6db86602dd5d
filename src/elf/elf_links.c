// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_links.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/elf_file.h"
#include "elf/elf_here.h"

/* Bound on links. libLLVM has 400,000; libraries with an allocator have a few
 * thousand. */
#define LINKS_MAX 1000000u

/* Bound on the symbols read, in total, to name indirect functions. glibc has 80 of
 * these functions and 3000 symbols. */
#define SYMBOLS_MAX 20000000u

/* The name at `offset` of a string table; NULL unless it ends within the table. */
static const char *name_at(const Elf_Data *names, uint64_t offset)
{
	const char *name;

	if (!names || !names->d_buf || offset >= names->d_size)
		return NULL;
	name = (const char *)names->d_buf + offset;
	return memchr(name, '\0', names->d_size - (size_t)offset) ? name : NULL;
}

/* The symbol and string tables of one relocation section. */
struct symbols {
	Elf_Data *symbols, *names;
};

static void symbol_of(const struct symbols *s, uint64_t index, struct elf_link *link)
{
	GElf_Sym sym;

	if (!s->symbols || index > INT32_MAX ||
	    !gelf_getsym(s->symbols, (int)index, &sym))
		return;
	link->name = name_at(s->names, sym.st_name);
	if (sym.st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC)
		link->address = sym.st_value;
}

/* The name of an indirect function: the name of the symbol at its resolver, in the file
 * or its debug file. Each search reads up to all symbols; `left` bounds the total. */
static const char *resolver_name(struct elf_file *file, uint64_t resolver, unsigned *left)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(file->elf, scn))) {
		Elf_Data *symbols, *names;
		GElf_Sym sym;

		if (!*left)
			return NULL;
		--*left;
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB))
			continue;
		symbols = elf_file_section_data(file, scn);
		names = elf_file_section_data(file, elf_getscn(file->elf, sh.sh_link));
		for (int i = 0; symbols && *left && gelf_getsym(symbols, i, &sym);
		     i++, --*left)
			if (sym.st_value == resolver &&
			    GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC)
				return name_at(names, sym.st_name);
	}
	return file->debug ? resolver_name(file->debug, resolver, left) : NULL;
}

static struct error *add_section(struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh,
				 unsigned *left, struct elf_links *ret)
{
	Elf_Data *data = elf_file_section_data(file, scn);
	Elf_Scn *table = elf_getscn(file->elf, sh->sh_link);
	struct symbols symbols = {0};
	GElf_Shdr table_sh;
	GElf_Rela rela;

	if (table && gelf_getshdr(table, &table_sh)) {
		symbols.symbols = elf_file_section_data(file, table);
		symbols.names = elf_file_section_data(
			file, elf_getscn(file->elf, table_sh.sh_link));
	}
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		unsigned type = (unsigned)GELF_R_TYPE(rela.r_info);
		struct elf_link link = {.slot = rela.r_offset};

		if (ret->list.len >= LINKS_MAX)
			return NULL;
		if (arch_relocation(type) == ARCH_RELOCATION_SYMBOLIC) {
			symbol_of(&symbols, GELF_R_SYM(rela.r_info), &link);
		} else if (arch_relocation(type) == ARCH_RELOCATION_RELATIVE) {
			link.address = (uint64_t)rela.r_addend;
		} else if (arch_relocation(type) == ARCH_RELOCATION_IRELATIVE) {
			link.name = resolver_name(file, (uint64_t)rela.r_addend, left);
		} else {
			continue;
		}
		if (!vec_push(&ret->list, link))
			return error_no_memory();
	}
	return NULL;
}

static int by_slot(const void *a, const void *b)
{
	const struct elf_link *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

struct error *elf_here_read_links(struct elf_file *file, struct elf_links *ret)
{
	struct error *err = elf_file_begin(file);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	unsigned left = SYMBOLS_MAX;

	while (!err && (scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    !(sh.sh_flags & SHF_ALLOC))
			continue;
		err = add_section(file, scn, &sh, &left, ret);
	}
	if (!err && ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), by_slot);
	return err;
}

void elf_links_deinit(struct elf_links *links)
{
	vec_deinit(&links->list);
	strbuf_deinit(&links->names);
}

const struct elf_link *elf_links_find(const struct elf_links *links, uint64_t slot)
{
	size_t n = vec_count_up_to(&links->list, slot, slot);

	return n && links->list.data[n - 1].slot == slot ? &links->list.data[n - 1]
							 : NULL;
}

struct error *elf_links_read(struct elf_file *file, struct elf_links *ret)
{
	struct error *err;

	*ret = (struct elf_links){0};
	err = file->tables->read_links(file, ret);
	if (err)
		elf_links_deinit(ret);
	return err;
}
