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

/* Where packages put debug files. */
#define DEBUG_SYSTEM_DIR "/usr/lib/debug"

struct debug_file {
	/* As seen from the root directory that it was found below; owned; NULL: there is
	 * none. */
	char *path;
	bool is_targets; /* below `root_fd`: the target may have made it */
};

/* True when the file has a .symtab of its own. */
bool debug_file_is_needless(struct elf_file *file);

/*
 * Look for the debug file of `file`, which the target names `module_path`, and let
 * elf_file_find_functions() search it too. Looked at are, first below our own root
 * directory:
 *
 * - /usr/lib/debug/.build-id/XX/YYYY.debug;
 * - the name of .gnu_debuglink in the file's directory below /usr/lib/debug;
 *
 * then, below the directory `root_fd` (the target's root directory; -1: do not), the same
 * two, and the name of .gnu_debuglink in the file's directory and in .debug/ there. Files
 * that do not serve are passed over.
 */
struct error *debug_file_find(struct elf_file *file, int root_fd, const char *module_path,
			      struct debug_file *ret) __attribute__((warn_unused_result));

#endif
