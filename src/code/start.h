/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a function begins at a symbol's address. docs/probes.md has the rule. */
#ifndef CODE_START_H
#define CODE_START_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf.h"
#include "unwind/cfi.h"
#include "unwind/elf_image.h"
#include "util/error.h"

struct target_file;

/* Data of one file about the starts of its functions. */
struct starts {
	const struct cfi *cfi; /* borrowed; NULL: the file has no unwind information */
	int fd;                /* descriptor of the file, until it is read */
	bool is_read;
	bool is_unread; /* the tables could not be read */
	struct elf_image image;
	struct elf_bytes tables[2]; /* .dynsym and .symtab */
};

/* Initialize `starts`. Takes ownership of `fd`, the file open for reading, or -1. The
 * file is read when needed. */
void starts_init(struct starts *starts, const struct cfi *cfi, int fd);
void starts_deinit(struct starts *starts);

/*
 * Why the symbol's address is not known to be a function's start: a static string. NULL:
 * it is one. A breakpoint inside an instruction destroys code, and the symbol may be
 * forged, so only the file itself is trusted: docs/probes.md, "Where a function begins".
 */
const char *start_doubt(struct starts *starts, const struct elf_symbol *symbol);

/*
 * Read the file's unwind information. NULL: it has none, or none that is understood.
 * ERROR_IO, ERROR_NO_MEMORY: it cannot be read. Nothing is known then: without unwind
 * information other rules decide where functions begin.
 */
struct error *start_open_cfi(const struct target_file *file, struct cfi **ret)
	__attribute__((warn_unused_result));

/* Like start_doubt(), for a file that has not been read yet. Errors as for
 * start_open_cfi(). */
struct error *start_doubt_in(const struct target_file *file,
			     const struct elf_symbol *symbol, const char **ret)
	__attribute__((warn_unused_result));

/* Does the function that begins at `start` reach to `address`? By the file's unwind
 * information; true where it has nothing there. Errors as for start_open_cfi(). */
struct error *start_reaches(const struct target_file *file, uint64_t start,
			    uint64_t address, bool *ret)
	__attribute__((warn_unused_result));

/* A function of a file of the target, with its first bytes. */
struct start_function {
	uint64_t offset; /* file offset, bytes; 0: not found, or in doubt */
	uint8_t code[16];
	size_t size; /* size of `code`, bytes; at most the symbol's size */
};

/* Find a function by its name. Errors as for target_elf_open(). */
struct error *start_find_function(const struct target_file *from, const char *name,
				  struct start_function *ret)
	__attribute__((warn_unused_result));

#endif
