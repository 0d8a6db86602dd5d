/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confined child (confined/confined.h) that reads tables of ELF files with libelf:
 * symbols, relocations, USDT notes. It gets open files, one by one, and opens none.
 * Who holds a file of the target asks it by the functions of target/elf.h; where it ends
 * over a file, that file is refused, and another child reads the next one.
 *
 * A child that was taken over by a file can tell lies about all files that it reads from
 * then on. Where probes go is checked again by the bytes of the file (plan/start.h).
 */
#ifndef TARGET_ELF_READER_H
#define TARGET_ELF_READER_H

#include <stdbool.h>

#include "util/error.h"

struct elf_reader;

/* `warn` (may be NULL) gets lines for the user, without newline. `is_late` (may be NULL)
 * says that the run is to end: a child that waits for a file is ended then. */
struct error *elf_reader_create(void (*warn)(void *arg, const char *text),
				bool (*is_late)(void *arg), void *arg,
				struct elf_reader **ret)
	__attribute__((warn_unused_result));
/* Its files must be closed before. NULL is fine. */
void elf_reader_destroy(struct elf_reader *reader);

/* For the tests: the child's pid, or 0. */
int elf_reader_pid(const struct elf_reader *reader);

#endif
