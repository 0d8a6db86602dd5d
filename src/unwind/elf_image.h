/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an ELF image, which is a file or, for the vDSO, a piece of memory. The
 * headers are checked and read by hand and not by libelf: an image in memory has no
 * section headers, and unwinding needs no more than its segments and three sections.
 * All of it is hostile input.
 */
#ifndef UNWIND_ELF_IMAGE_H
#define UNWIND_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct elf_image {
	int fd;              /* owned, or -1: in memory, or its code is mapped */
	const uint8_t *data; /* borrowed; NULL: a file */
	struct {
		void *at; /* NULL: it is not */
		uint64_t file_offset;
		size_t size_bytes;
	} mapped; /* instead of the descriptor */
	uint64_t size_bytes;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
};

/* A piece of the image, copied. */
struct elf_bytes {
	uint8_t *data; /* owned; NULL: there is none */
	size_t size_bytes;
	uint64_t address; /* in the image's address space */
};

/* Sections and segments larger than this are not read. */
#define ELF_IMAGE_MAX_BYTES ((size_t)64 << 20)

/* Take `fd` of a regular file, closed also on failure. ERROR_MALFORMED,
 * ERROR_UNSUPPORTED (another class or machine), ERROR_IO. */
struct error *elf_image_init_file(struct elf_image *image, int fd)
	__attribute__((warn_unused_result));

/* Use an image that is mapped at `data`, which must outlive it. */
struct error *elf_image_init_memory(struct elf_image *image, const void *data,
				    size_t size_bytes)
	__attribute__((warn_unused_result));
void elf_image_deinit(struct elf_image *image);

/*
 * Map the code and close the descriptor. From then on elf_image_read() has the executable
 * segments only. A mapped file keeps its inode number as an open one does. Where there is
 * no room for the code (RLIMIT_AS, a span over 1 GiB) a page is mapped, and no code can
 * be read. ERROR_IO: nothing can be mapped. Nothing happens to an image in memory.
 */
struct error *elf_image_map_code(struct elf_image *image)
	__attribute__((warn_unused_result));

/* Copy `size` bytes at `file_offset`; false when they are not all there. */
bool elf_image_read(const struct elf_image *image, uint64_t file_offset, void *buffer,
		    size_t size) __attribute__((warn_unused_result));

/* The PT_LOAD that holds `address` within the bytes that the file has, or NULL. */
const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint64_t address);

/* Copy what the file has at `address`: `size_bytes`, or to the end of its segment when
 * that is less. Without a segment there, ret->data is NULL. */
struct error *elf_image_load(const struct elf_image *image, uint64_t address,
			     uint64_t size_bytes, struct elf_bytes *ret)
	__attribute__((warn_unused_result));

/* Copy sections by name; ret[i].data is NULL where there is no names[i], where it is
 * compressed, too large or not in the file. */
struct error *elf_image_load_sections(const struct elf_image *image,
				      const char *const names[], size_t count,
				      struct elf_bytes ret[])
	__attribute__((warn_unused_result));

/* The same of the first section of a type, such as SHT_DYNSYM, that can be copied. */
struct error *elf_image_load_type(const struct elf_image *image, uint32_t type,
				  struct elf_bytes *ret)
	__attribute__((warn_unused_result));

#endif
