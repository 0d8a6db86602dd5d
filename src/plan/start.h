/* SPDX-License-Identifier: Apache-2.0 */
/* Does a function begin where a symbol says? docs/probes.md has the rule. */
#ifndef PLAN_START_H
#define PLAN_START_H

#include <stdbool.h>
#include <stdint.h>

#include "target/elf.h"
#include "unwind/cfi.h"
#include "unwind/elf_image.h"
#include "util/error.h"

struct target_file;

/* What one file says about where its functions begin. */
struct starts {
	const struct cfi *cfi; /* borrowed; NULL: the file has no unwind information */
	int fd;                /* of the file, until it is read */
	bool is_read;
	struct elf_image image;
	struct elf_bytes tables[2]; /* .dynsym and .symtab */
};

/* `fd` is taken over: the file, open for reading, or -1. It is read when it has to be. */
void starts_init(struct starts *starts, const struct cfi *cfi, int fd);
void starts_deinit(struct starts *starts);

/*
 * Why no function is known to begin at the symbol: a static string. NULL: one does.
 *
 * A breakpoint inside an instruction destroys the code of every process that maps the
 * file. The symbol may come from a forged debug file, or from a process that parses ELF
 * files and was taken over by one. So only the file itself is believed, and memtrace
 * reads it with its own code: first the unwind information. Where that has nothing at the
 * address, a symbol of the file's own tables must be there, with a size, and outside of
 * all other functions, and the instructions from the function before must lead to it.
 */
const char *start_doubt(struct starts *starts, const struct elf_symbol *symbol);

/* The same of a file that nothing was read of. */
const char *start_doubt_in(const struct target_file *file,
			   const struct elf_symbol *symbol);

/* A function of a file of the target, and its first bytes. */
struct start_function {
	uint64_t offset; /* in the file, bytes; 0: not found, or in doubt */
	uint8_t code[16];
	size_t size; /* of the code, bytes; not more than the symbol's size */
};

/* Find it by its name. Errors: as elf_file_open_target(). */
struct error *start_find_function(const struct target_file *from, const char *name,
				  struct start_function *ret)
	__attribute__((warn_unused_result));

#endif
