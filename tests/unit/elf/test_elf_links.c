// SPDX-License-Identifier: Apache-2.0
/* Words that the dynamic linker fills, in generated files, valid and invalid. */
#include "check.h"

#if !defined(__x86_64__)

int main(void)
{
	check_leave_out("its relocations are for x86-64");
}

#else

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf/elf.h"
#include "elf/elf_links.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FILE_NAME    "test_elf_links.so"

enum {
	DYNSYM = 1,
	DYNSTR,
	RELA,
	SECTIONS
};

/* Parts of a generated file. */
struct made {
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *names;
	size_t names_size;
	const Elf64_Rela *relocations;
	size_t relocation_count;
	uint64_t flags; /* flags of the relocation section */
	uint32_t link;  /* sh_link of that section: the section of its symbols */
};

static void write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	REQUIRE(pwrite(fd, bytes, size, (off_t)offset) == (ssize_t)size);
}

static void make(const struct made *m)
{
	size_t symbols = m->symbol_count * sizeof(*m->symbols);
	size_t relocations = m->relocation_count * sizeof(*m->relocations);
	Elf64_Phdr ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 4096};
	Elf64_Shdr sh[SECTIONS] = {
		[DYNSYM] = {.sh_type = SHT_DYNSYM,
			    .sh_flags = SHF_ALLOC,
			    .sh_offset = 4096,
			    .sh_size = symbols,
			    .sh_link = DYNSTR,
			    .sh_addralign = 8,
			    .sh_entsize = sizeof(Elf64_Sym)},
		[DYNSTR] = {.sh_type = SHT_STRTAB,
			    .sh_flags = SHF_ALLOC,
			    .sh_offset = 4096 + symbols,
			    .sh_size = m->names_size,
			    .sh_addralign = 1},
		[RELA] = {.sh_type = SHT_RELA,
			  .sh_flags = m->flags,
			  .sh_offset = (4096 + symbols + m->names_size + 7) & ~7ul,
			  .sh_size = relocations,
			  .sh_link = m->link,
			  .sh_addralign = 8,
			  .sh_entsize = sizeof(Elf64_Rela)},
	};
	Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf64_Ehdr),
			 .e_shoff = (sh[RELA].sh_offset + relocations + 7) & ~7ul,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = SECTIONS};
	int fd = open(FILE_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	ph.p_filesz = ph.p_memsz = eh.e_shoff;
	write_at(fd, &eh, sizeof(eh), 0);
	write_at(fd, &ph, sizeof(ph), sizeof(eh));
	write_at(fd, m->symbols, symbols, sh[DYNSYM].sh_offset);
	write_at(fd, m->names, m->names_size, sh[DYNSTR].sh_offset);
	write_at(fd, m->relocations, relocations, sh[RELA].sh_offset);
	write_at(fd, sh, sizeof(sh), eh.e_shoff);
	close(fd);
}

static struct elf_file *open_made(const struct made *m, struct elf_links *ret)
{
	struct elf_file *file;

	make(m);
	REQUIRE(!elf_file_open(FILE_NAME, &file));
	unlink(FILE_NAME);
	REQUIRE(!elf_links_read(file, ret));
	return file;
}

