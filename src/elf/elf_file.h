/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by elf.c (the file), by the readers of its tables, and by debug_file.c
 * (finding the file that has its symbols). We read headers and code ourselves. libelf
 * reads the tables, in this process (elf_here.c) or in a confined one (elf_remote.c).
 */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "util/error.h"

struct elf_links;
struct usdt_places;

#define ELF_BUILD_ID_MAX_BYTES 64u

/* An executable PT_LOAD, cut at the end of the file. */
struct elf_segment {
	uint64_t address, file_offset, size_bytes;
};

/* A cache of pages of the file: code is read in small pieces that are close to each
 * other. */
#define ELF_PAGE_BYTES 4096u
#define ELF_PAGES      16u

struct elf_page {
	uint64_t number;   /* offset in the file / ELF_PAGE_BYTES */
	size_t size_bytes; /* less than a page at the end of the file; 0: nothing was read
			    */
	char bytes[ELF_PAGE_BYTES];
};

/* The contents of .gnu_debuglink. */
struct elf_debuglink {
	char name[256]; /* base name of the debug file; "" if the section is missing */
	uint32_t checksum;
};

/* How the tables are read: in this process or in a confined one. Each function but
 * `close` may start libelf, and then returns libelf's errors. */
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
	/* Is the open file `fd` the debug file of `file`? If so, its symbols are found
	 * from now on. Takes ownership of `fd`. Errors other than ERROR_NO_MEMORY
	 * concern the debug file. */
	struct error *(*try_debug)(struct elf_file *file, int fd,
				   const struct elf_debuglink *link, bool *ret_serves);
	void (*close)(struct elf_file *file);
};

extern const struct elf_tables elf_tables_here, elf_tables_remote;

struct elf_file {
	int fd;
	const struct elf_tables *tables;
	char *name;                /* the file's name in errors */
	Elf *elf;                  /* elf_tables_here: set by elf_file_begin() */
	struct elf_reader *reader; /* elf_tables_remote: the reader; borrowed */
	uint32_t handle;           /* elf_tables_remote: the file's handle in the child */
	unsigned child;            /* the child that gave the handle (keeper_child()) */
	uint64_t size_bytes;
	struct elf_identity identity;
	struct elf_segment *segments;
	size_t segment_count;
	char build_id[2 * ELF_BUILD_ID_MAX_BYTES + 1]; /* "": the file has none */
	/* elf_tables_here: the debug file, whose .symtab is searched last; owned; NULL:
	 * none */
	struct elf_file *debug;
	struct elf_page
		pages[ELF_PAGES]; /* indexed by the page's number modulo ELF_PAGES */
};

/* As elf_file_open_fd(); `tables` says how its tables are read. */
struct error *elf_file_open_as(int fd, const char *name, const struct elf_tables *tables,
			       struct elf_file **ret) __attribute__((warn_unused_result));

/* Returns ERROR_MALFORMED with a message that `what` is wrong. */
struct error *elf_file_malformed(const char *what) __attribute__((warn_unused_result));

/* Read up to `size` bytes at `offset`. Returns the number read. */
size_t elf_file_read_at(struct elf_file *file, uint64_t offset, void *buffer,
			size_t size);

/* Set the build-id from the `size` bytes of notes at `offset`, if they contain one. */
void elf_file_parse_notes(struct elf_file *file, uint64_t offset, uint64_t size,
			  uint64_t align);

/* Open `file` with libelf, unless done before. ERROR_MALFORMED, ERROR_UNSUPPORTED. */
struct error *elf_file_begin(struct elf_file *file) __attribute__((warn_unused_result));

/* Set *ret to the file offset of the code at `address`. False: outside of executable
 * segments. */
bool elf_file_code_offset(const struct elf_file *file, uint64_t address, uint64_t *ret);

/* The contents of a section; NULL if they are not within the file. */
Elf_Data *elf_file_section_data(struct elf_file *file, Elf_Scn *scn);

#endif
