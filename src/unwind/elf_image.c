// SPDX-License-Identifier: Apache-2.0
#include "unwind/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/whole_io.h"

/* Bounds on the amount read from an image. Real images are far smaller. */
#define SEGMENTS_MAX    4096u
#define SECTIONS_MAX    ((size_t)0xff00) /* SHN_LORESERVE */
#define NAMES_MAX_BYTES ((size_t)1 << 20)
#define CODE_MAX_BYTES  ((uint64_t)1 << 30)

#define PAGE_BYTES      4096u

static struct error *malformed(const char *what)
{
	return error_create(ERROR_MALFORMED, "malformed ELF file (%s)", what);
}

static struct error *unread(void)
{
	return error_create(ERROR_IO, "its unwind information cannot be read");
}

static bool has_bytes(const struct elf_image *image, uint64_t file_offset, uint64_t size)
{
	return file_offset <= image->size_bytes &&
	       size <= image->size_bytes - file_offset;
}

/* Copy from the mapping at `from`. The kernel copies the bytes: if the file is truncated
 * meanwhile, that must not raise SIGBUS. Pages read by this are dropped again. */
static bool copy_mapped(const struct elf_image *image, uint64_t from, void *buffer,
			size_t size)
{
	uint8_t *at = (uint8_t *)image->mapped.at + from;
	uint64_t in_page = (uintptr_t)at % PAGE_BYTES;
	const struct iovec here = {buffer, size}, there = {at, size};
	bool is_read =
		process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;

	madvise(at - in_page, size + in_page, MADV_DONTNEED);
	return is_read;
}

/* The copy of a page of the mapping; NULL if it cannot be read. */
static const uint8_t *kept_page(const struct elf_image *image, uint64_t number)
{
	struct code_page *place =
		code_pages_place(image->mapped.pages, image->mapped.number, number);
	uint64_t from = number * CODE_PAGE_BYTES, left = image->mapped.size_bytes - from;

	if (place->image == image->mapped.number && place->number == number)
		return place->bytes;
	place->image = 0;
	if (!copy_mapped(image, from, place->bytes,
			 left < CODE_PAGE_BYTES ? (size_t)left : CODE_PAGE_BYTES))
		return NULL;
	place->image = image->mapped.number;
	place->number = number;
	return place->bytes;
}

static bool read_mapped(const struct elf_image *image, uint64_t file_offset, void *buffer,
			size_t size)
{
	uint64_t from = file_offset - image->mapped.file_offset;
	uint8_t *to = buffer;

	if (file_offset < image->mapped.file_offset || from > image->mapped.size_bytes ||
	    size > image->mapped.size_bytes - from)
		return false;
	/* Whole regions are read once only. */
	if (!image->mapped.pages || size > CODE_PAGE_BYTES)
		return copy_mapped(image, from, buffer, size);
	while (size) {
		const uint8_t *page = kept_page(image, from / CODE_PAGE_BYTES);
		size_t at = (size_t)(from % CODE_PAGE_BYTES);
		size_t part = CODE_PAGE_BYTES - at < size ? CODE_PAGE_BYTES - at : size;

		if (!page)
			return false;
		memcpy(to, page + at, part);
		to += part;
		from += part;
		size -= part;
	}
	return true;
}

bool elf_image_read(const struct elf_image *image, uint64_t file_offset, void *buffer,
		    size_t size)
{
	if (!has_bytes(image, file_offset, size))
		return false;
	if (image->data) {
		memcpy(buffer, image->data + file_offset, size);
		return true;
	}
	if (image->mapped.at)
		return read_mapped(image, file_offset, buffer, size);
	/* Read instead of mapping: a file truncated meanwhile must not raise SIGBUS. */
	return whole_pread(image->fd, buffer, size, file_offset);
}

static struct error *read_headers(struct elf_image *image)
{
	Elf64_Ehdr *h = &image->header;
	size_t size;

	if (has_bytes(image, 0, sizeof(*h)) && !elf_image_read(image, 0, h, sizeof(*h)))
		return unread();
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return error_create(ERROR_MALFORMED, "not an ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != arch.elf_machine)
		return error_create(ERROR_UNSUPPORTED, "made for another machine");
	if (h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_phnum ||
	    h->e_phnum > SEGMENTS_MAX)
		return malformed("its program headers");

	image->segment_count = h->e_phnum;
	image->segments = calloc(image->segment_count, sizeof(*image->segments));
	if (!image->segments)
		return error_no_memory();
	size = image->segment_count * sizeof(*image->segments);
	if (!has_bytes(image, h->e_phoff, size))
		return malformed("its program headers");
	return elf_image_read(image, h->e_phoff, image->segments, size) ? NULL : unread();
}

struct error *elf_image_init_file(struct elf_image *image, int fd)
{
	struct error *err = NULL;
	struct stat st;