static const Elf64_Sym symbols[] = {
	{0},
	{.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
	{.st_name = 8,
	 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	 .st_shndx = DYNSYM,
	 .st_value = 0x1234},
	{.st_name = 13,
	 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
	 .st_shndx = DYNSYM,
	 .st_value = 0x2000},
	/* A name outside of the table, and one without an end. */
	{.st_name = 5000, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
	{.st_name = 20, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
};
static const char names[] = "\0malloc\0free\0memset\0open";

static const Elf64_Rela relocations[] = {
	{0x9030, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x4321},
	{0x9000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
	{0x9008, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0},
	{0x9010, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x2000},
	{0x9018, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x2001},
	{0x9020, ELF64_R_INFO(4, R_X86_64_64), 0},
	{0x9028, ELF64_R_INFO(5, R_X86_64_JUMP_SLOT), 0},
	{0x9038, ELF64_R_INFO(77, R_X86_64_JUMP_SLOT), 0},
	{0x9040, ELF64_R_INFO(0xffffffff, R_X86_64_JUMP_SLOT), 0},
	{0x9048, ELF64_R_INFO(1, R_X86_64_TPOFF64), 0},
};

/* The names' last byte is missing: the last name has no end. */
static struct made usual(void)
{
	return (struct made){.symbols = symbols,
			     .symbol_count = COUNT(symbols),
			     .names = names,
			     .names_size = sizeof(names) - 1,
			     .relocations = relocations,
			     .relocation_count = COUNT(relocations),
			     .flags = SHF_ALLOC,
			     .link = DYNSYM};
}

static void check_link(const struct elf_links *links, uint64_t slot, const char *name,
		       uint64_t address)
{
	const struct elf_link *link = elf_links_find(links, slot);

	CHECK(link);
	if (!link)
		return;
	CHECK_INT(link->slot, slot);
	CHECK_INT(link->address, address);
	if (name)
		CHECK_STR(link->name, name);
	else
		CHECK(!link->name);
}

static void words(void)
{
	const struct made m = usual();
	struct elf_links links;
	struct elf_file *file = open_made(&m, &links);

	CHECK_INT(links.list.len, COUNT(relocations) - 1);
	check_link(&links, 0x9000, "malloc", 0);
	check_link(&links, 0x9008, "free", 0x1234);
	check_link(&links, 0x9010, "memset", 0);
	check_link(&links, 0x9018, NULL, 0);
	check_link(&links, 0x9020, NULL, 0);
	check_link(&links, 0x9028, NULL, 0);
	check_link(&links, 0x9030, NULL, 0x4321);
	check_link(&links, 0x9038, NULL, 0);
	check_link(&links, 0x9040, NULL, 0);
	CHECK(!elf_links_find(&links, 0x9048));
	CHECK(!elf_links_find(&links, 0x9001));
	CHECK(!elf_links_find(&links, 0));
	CHECK(!elf_links_find(&links, UINT64_MAX));
	elf_links_deinit(&links);
	elf_file_close(file);
}

static void left_out(void)
{
	struct made m = usual();
	struct elf_links links;
	struct elf_file *file;

	/* The section is not loaded. */
	m.flags = 0;
	file = open_made(&m, &links);
	CHECK_INT(links.list.len, 0);
	CHECK(!elf_links_find(&links, 0x9000));
	elf_links_deinit(&links);
	elf_file_close(file);

	/* Without symbols, and with a section that has none. */
	for (uint32_t link = 0; link < 5; link++) {
		if (link == DYNSYM)
			continue;
		m = usual();
		m.link = link;
		file = open_made(&m, &links);
		CHECK(links.list.len >= 2);
		check_link(&links, 0x9030, NULL, 0x4321);
		elf_links_deinit(&links);
		elf_file_close(file);
	}
}

/* Each name would be compared with all symbols: 3,600,000,000 comparisons. */
static void many_indirect_functions(void)
{
	const size_t count = 60000;
	Elf64_Sym *all = calloc(count, sizeof(*all));
	Elf64_Rela *rela = calloc(count, sizeof(*rela));
	struct made m = usual();
	struct elf_links links;
	struct elf_file *file;
	double before_s;

	REQUIRE(all && rela);
	for (size_t i = 0; i < count; i++)
		rela[i] = (Elf64_Rela){0x9000 + 8 * i,
				       ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x7777};
	m.symbols = all;
	m.symbol_count = count;
	m.relocations = rela;
	m.relocation_count = count;
	before_s = check_cpu_s();
	file = open_made(&m, &links);
	CHECK(check_cpu_s() - before_s < 5);
	CHECK_INT(links.list.len, count);
	elf_links_deinit(&links);
	elf_file_close(file);
	free(all);
	free(rela);
}

int main(void)
{
	RUN(words);
	RUN(left_out);
	RUN(many_indirect_functions);
	return check_done();
}

#endif
