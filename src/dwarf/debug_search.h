/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The separate debug file of a program or library, and the supplementary file into
 * which dwz has moved shared parts of it (GDB manual, "Debugging Information in
 * Separate Files"; DWARF 5, section 7.3.6). The target chooses the names of these
 * files. A file is therefore only used if its build-id, or else its checksum, is the
 * expected one.
 */
#ifndef DWARF_DEBUG_SEARCH_H
#define DWARF_DEBUG_SEARCH_H

#include <stdbool.h>

#include "dwarf/debug_elf.h"
#include "process/debug_file.h"
#include "util/error.h"

struct debug_search {
	int root_fd; /* the target's root directory, O_PATH; -1: only ours is searched.
			Borrowed. */
	const char *const
		*dirs; /* more directories like /usr/lib/debug in our root, searched
			  before it; ended by NULL; may be NULL. Borrowed. */
	/* Called if no file was found: returns the debug file with that build-id, open
	 * for reading, or -1. May be NULL. */
	int (*fetch)(void *arg, const struct build_id *id);
	void *fetch_arg;
};

/* A file that was found, and its directory. */
struct debug_found {
	struct debug_elf *image; /* NULL: none */
	char *directory;         /* of the file; NULL: it came from `fetch` */
};

/*
 * Find the debug file of `file`, which the target names `path`. The search goes by
 * build-id below each directory; then by .gnu_debuglink beside the file, in .debug/
 * there, and below each directory; each in the target's root and in ours; then `fetch`
 * is called. Fails only when out of memory.
 */
struct error *debug_search_find(const struct debug_search *search,
				const struct debug_elf *file, const char *path,
				struct debug_found *ret)
	__attribute__((warn_unused_result));

/*
 * Find the supplementary file with the build-id `id` that the debug info in `from`
 * names `name`; `from` says where that debug info was found.
 */
struct error *debug_search_find_alt(const struct debug_search *search,
				    const struct debug_found *from, const char *name,
				    const struct build_id *id, struct debug_found *ret)
	__attribute__((warn_unused_result));

void debug_found_deinit(struct debug_found *found);

#endif
