// SPDX-License-Identifier: Apache-2.0
#include "elf/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/elf_file.h"
#include "elf/usdt.h"
#include "util/cleanup.h"
#include "util/open_helper.h"

/* Bounds on what a file may make us read. Real files are far smaller. */
#define SECTIONS_MAX    0xff00u /* SHN_LORESERVE: more needs extended numbering */
#define SEGMENTS_MAX    4096u
#define NOTES_MAX_BYTES ((uint64_t)64 << 10)

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

struct error *elf_file_malformed(const char *what)
{
	return error_create(ERROR_MALFORMED, "malformed ELF file (%s)", what);
}

static size_t read_whole(const struct elf_file *file, uint64_t offset, void *buffer,
			 size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(file->fd, (char *)buffer + done, size - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Point *ret to the bytes from `offset` to the end of its page. Returns their number,
 * less at the end of the file. */
static size_t page_at(struct elf_file *file, uint64_t offset, const char **ret)
{
	uint64_t number = offset / ELF_PAGE_BYTES;
	struct elf_page *page = &file->pages[number % ELF_PAGES];
	size_t at = (size_t)(offset % ELF_PAGE_BYTES);

	if (!page->size_bytes || page->number != number) {
		page->number = number;
		page->size_bytes = read_whole(file, number * ELF_PAGE_BYTES, page->bytes,
					      sizeof(page->bytes));
	}
	*ret = page->bytes + at;
	return at < page->size_bytes ? page->size_bytes - at : 0;
}

size_t elf_file_read_at(struct elf_file *file, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0, n;
	const char *bytes;

	if (offset >= file->size_bytes)
		return 0;
	if (size > ELF_PAGE_BYTES)
		return read_whole(file, offset, buffer, size);
	while (done < size && (n = page_at(file, offset + done, &bytes))) {
		n = n < size - done ? n : size - done;
		memcpy((char *)buffer + done, bytes, n);
		done += n;
	}
	return done;
}

/*
 * Check the header before libelf reads it: report the kinds of file that we do not
 * support, and refuse a header that would make libelf allocate a table for billions of
 * sections.
 */
static struct error *check_header(struct elf_file *file)
{
	Elf64_Ehdr h;
	Elf64_Shdr first;
	size_t n = elf_file_read_at(file, 0, &h, sizeof(h));

	if (n < EI_NIDENT || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return error_create(ERROR_MALFORMED, "not an ELF file");
	if (h.e_ident[EI_CLASS] == ELFCLASS32)
		return error_create(ERROR_UNSUPPORTED,
				    "a 32-bit program or library; only 64-bit ones of %s "
				    "are supported",
				    arch.name);
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return elf_file_malformed("its class");
	if (n < sizeof(h))
		return elf_file_malformed("its header");
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != arch.elf_machine)
		return error_create(ERROR_UNSUPPORTED,
				    "made for another machine (ELF machine %u); only %s "
				    "is supported",
				    h.e_machine, arch.name);
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return error_create(
			ERROR_UNSUPPORTED,
			"neither a program nor a shared library (ELF type %u)", h.e_type);
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0 ||
	    h.e_phnum > SEGMENTS_MAX)
		return elf_file_malformed("its program headers");
	/* A file without section headers is valid, although no functions will be
	 * found. */
	if (h.e_shoff && h.e_shentsize != sizeof(Elf64_Shdr))
		return elf_file_malformed("its section headers");
	if (h.e_shoff && !h.e_shnum &&
	    (elf_file_read_at(file, h.e_shoff, &first, sizeof(first)) != sizeof(first) ||
	     first.sh_size > SECTIONS_MAX))
		return elf_file_malformed("its number of sections");
	return NULL;
}

/* Format of notes: elf(5), "Notes (Nhdr)". */
void elf_file_parse_notes(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			  uint64_t alignment)
{
	uint64_t size = size_bytes < NOTES_MAX_BYTES ? size_bytes : NOTES_MAX_BYTES;
	uint64_t align = alignment == 8 ? 8 : 4, at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		unsigned char id[ELF_BUILD_ID_MAX_BYTES];
		char name[sizeof(ELF_NOTE_GNU)];
		Elf64_Nhdr h;

		if (elf_file_read_at(file, offset + at, &h, sizeof(h)) != sizeof(h))
			return;
		at += sizeof(h);

		/* The fields have 32 bits: these sums cannot overflow 64 bits. */
		uint64_t desc = (at + h.n_namesz + align - 1) & ~(align - 1);
		uint64_t next = (desc + h.n_descsz + align - 1) & ~(align - 1);

		if (desc + h.n_descsz > size)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof(name) &&
		    h.n_descsz > 0 && h.n_descsz <= sizeof(id) &&
		    elf_file_read_at(file, offset + at, name, sizeof(name)) ==
			    sizeof(name) &&
		    !memcmp(name, ELF_NOTE_GNU, sizeof(name)) &&
		    elf_file_read_at(file, offset + desc, id, h.n_descsz) == h.n_descsz) {
			for (uint32_t i = 0; i < h.n_descsz; i++)
				snprintf(file->build_id + (size_t)2 * i, 3, "%02x",
					 id[i]);
			return;
		}
		if (next > size)
			return;
		at = next;
	}
}