	*image = (struct elf_image){.fd = fd};
	if (open_helper_stat(fd, "", &st) < 0)
		err = error_errno(ERROR_IO, errno,
				  "its unwind information cannot be read");
	else if (!S_ISREG(st.st_mode))
		err = malformed("not a regular file");
	else
		image->size_bytes = (uint64_t)st.st_size;
	if (!err)
		err = read_headers(image);
	if (err)
		elf_image_deinit(image);
	return err;
}

struct error *elf_image_init_memory(struct elf_image *image, const void *data,
				    size_t size_bytes)
{
	*image = (struct elf_image){.fd = -1, .data = data, .size_bytes = size_bytes};

	struct error *err = read_headers(image);

	if (err)
		elf_image_deinit(image);
	return err;
}

void elf_image_deinit(struct elf_image *image)
{
	closep(&image->fd);
	if (image->mapped.at)
		munmap(image->mapped.at, image->mapped.size_bytes);
	free(image->segments);
	*image = (struct elf_image){.fd = -1};
}

/* --- the code, mapped -------------------------------------------------------------- */

/* Find the pages of the file from the first to the last executable segment. False: no
 * such pages, or too many. */
static bool span_of_code(const struct elf_image *image, uint64_t page_bytes,
			 uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *p = &image->segments[i];
		uint64_t left = image->size_bytes - p->p_offset;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz ||
		    p->p_offset >= image->size_bytes)
			continue;
		left = p->p_filesz < left ? p->p_filesz : left;
		*start = p->p_offset < *start ? p->p_offset : *start;
		*end = p->p_offset + left > *end ? p->p_offset + left : *end;
	}
	*start -= *start % page_bytes;
	return *start < *end && *end - *start <= CODE_MAX_BYTES;
}

/* A shared mapping: the kernel puts breakpoints only into private mappings. */
static bool map(struct elf_image *image, uint64_t start, uint64_t end)
{
	size_t size_bytes = (size_t)(end - start);
	void *at = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE,
			image->fd, (off_t)start);

	if (at == MAP_FAILED)
		return false;
	image->mapped.at = at;
	image->mapped.file_offset = start;
	image->mapped.size_bytes = size_bytes;
	return true;
}

struct error *elf_image_map_code(struct elf_image *image, struct code_pages *pages)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), start, end;

	if (image->data || image->mapped.at)
		return NULL;
	if ((!span_of_code(image, page_bytes, &start, &end) || !map(image, start, end)) &&
	    !map(image, 0, page_bytes))
		return error_errno(ERROR_IO, errno,
				   "its unwind information cannot be read");
	if (pages) {
		image->mapped.pages = pages;
		image->mapped.number = code_pages_add_image(pages);
	}
	closep(&image->fd);
	image->fd = -1;
	return NULL;
}

const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *p = &image->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/* Copy a part of the file. If it is not there, ret->data is NULL, which is not an
 * error. */
static struct error *load(const struct elf_image *image, uint64_t file_offset,
			  uint64_t size_bytes, uint64_t address, struct elf_bytes *ret)
{
	*ret = (struct elf_bytes){.address = address};
	if (!size_bytes || size_bytes > ELF_IMAGE_MAX_BYTES ||
	    !has_bytes(image, file_offset, size_bytes))
		return NULL;

	_cleanup_(freep) uint8_t *data = malloc((size_t)size_bytes);
	if (!data)
		return error_no_memory();
	if (!elf_image_read(image, file_offset, data, (size_t)size_bytes))
		return unread();
	ret->data = take(data);
	ret->size_bytes = (size_t)size_bytes;
	return NULL;
}

struct error *elf_image_load(const struct elf_image *image, uint64_t address,
			     uint64_t size_bytes, struct elf_bytes *ret)
{
	const Elf64_Phdr *p = elf_image_segment(image, address);

	*ret = (struct elf_bytes){0};
	if (!p)
		return NULL;

	uint64_t into = address - p->p_vaddr, left = p->p_filesz - into;
	uint64_t offset = p->p_offset + into;

	if (offset < into || offset >= image->size_bytes)
		return NULL;
	if (left > image->size_bytes - offset)
		left = image->size_bytes - offset;
	return load(image, offset, size_bytes < left ? size_bytes : left, address, ret);
}

