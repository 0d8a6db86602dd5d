// SPDX-License-Identifier: Apache-2.0
#include "dwarf/debug_elf.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "arch/arch.h"
#include "util/cleanup.h"

#define GIB              (UINT64_C(1) << 30)
#define MAPPED_MAX_BYTES (16 * GIB)
#define READ_MAX_BYTES   (2 * GIB)
#define MAP_MIN_BYTES    (GIB / 4)
#define SECTIONS_MAX     0xff00u /* SHN_LORESERVE: more needs extended numbering */
#define SEGMENTS_MAX     4096u

DEFINE_CLEANUP(struct debug_elf *, debug_elf_close);

static struct error *malformed(const char *what)
{
	return error_create(ERROR_MALFORMED, "malformed ELF file (%s)", what);
}

/* Check the table sizes that libelf would trust (gABI, "ELF Header"). */
static struct error *check_header(const Elf64_Ehdr *h, size_t n)
{
	if (n < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != arch.elf_machine)
		return malformed("its header");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN && h->e_type != ET_REL)
		return malformed("its type");
	if (h->e_phnum > SEGMENTS_MAX ||
	    (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr)))
		return malformed("its program headers");
	/* e_shnum 0 means extended numbering, which only files with 65,280 sections
	 * use. */
	if (!h->e_shoff || !h->e_shnum || h->e_shnum > SECTIONS_MAX ||
	    h->e_shentsize != sizeof(Elf64_Shdr))
		return malformed("its section headers");
	return NULL;
}

static bool is_debug_name(const char *name)
{
	return name && (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8));
}

/* Sections that memtrace does not use: locations of variables, macros, indexes of
 * names. They are hidden from libdw, which decompresses all known sections when it
 * opens a file (check_section(), libdw/dwarf_begin_elf.c). */
static bool is_of_no_use(const char *name)
{
	static const char *const names[] = {
		"debug_loc",      "debug_loclists",     "debug_frame",
		"debug_macro",    "debug_macinfo",      "debug_pubnames",
		"debug_pubtypes", "debug_gnu_pubnames", "debug_gnu_pubtypes",
	};

	name += name[1] == 'z' ? 2 : 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The decompressed size of a debug section in bytes. */
static uint64_t whole_size(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	unsigned char head[12]; /* "ZLIB", the size as 8 bytes, big-endian */
	GElf_Chdr chdr;
	Elf_Data *data;
	uint64_t size;

	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
	if (strncmp(name, ".zdebug_", 8))
		return sh->sh_size;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size < sizeof(head))
		return sh->sh_size;
	memcpy(head, data->d_buf, sizeof(head));
	memcpy(&size, head + 4, sizeof(size));
	return memcmp(head, "ZLIB", 4) ? sh->sh_size : be64toh(size);
}

uint64_t debug_elf_max_bytes(void)
{
	struct sysinfo info;
	uint64_t quarter = READ_MAX_BYTES;

	if (!sysinfo(&info))
		quarter = (uint64_t)info.totalram * info.mem_unit / 4;
	return quarter < READ_MAX_BYTES ? quarter : READ_MAX_BYTES;
}

static struct error *check_sections(struct debug_elf *image, bool is_mapped)
{
	uint64_t all = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return malformed("its section names");
	while ((scn = elf_nextscn(image->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh)
					   ? elf_strptr(image->elf, names, sh.sh_name)
					   : NULL;
		uint64_t size;

		if (!is_debug_name(name) || sh.sh_type == SHT_NOBITS)
			continue;
		/* The section headers of a mapped file are read-only. */
		if (!is_mapped && is_of_no_use(name)) {
			sh.sh_type = SHT_NOBITS;
			if (!gelf_update_shdr(scn, &sh))
				return malformed("a section header");
			continue;
		}
		if (sh.sh_offset > image->size_bytes ||
		    sh.sh_size > image->size_bytes - sh.sh_offset)
			return malformed("a section outside of the file");
		size = whole_size(scn, &sh, name);
		if (size > MAPPED_MAX_BYTES || (all += size) > MAPPED_MAX_BYTES)
			return malformed("its debug sections are too large");
		/* Decompressed sections take memory even if the file is mapped. */
		if (size != sh.sh_size || !is_mapped)
			image->debug_bytes += size;
	}
	if (image->debug_bytes > debug_elf_max_bytes())
		return malformed("its debug sections are too large");
	return NULL;
}

struct error *debug_elf_open(int fd, struct debug_elf **ret)
{
	_cleanup_(debug_elf_closep) struct debug_elf *image = calloc(1, sizeof(*image));
	struct stat st;
	Elf64_Ehdr header;

	if (!image) {
		close(fd);
		return error_no_memory();
	}
	image->fd = fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return malformed("not a regular file");
	image->size_bytes = (uint64_t)st.st_size;

	ssize_t n = pread(fd, &header, sizeof(header), 0);
	struct error *err = check_header(&header, n > 0 ? (size_t)n : 0);
	bool is_mapped = image->size_bytes >= MAP_MIN_BYTES && st.st_uid == 0 &&
			 !(st.st_mode & (S_IWGRP | S_IWOTH));

