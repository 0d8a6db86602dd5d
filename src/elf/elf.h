/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file of the target. The file is hostile input: every offset, count and string
 * is checked against its bounds before use. If the target's files have a reader
 * (elf/elf_reader.h), an unprivileged process reads the tables.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "util/error.h"
#include "util/nearest.h"

struct elf_file;
struct elf_reader;

/* A function symbol: STT_FUNC or STT_GNU_IFUNC, defined. */
struct elf_symbol {
	const char *name;     /* the requested names[i]; NULL: not found */
	uint64_t address;     /* st_value, in the file's address space */
	uint64_t size_bytes;  /* st_size, may be 0 */
	uint64_t file_offset; /* offset of its first byte, from the executable PT_LOAD
				 that contains it */
	/* ELF symbol type. STT_GNU_IFUNC (gABI extension): the code at the address is a
	 * resolver that picks the function, not the function itself. */
	unsigned char type;
	bool is_local;      /* STB_LOCAL: static, or hidden by the linker */
	bool is_from_debug; /* found only in the debug file */
	bool is_ambiguous; /* a local symbol; another one of this name has another address
			    */
	/* the file has an undefined symbol of this name; also set if no definition was
	 * found */
	bool is_imported;
};

/* Open a regular file that is open for reading. Takes ownership of `fd`, also after an
 * error. `name` names the file in errors. ERROR_MALFORMED; ERROR_UNSUPPORTED: unsupported
 * class, machine or type of file. */
struct error *elf_file_open_fd(int fd, const char *name, struct elf_file **ret)
	__attribute__((warn_unused_result));

/* The same, but `reader` reads its tables (elf/elf_reader.h; NULL: this process). */
struct error *elf_file_open_by(int fd, const char *name, struct elf_reader *reader,
			       struct elf_file **ret) __attribute__((warn_unused_result));

/* Open the file at a path that the target cannot influence. Further errors:
 * ERROR_NOT_FOUND or ERROR_PERMISSION with the errno of open(2). */
struct error *elf_file_open(const char *path, struct elf_file **ret)
	__attribute__((warn_unused_result));
void elf_file_close(struct elf_file *file);

/* The error for a file that open(2) did not open, with its errno. */
struct error *elf_cannot_open(const char *name, int err);

/*
 * Find defined functions by name. For each of the `count` names[i], ret[i] gets the
 * symbol of .dynsym, else of .symtab, else of the debug file's .symtab; ret[i].name is
 * NULL without one. Default symbol versions are preferred to hidden ones (bit 15 of
 * .gnu.version, "name@V" in .symtab), these to local symbols, and among local symbols the
 * first. Tables are read at most once. The names must outlive `ret`.
 */
struct error *elf_file_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
	__attribute__((warn_unused_result));

/* Offer the name of each defined function of .dynsym and .symtab to `nearest`. */
struct error *elf_file_offer_functions(struct elf_file *file, struct nearest *nearest)
	__attribute__((warn_unused_result));

/* Identifies a file and its state, by the fields of stat(2). */
struct elf_identity {
	dev_t device;
	ino_t inode;
	uint64_t size_bytes;
	struct timespec modified, changed;
};

struct elf_identity elf_file_identity(const struct elf_file *file);
bool elf_identity_equals(const struct elf_identity *a, const struct elf_identity *b);

/* The GNU build-id as lower-case hex; NULL: the file has none. Borrowed. */
const char *elf_file_build_id(struct elf_file *file);

/* Copy up to `size` bytes of code at `file_offset`. Returns the number copied: less
 * than `size` at the end of the executable segment, and 0 outside of executable
 * segments. */
size_t elf_file_read(struct elf_file *file, uint64_t file_offset, void *buffer,
		     size_t size);

#endif
