/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The separate debug file of a stripped file (GDB manual, "Debugging Information in
 * Separate Files"). The names that lead to it are the target's to choose: what is found
 * is taken only when its build-id, or else its checksum, is the one that was asked for.
 */
#ifndef TARGET_DEBUG_FILE_H
#define TARGET_DEBUG_FILE_H

#include <stdbool.h>

#include "target/elf.h"
#include "util/error.h"

/* True when the file has a .symtab of its own. */
bool debug_file_is_needless(struct elf_file *file);

/*
 * Look for the debug file of `file`, which the target names `module_path`, and let
 * elf_file_find_functions() search it too. Looked at are, below the root directory of
 * process `pid` (when not 0) and below ours: /usr/lib/debug/.build-id/XX/YYYY.debug, and
 * the name of .gnu_debuglink in the file's directory, in .debug/ there, and in the same
 * directory below /usr/lib/debug. *ret_path (owned) is NULL when there is none; files
 * that do not serve are passed over.
 */
struct error *debug_file_find(struct elf_file *file, int pid, const char *module_path,
			      char **ret_path) __attribute__((warn_unused_result));

#endif
