/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The separate debug file of a stripped file (GDB manual, "Debugging Information in
 * Separate Files"). The target chooses the names that lead to it. So a debug file is
 * accepted only if its build-id matches the stripped file's or, without a build-id, if
 * its checksum matches the one in .gnu_debuglink.
 */
#ifndef PROCESS_DEBUG_FILE_H
#define PROCESS_DEBUG_FILE_H

#include <stdbool.h>

#include "elf/elf.h"
#include "process/proc.h"
#include "util/error.h"

/* Where packages put debug files. */
#define DEBUG_SYSTEM_DIR "/usr/lib/debug"

struct debug_file {
	/* Path relative to the root directory that has it; owned; NULL: not found. */
	char *path;
	bool is_targets; /* found below the root directory of `proc`: the target may have
			    written it */
};

/* True when the file has a .symtab of its own. */
bool debug_file_is_needless(struct elf_file *file);

/*
 * Look for the debug file of `file`, whose path in the target is `module_path`, and let
 * elf_file_find_functions() search it too. docs/allocators.md, "How allocators are
 * found", lists the paths. Below the root directory of `proc` (NULL: skip it) a file is
 * opened only if the target may read it. Without a build-id it must also belong to root,
 * the target or the owner of `file`, and no symbolic link may lead to it.
 */
struct error *debug_file_find(struct elf_file *file, const struct proc *proc,
			      const char *module_path, struct debug_file *ret)
	__attribute__((warn_unused_result));

#endif
