/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What elf.c (the file), those who read its tables, and debug_file.c (a file that has its
 * symbols) share. Headers and code are read by ourselves. Tables are read by libelf: in
 * this process (elf_here.c), or in a confined one (elf_remote.c).
 */
#ifndef TARGET_ELF_FILE_H
#define TARGET_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf.h"
#include "target/elf_links.h"
#include "target/usdt.h"
#include "util/error.h"

#define ELF_BUILD_ID_MAX_BYTES 64u

/* An executable PT_LOAD, cut to what the file holds. */
struct elf_segment {
	uint64_t address, file_offset, size_bytes;
};

/* Bytes that were read: code is read in small pieces, close to each other. */
#define ELF_PAGE_BYTES 4096u
#define ELF_PAGES      16u

struct elf_page {
	uint64_t number;   /* offset in the file / ELF_PAGE_BYTES */
	size_t size_bytes; /* less at the end of the file; 0: nothing was read */
	char bytes[ELF_PAGE_BYTES];
};

/* Of .gnu_debuglink. */
struct elf_debuglink {
	char name[256]; /* of a file, without directories; "" when there is none */
	uint32_t checksum;
};

/* How what is in tables is had. All but `close` may begin to use libelf, and have its
 * errors. */
struct elf_tables {
	struct error *(*find_functions)(struct elf_file *file, const char *const names[],
					size_t count, struct elf_symbol ret[]);
	struct error *(*offer_functions)(struct elf_file *file, struct nearest *nearest);
	struct error *(*read_links)(struct elf_file *file, struct elf_links *ret);
	struct error *(*find_usdt)(struct elf_file *file, const char *provider,
				   const char *name, struct nearest *nearest,
				   struct usdt_places *ret);
	struct error *(*has_symbols)(struct elf_file *file, bool *ret);
	struct error *(*read_debuglink)(struct elf_file *file, struct elf_debuglink *ret);
	/* Is the open file `fd`, which is taken over, the debug file of `file`? Then its
	 * symbols are found from now on. Errors but ERROR_NO_MEMORY are its own. */
	struct error *(*try_debug)(struct elf_file *file, int fd,
				   const struct elf_debuglink *link, bool *ret_serves);
	void (*close)(struct elf_file *file);
};

extern const struct elf_tables elf_tables_here, elf_tables_remote;

struct elf_file {
	int fd;
	const struct elf_tables *tables;
	char *name;                /* what errors call it */
	Elf *elf;                  /* of elf_tables_here, from elf_file_begin() on */
	struct elf_reader *reader; /* of elf_tables_remote; borrowed */
	uint32_t handle;           /* there */
	unsigned child;            /* that has given the handle (keeper_child()) */
	uint64_t size_bytes;
	struct elf_identity identity;
	struct elf_segment *segments;
	size_t segment_count;
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1]; /* "" when there is none */
	struct elf_file *debug; /* of elf_tables_here: owned; its .symtab is searched
				   last; or NULL */
	struct elf_page pages[ELF_PAGES]; /* by the page's number modulo ELF_PAGES */
};

/* ERROR_MALFORMED, saying that `what` is wrong. */
struct error *elf_file_malformed(const char *what) __attribute__((warn_unused_result));

/* Up to `size` bytes at `offset` of the file; the number read. */
size_t elf_file_read_at(struct elf_file *file, uint64_t offset, void *buffer,
			size_t size);

/* Take the build-id from `size` bytes of notes at `offset`, when one is there. */
void elf_file_parse_notes(struct elf_file *file, uint64_t offset, uint64_t size,
			  uint64_t align);

/* Open `file` with libelf, once. ERROR_MALFORMED, ERROR_UNSUPPORTED. */
struct error *elf_file_begin(struct elf_file *file) __attribute__((warn_unused_result));

/* The offset of code at `address` in the file; false outside of executable segments. */
bool elf_file_code_offset(const struct elf_file *file, uint64_t address, uint64_t *ret);

/* The contents of a section, NULL when they do not lie in the file. */
Elf_Data *elf_file_section_data(struct elf_file *file, Elf_Scn *scn);

#endif
