/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confined child (confined/confined.h) that reads tables of ELF files with libelf:
 * symbols, relocations, USDT notes. We send it open files; it opens none itself. The
 * functions of elf/elf.h query it. If the child dies on a file, that file is refused, and
 * a new child reads the next one. It may lie about files that it reads after a hostile
 * one, so code/start.h checks places again (docs/security.md, "Parsing").
 */
#ifndef ELF_ELF_READER_H
#define ELF_ELF_READER_H

#include <stdint.h>

#include "util/error.h"

struct elf_reader;

/* `warn` (may be NULL) receives lines for the user, without newline. `stopping_ns` (may
 * be NULL): as in confined_options. */
struct error *elf_reader_create(void (*warn)(void *arg, const char *text),
				uint64_t (*stopping_ns)(void *arg), void *arg,
				struct elf_reader **ret)
	__attribute__((warn_unused_result));
/* Its files must be closed before. NULL is fine. */
void elf_reader_destroy(struct elf_reader *reader);

/* For tests: the child's pid, or 0. */
int elf_reader_pid(const struct elf_reader *reader);

#endif
