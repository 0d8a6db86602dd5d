/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the pages of code that were read last. Code without unwind information is
 * read again for each stack that leads through it, a few bytes at a time, and each read
 * of a mapped file takes two system calls (unwind/elf_image.h). All images of a store
 * share the copies; one thread at a time reads them.
 */
#ifndef UNWIND_CODE_PAGES_H
#define UNWIND_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_PAGE_BYTES ((size_t)4096)

struct code_pages;

/* Where one page is copied to. */
struct code_page {
	uint64_t image; /* 0: nothing is copied */
	uint64_t number;
	uint8_t bytes[CODE_PAGE_BYTES];
};

/* Returns NULL if memory is out. Pages take memory when they are first used, 2 MiB
 * in all. */
struct code_pages *code_pages_create(void);
void code_pages_destroy(struct code_pages *pages);

/* A number for an image, which no other image has or will have. Never 0. */
uint64_t code_pages_add_image(struct code_pages *pages);

/* The place for page `number` of an image. Another page may be there: then `image` and
 * `number` differ, and the caller copies its page and sets both. */
struct code_page *code_pages_place(struct code_pages *pages, uint64_t image,
				   uint64_t number);

#endif
