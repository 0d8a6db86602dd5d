/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file of the target. The file is hostile input: every offset, count and string is
 * bounds-checked before use, and its tables are read in a process without privileges
 * where the target's files have such a reader (target/elf_reader.h).
 */
#ifndef TARGET_ELF_H
#define TARGET_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "util/error.h"
#include "util/nearest.h"

struct elf_file;
struct target_file;

/* A function symbol: STT_FUNC or STT_GNU_IFUNC, defined. */
struct elf_symbol {
	const char *name;     /* the names[i] that was asked for; NULL: not found */
	uint64_t address;     /* st_value, in the file's address space */
	uint64_t size_bytes;  /* st_size, may be 0 */
	uint64_t file_offset; /* of its first byte, by the executable PT_LOAD around it */
	unsigned char type;   /* STT_GNU_IFUNC: the code there picks the function (gABI
				 extension); it is not the function */
	bool is_local;        /* STB_LOCAL: of one object, or hidden by the linker */
	bool is_from_debug;   /* found in the debug file alone */
	bool is_ambiguous;    /* local, and another of this name is elsewhere */
	bool is_imported;     /* the file has it undefined, and wants it: also when it is
				 not found */
};

/* Open a file of the target (target/target_file.h): ERROR_NOT_FOUND or ERROR_PERMISSION
 * with the open(2) errno, ERROR_MALFORMED, ERROR_UNSUPPORTED (another class, machine or
 * kind of file). */
struct error *elf_file_open_target(const struct target_file *from, struct elf_file **ret)
	__attribute__((warn_unused_result));

/* The same of a regular file that is open for reading: the descriptor is taken over, also
 * after an error. `name` is what errors call it. */
struct error *elf_file_open_fd(int fd, const char *name, struct elf_file **ret)
	__attribute__((warn_unused_result));

/* The same of a path that the target has no part in. */
struct error *elf_file_open(const char *path, struct elf_file **ret)
	__attribute__((warn_unused_result));
void elf_file_close(struct elf_file *file);

/*
 * Find defined functions by name: for each names[i] (count of them), fills ret[i] with
 * the symbol of .dynsym, else of .symtab, else of the debug file's .symtab; a name
 * without a symbol leaves ret[i].name NULL. Default symbol versions win over hidden ones
 * (bit 15 of .gnu.version, "name@V" in .symtab), and both over local symbols, of which
 * the first one counts. One pass over each table; a table is read only when names remain.
 * The names must outlive `ret`.
 */
struct error *elf_file_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
	__attribute__((warn_unused_result));

/* Open a file of the target and find one function in it: `symbol` is as
 * elf_file_find_functions() leaves it. On failure no file stays open. */
struct error *elf_file_open_function(const struct target_file *from, const char *name,
				     struct elf_file **ret, struct elf_symbol *symbol)
	__attribute__((warn_unused_result));

/* Offer the name of each defined function of .dynsym and .symtab to `nearest`. */
struct error *elf_file_offer_functions(struct elf_file *file, struct nearest *nearest)
	__attribute__((warn_unused_result));

/* Which file it is, and which state of it: what stat(2) tells. */
struct elf_identity {
	dev_t device;
	ino_t inode;
	uint64_t size_bytes;
	struct timespec modified, changed;
};

struct elf_identity elf_file_identity(const struct elf_file *file);
bool elf_identity_equals(const struct elf_identity *a, const struct elf_identity *b);

/* The GNU build-id as lower-case hex, or NULL when there is none. Borrowed. */
const char *elf_file_build_id(struct elf_file *file);

/* Copy up to `size` bytes of code at `file_offset`; the number copied, which is less at
 * the end of the executable segment and 0 outside of one. */
size_t elf_file_read(struct elf_file *file, uint64_t file_offset, void *buffer,
		     size_t size);

#endif
