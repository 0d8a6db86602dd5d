/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files of the target. */
#ifndef PROCESS_TARGET_ELF_H
#define PROCESS_TARGET_ELF_H

#include "elf/elf.h"
#include "process/target_file.h"

/* Open a file of the target. ERROR_NOT_FOUND or ERROR_PERMISSION with the errno of
 * open(2); ERROR_MALFORMED; ERROR_UNSUPPORTED: unsupported class, machine or type of
 * file. */
struct error *target_elf_open(const struct target_file *from, struct elf_file **ret)
	__attribute__((warn_unused_result));

/* Open a file of the target and find one function in it: `symbol` is as
 * elf_file_find_functions() leaves it. On failure no file stays open. */
struct error *target_elf_open_function(const struct target_file *from, const char *name,
				       struct elf_file **ret, struct elf_symbol *symbol)
	__attribute__((warn_unused_result));

#endif
