/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The separate debug file of a program or library, and the supplementary file that dwz
 * moved shared parts of one to (GDB manual, "Debugging Information in Separate Files";
 * DWARF 5, section 7.3.6). The names that lead there are the target's to choose: what is
 * found is taken only when its build-id, or else its checksum, is the one asked for.
 */
#ifndef SYMBOL_DEBUG_SEARCH_H
#define SYMBOL_DEBUG_SEARCH_H

#include <stdbool.h>

#include "symbol/debug_elf.h"
#include "target/debug_file.h"
#include "util/error.h"

struct debug_search {
	int root_fd; /* the target's root directory, O_PATH; -1: only ours is searched.
			Borrowed. */
	const char *const
		*dirs; /* more directories like /usr/lib/debug, of ours, searched
			  before it; ended by NULL; may be NULL. Borrowed. */
	/* Asked for what is not found: the debug file of that build-id, open for
	 * reading, or -1. NULL: nobody is asked. */
	int (*fetch)(void *arg, const struct build_id *id);
	void *fetch_arg;
};

/* A file that was found, and where. */
struct debug_found {
	struct debug_elf *image; /* NULL: none */
	char *directory;         /* of the file, NULL when it has no place */
};

/*
 * Look for the debug file of `file`, which the target names `path`: by build-id below
 * each directory, then by .gnu_debuglink beside the file, in .debug/ there, and below
 * each directory; in the target's root and in ours; then `fetch` is asked. Fails only
 * when memory is out.
 */
struct error *debug_search_find(const struct debug_search *search,
				const struct debug_elf *file, const char *path,
				struct debug_found *ret)
	__attribute__((warn_unused_result));

/*
 * Look for the supplementary file that the debug info in `from` names `name`, with the
 * build-id `id`; `from` is where that debug info itself was found.
 */
struct error *debug_search_find_alt(const struct debug_search *search,
				    const struct debug_found *from, const char *name,
				    const struct build_id *id, struct debug_found *ret)
	__attribute__((warn_unused_result));

void debug_found_deinit(struct debug_found *found);

#endif
