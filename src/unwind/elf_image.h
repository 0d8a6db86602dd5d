/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an ELF image: a file or, for the vDSO, memory. The headers are checked
 * and read here, without libelf, since an image in memory has no section headers, and
 * unwinding needs only segments and three sections. All of it is hostile input.
 */
#ifndef UNWIND_ELF_IMAGE_H
#define UNWIND_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/code_pages.h"
#include "util/error.h"

struct elf_image {
	int fd;              /* owned; -1: in memory, or its code is mapped */
	const uint8_t *data; /* borrowed; NULL: a file */
	struct {
		void *at; /* NULL: not mapped */
		uint64_t file_offset;
		size_t size_bytes;
		struct code_pages *pages; /* borrowed; NULL: none */
		uint64_t number;          /* of the image in `pages` */
	} mapped;                         /* the code, after the descriptor is closed */
	uint64_t size_bytes;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
};

/* A copied part of the image. */
struct elf_bytes {
	uint8_t *data; /* owned; NULL: none */
	size_t size_bytes;
	uint64_t address; /* in the image's address space */
};

/* Sections and segments larger than this are not read. */
#define ELF_IMAGE_MAX_BYTES ((size_t)64 << 20)

/* Take ownership of `fd` (a regular file), also on failure. ERROR_MALFORMED,
 * ERROR_UNSUPPORTED (another class or machine), ERROR_IO. */
struct error *elf_image_init_file(struct elf_image *image, int fd)
	__attribute__((warn_unused_result));

/* Use an image that is mapped at `data`, which must outlive it. */
struct error *elf_image_init_memory(struct elf_image *image, const void *data,
				    size_t size_bytes)
	__attribute__((warn_unused_result));
void elf_image_deinit(struct elf_image *image);

/*
 * Map the code and close the descriptor. From then on elf_image_read() reads only
 * executable segments. `pages` has copies of pages, and must outlive the image; NULL:
 * none are kept. A mapped file keeps its inode number, like an open file. If the code
 * does not fit (RLIMIT_AS, a span over 1 GiB), one page is mapped, and no code can be
 * read. ERROR_IO: nothing can be mapped. Does nothing for an image in memory.
 */
struct error *elf_image_map_code(struct elf_image *image, struct code_pages *pages)
	__attribute__((warn_unused_result));

/* Copy `size` bytes at `file_offset`; false if not all of them are there. */
bool elf_image_read(const struct elf_image *image, uint64_t file_offset, void *buffer,
		    size_t size) __attribute__((warn_unused_result));

/* The PT_LOAD that contains `address` within its bytes in the file, or NULL. */
const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint64_t address);

/* Copy the file's bytes at `address`: `size_bytes`, or up to the end of the segment if
 * that is less. If no segment contains `address`, ret->data is NULL. ERROR_IO: the file
 * cannot be read there, which holds for the following functions, too. */
struct error *elf_image_load(const struct elf_image *image, uint64_t address,
			     uint64_t size_bytes, struct elf_bytes *ret)
	__attribute__((warn_unused_result));

/* The header of the first section with this name. *ret_found is false if no section has
 * it. Nothing in the header is checked. */
struct error *elf_image_find_section(const struct elf_image *image, const char *name,
				     bool *ret_found, Elf64_Shdr *ret)
	__attribute__((warn_unused_result));

/* Copy sections by name. ret[i].data is NULL if the section names[i] is missing,
 * compressed, too large or not in the file. */
struct error *elf_image_load_sections(const struct elf_image *image,
				      const char *const names[], size_t count,
				      struct elf_bytes ret[])
	__attribute__((warn_unused_result));

/* The same for the first section of a type, such as SHT_DYNSYM, that can be copied. */
struct error *elf_image_load_type(const struct elf_image *image, uint32_t type,
				  struct elf_bytes *ret)
	__attribute__((warn_unused_result));

#endif