/* --- sections --------------------------------------------------------------------- */

static bool name_is(const struct elf_bytes *names, uint32_t at, const char *name)
{
	size_t size = strlen(name) + 1;

	return at <= names->size_bytes && size <= names->size_bytes - at &&
	       !memcmp(names->data + at, name, size);
}

/* Load the section headers as bytes; ret->data is NULL if the file has none. */
static struct error *load_headers(const struct elf_image *image, struct elf_bytes *ret,
				  size_t *ret_names)
{
	const Elf64_Ehdr *h = &image->header;
	size_t count = h->e_shnum, names = h->e_shstrndx;
	Elf64_Shdr first;

	*ret = (struct elf_bytes){0};
	if (!h->e_shoff || h->e_shentsize != sizeof(first) ||
	    !has_bytes(image, h->e_shoff, sizeof(first)))
		return NULL;
	if (!elf_image_read(image, h->e_shoff, &first, sizeof(first)))
		return unread();
	/* Numbers that do not fit are in the first header (gABI, "Sections"). */
	if (!count)
		count = first.sh_size < SECTIONS_MAX ? (size_t)first.sh_size : 0;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (count > SECTIONS_MAX || names >= count)
		return NULL;
	*ret_names = names;
	return load(image, h->e_shoff, count * sizeof(first), 0, ret);
}

/* The section headers and the table of their names; NULL data for what the file lacks. */
static struct error *load_named_headers(const struct elf_image *image,
					struct elf_bytes *ret,
					struct elf_bytes *ret_names)
{
	Elf64_Shdr section;
	size_t names_at = 0;
	struct error *err = load_headers(image, ret, &names_at);

	*ret_names = (struct elf_bytes){0};
	if (err || !ret->data)
		return err;
	memcpy(&section, ret->data + names_at * sizeof(section), sizeof(section));
	return section.sh_size <= NAMES_MAX_BYTES
		       ? load(image, section.sh_offset, section.sh_size, 0, ret_names)
		       : NULL;
}

struct error *elf_image_find_section(const struct elf_image *image, const char *name,
				     bool *ret_found, Elf64_Shdr *ret)
{
	struct elf_bytes headers, strings;
	struct error *err = load_named_headers(image, &headers, &strings);

	*ret_found = false;
	for (size_t at = 0; !err && !*ret_found &&
			    at + sizeof(*ret) <= headers.size_bytes && strings.data;
	     at += sizeof(*ret)) {
		memcpy(ret, headers.data + at, sizeof(*ret));
		*ret_found = name_is(&strings, ret->sh_name, name);
	}
	free(headers.data);
	free(strings.data);
	return err;
}

struct error *elf_image_load_sections(const struct elf_image *image,
				      const char *const names[], size_t count,
				      struct elf_bytes ret[])
{
	struct elf_bytes headers, strings;
	Elf64_Shdr section;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct elf_bytes){0};

	struct error *err = load_named_headers(image, &headers, &strings);

	for (size_t at = 0;
	     !err && at + sizeof(section) <= headers.size_bytes && strings.data;
	     at += sizeof(section)) {
		memcpy(&section, headers.data + at, sizeof(section));
		if (section.sh_type == SHT_NOBITS || section.sh_flags & SHF_COMPRESSED)
			continue;
		for (size_t i = 0; i < count && !err; i++) {
			if (!ret[i].data && name_is(&strings, section.sh_name, names[i]))
				err = load(image, section.sh_offset, section.sh_size,
					   section.sh_addr, &ret[i]);
		}
	}
	free(headers.data);
	free(strings.data);
	for (size_t i = 0; err && i < count; i++) {
		free(ret[i].data);
		ret[i] = (struct elf_bytes){0};
	}
	return err;
}

struct error *elf_image_load_type(const struct elf_image *image, uint32_t type,
				  struct elf_bytes *ret)
{
	struct elf_bytes headers;
	size_t names_at;
	struct error *err = load_headers(image, &headers, &names_at);

	*ret = (struct elf_bytes){0};
	for (size_t at = 0;
	     !err && !ret->data && at + sizeof(Elf64_Shdr) <= headers.size_bytes;
	     at += sizeof(Elf64_Shdr)) {
		Elf64_Shdr section;

		memcpy(&section, headers.data + at, sizeof(section));
		if (section.sh_type == type && !(section.sh_flags & SHF_COMPRESSED))
			err = load(image, section.sh_offset, section.sh_size,
				   section.sh_addr, ret);
	}
	free(headers.data);
	return err;
}
