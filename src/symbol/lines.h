/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions for addresses of one process.
 *
 * libdw is used, and not libdwfl above it: libdwfl maps every file (one that the target
 * cuts short meanwhile would end memtrace by SIGBUS), opens paths by name in our mount
 * namespace, takes gzip bombs for ELF files, and by its standard callbacks asks
 * debuginfod on its own. Here every file comes from util/regular_file.h, and servers are
 * asked only when that is wanted.
 *
 * Nothing of this is an error for the caller: a file without debug info, or with damaged
 * or immoderate debug info, gives no frames, and line_finder_next_missing() says which.
 */
#ifndef SYMBOL_LINES_H
#define SYMBOL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/debug_elf.h"
#include "symbol/source_frame.h"
#include "target/proc.h"
#include "util/error.h"

struct line_options {
	const char *const *debug_dirs; /* more directories like /usr/lib/debug, ended by
					  NULL; may be NULL. Borrowed while the finder
					  lives. */
	/* Asked for debug files that are not found (symbol/debug_search.h), or NULL. */
	int (*fetch)(void *arg, const struct build_id *id);
	void *fetch_arg;
	/* Called with what is being read when that takes longer than a second; or NULL.
	 */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
};

struct line_finder;

/*
 * For the process `proc` (borrowed), which must live: the files that it has mapped as
 * code are opened, at most 1,024 of them, so that their lines are found after the
 * process's exit, and when a file was deleted. Of more files those of the lowest and the
 * highest mappings are opened (util/ends_first.h). Debug info is read when an address in
 * a file is first asked for.
 */
struct error *line_finder_create(const struct proc *proc,
				 const struct line_options *options,
				 struct line_finder **ret)
	__attribute__((warn_unused_result));
void line_finder_destroy(struct line_finder *finder);

/* The mappings may have changed: open the files that are new. What is gone is kept for a
 * while, as it may be on stacks: 256 to 512 mappings. */
void line_finder_mappings_changed(struct line_finder *finder);

/*
 * The frames of the code at `address`, which is that of the last byte of a call (so one
 * before the return address). Empty where nothing is known. A frame without file and line
 * comes from a symbol table that nothing else reads (.gnu_debugdata). Fails only when
 * memory is out.
 */
struct error *line_finder_find(struct line_finder *finder, uint64_t address,
			       struct source_frames *ret)
	__attribute__((warn_unused_result));

/* How many mappings of code have no lines, as their files are beyond the 1,024. */
uint64_t line_finder_left_out(const struct line_finder *finder);

/* A file that was asked for lines and has none. Borrowed until the mappings change. */
struct line_missing {
	const char *path; /* raw bytes of the target */
	const char *why;  /* "no debug info", ...: static; NULL: there are lines, but no
			     inlined functions, since .dwo files were not found */
};

/* The next file without lines or inlined functions, in the order they were asked for,
 * each once; false when there is no other. */
bool line_finder_next_missing(struct line_finder *finder, struct line_missing *ret);

#endif