static struct error *read_segments(struct elf_file *file)
{
	_cleanup_(freep) Elf64_Phdr *headers = NULL;
	Elf64_Ehdr h;
	size_t size;

	if (elf_file_read_at(file, 0, &h, sizeof(h)) != sizeof(h))
		return elf_file_malformed("its header");
	size = h.e_phnum * sizeof(*headers);
	headers = malloc(size);
	file->segments = calloc(h.e_phnum, sizeof(*file->segments));
	if (!headers || !file->segments)
		return error_no_memory();
	if (elf_file_read_at(file, h.e_phoff, headers, size) != size)
		return elf_file_malformed("its program headers");

	for (size_t i = 0; i < h.e_phnum; i++) {
		const Elf64_Phdr *ph = &headers[i];

		if (ph->p_type == PT_NOTE && !file->build_id[0])
			elf_file_parse_notes(file, ph->p_offset, ph->p_filesz,
					     ph->p_align);
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (ph->p_offset >= file->size_bytes || ph->p_filesz == 0 ||
		    ph->p_vaddr + ph->p_filesz < ph->p_vaddr)
			continue;

		uint64_t held = file->size_bytes - ph->p_offset;

		file->segments[file->segment_count++] = (struct elf_segment){
			.address = ph->p_vaddr,
			.file_offset = ph->p_offset,
			.size_bytes = ph->p_filesz < held ? ph->p_filesz : held,
		};
	}
	return NULL;
}

bool elf_file_code_offset(const struct elf_file *file, uint64_t address, uint64_t *ret)
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

struct error *elf_cannot_open(const char *name, int err)
{
	enum error_code code = ERROR_IO;

	if (err == ENODEV)
		return error_create(ERROR_MALFORMED, "%s: not a regular file", name);
	if (err == ENOENT || err == ENOTDIR)
		code = ERROR_NOT_FOUND;
	if (err == EACCES || err == EPERM)
		code = ERROR_PERMISSION;
	return error_errno(code, err, "cannot open %s", name);
}

struct error *elf_file_open_as(int fd, const char *name, const struct elf_tables *tables,
			       struct elf_file **ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = calloc(1, sizeof(*file));
	struct stat st;

	if (!file) {
		close(fd);
		return error_no_memory();
	}
	file->fd = fd;
	file->tables = tables;
	file->name = strdup(name);
	if (!file->name)
		return error_no_memory();
	if (open_helper_stat(fd, "", &st) < 0)
		return error_errno(ERROR_IO, errno, "cannot look at %s", name);
	file->size_bytes = (uint64_t)st.st_size;
	file->identity = (struct elf_identity){st.st_dev, st.st_ino, file->size_bytes,
					       st.st_mtim, st.st_ctim};

	struct error *err = check_header(file);
	if (err)
		return error_prefix(err, "%s", name);

	err = read_segments(file);
	if (err)
		return error_prefix(err, "%s", name);
	*ret = take(file);
	return NULL;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	file->tables->close(file);
	closep(&file->fd);
	free(file->name);
	free(file->segments);
	free(file);
}

struct elf_identity elf_file_identity(const struct elf_file *file)
{
	return file->identity;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool elf_identity_equals(const struct elf_identity *a, const struct elf_identity *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->size_bytes == b->size_bytes && same_time(&a->modified, &b->modified) &&
	       same_time(&a->changed, &b->changed);
}

const char *elf_file_build_id(struct elf_file *file)
{
	return file->build_id[0] ? file->build_id : NULL;
}

size_t elf_file_read(struct elf_file *file, uint64_t file_offset, void *buffer,
		     size_t size)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (file_offset < s->file_offset ||
		    file_offset - s->file_offset >= s->size_bytes)
			continue;

		uint64_t left = s->size_bytes - (file_offset - s->file_offset);

		return elf_file_read_at(file, file_offset, buffer,
					size < left ? size : (size_t)left);
	}
	return 0;
}

/* --- tables ------------------------------------------------------------------------ */

struct error *elf_file_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
{
	memset(ret, 0, count * sizeof(*ret));
	return file->tables->find_functions(file, names, count, ret);
}

struct error *elf_file_offer_functions(struct elf_file *file, struct nearest *nearest)
{
	return file->tables->offer_functions(file, nearest);
}

struct error *usdt_find(struct elf_file *file, const char *provider, const char *name,
			struct nearest *nearest, struct usdt_places *ret)
{
	return file->tables->find_usdt(file, provider, name, nearest, ret);
}

struct error *elf_file_begin(struct elf_file *file)
{
	if (file->elf)
		return NULL;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_create(ERROR_UNSUPPORTED, "libelf is too old");
	/* Read instead of mapped: truncating a mapped file would raise SIGBUS. */
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF)
		return NULL;
	elf_end(file->elf);
	file->elf = NULL;
	return error_create(ERROR_MALFORMED, "%s: malformed ELF file (%s)", file->name,
			    elf_errmsg(-1));
}