	if (err)
		return err;
	elf_version(EV_CURRENT);
	image->elf = elf_begin(fd, is_mapped ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return malformed("libelf refuses it");
	err = check_sections(image, is_mapped);
	if (err)
		return err;
	*ret = take(image);
	return NULL;
}

struct error *debug_elf_from_memory(void *memory, size_t size, struct debug_elf **ret)
{
	_cleanup_(debug_elf_closep) struct debug_elf *image = calloc(1, sizeof(*image));
	Elf64_Ehdr header;
	struct error *err;

	if (!image) {
		free(memory);
		return error_no_memory();
	}
	image->fd = -1;
	image->memory = memory;
	image->size_bytes = size;
	if (size >= sizeof(header))
		memcpy(&header, memory, sizeof(header));
	err = check_header(&header, size);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	image->elf = elf_memory(memory, size);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return malformed("libelf refuses it");
	err = check_sections(image, false);
	if (err)
		return err;
	*ret = take(image);
	return NULL;
}

void debug_elf_close(struct debug_elf *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	closep(&image->fd);
	free(image->memory);
	free(image);
}

Elf_Scn *debug_elf_section(const struct debug_elf *image, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(image->elf, scn))) {
		const char *found = gelf_getshdr(scn, &sh)
					    ? elf_strptr(image->elf, names, sh.sh_name)
					    : NULL;

		if (found && !strcmp(found, name))
			return scn;
	}
	return NULL;
}

void build_id_append(struct strbuf *out, const struct build_id *id)
{
	for (size_t i = 0; i < id->size; i++)
		strbuf_appendf(out, "%02x", id->bytes[i]);
}

struct build_id debug_elf_build_id(const struct debug_elf *image)
{
	struct build_id id = {.size = 0};
	const void *bytes;
	ssize_t size = dwelf_elf_gnu_build_id(image->elf, &bytes);

	if (size > 0 && size <= BUILD_ID_MAX_BYTES) {
		memcpy(id.bytes, bytes, (size_t)size);
		id.size = (size_t)size;
	}
	return id;
}

/* The debug section `name`. Sections in the old compressed format of GNU have another
 * name (.zdebug_*); *is_old says so. */
static Elf_Scn *debug_section(const struct debug_elf *image, const char *name,
			      bool *is_old)
{
	Elf_Scn *scn = debug_elf_section(image, name);
	char old_name[32];

	*is_old = !scn && name[0] == '.';
	if (*is_old) {
		snprintf(old_name, sizeof(old_name), ".z%s", name + 1);
		scn = debug_elf_section(image, old_name);
	}
	return scn;
}

static const Elf_Data *section_data(Elf_Scn *scn)
{
	const Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
		return NULL;
	/* Raw: libelf must not convert the bytes of debug sections. */
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

const Elf_Data *debug_elf_data(const struct debug_elf *image, const char *name)
{
	bool is_old;

	return section_data(debug_section(image, name, &is_old));
}

const Elf_Data *debug_elf_whole_data(const struct debug_elf *image, const char *name)
{
	bool is_old;
	Elf_Scn *scn = debug_section(image, name, &is_old);
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
		return NULL;
	if (sh.sh_flags & SHF_COMPRESSED ? elf_compress(scn, 0, 0) < 0
					 : is_old && elf_compress_gnu(scn, 0, 0) < 0)
		return NULL;
	return section_data(scn);
}

#define PAGE_BYTES UINT64_C(4096)

/* Does the mapping have all pages of this segment? */
static bool is_mapped_by(const GElf_Phdr *ph, const struct debug_mapping *mapping)
{
	uint64_t start = ph->p_vaddr & ~(PAGE_BYTES - 1);
	uint64_t size = ph->p_vaddr - start + ph->p_memsz;

	/* A sum that wraps is smaller than its parts. */
	return size >= ph->p_memsz && size <= mapping->size_bytes &&
	       mapping->size_bytes - size < PAGE_BYTES;
}

bool debug_elf_mapped_address(const struct debug_elf *image,
			      const struct debug_mapping *mapping, uint64_t offset,
			      uint64_t *ret)
{
	GElf_Phdr ph;
	size_t count;

	if (debug_elf_address(image, mapping->file_offset + offset, ret))
		return true;
	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(image->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    ph.p_flags & PF_X && is_mapped_by(&ph, mapping)) {
			*ret = (ph.p_vaddr & ~(PAGE_BYTES - 1)) + offset;
			return true;
		}
	}
	return false;
}

bool debug_elf_address(const struct debug_elf *image, uint64_t file_offset, uint64_t *ret)
{
	GElf_Phdr ph;
	size_t count;

	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(image->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    ph.p_flags & PF_X && file_offset >= ph.p_offset &&
		    file_offset - ph.p_offset < ph.p_filesz) {
			*ret = file_offset - ph.p_offset + ph.p_vaddr;
			return true;
		}
	}
	return false;
}
