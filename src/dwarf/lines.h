/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions for addresses of one process, by libdw without
 * libdwfl (docs/mechanisms.md, "Source lines"). Unusable files are not errors for the
 * caller: a file without debug info, or with damaged or too much debug info, gives no
 * frames, and line_finder_next_missing() names it.
 */
#ifndef DWARF_LINES_H
#define DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_elf.h"
#include "dwarf/source_frame.h"
#include "process/proc.h"
#include "util/error.h"

struct line_options {
	const char *const *debug_dirs; /* more directories like /usr/lib/debug, ended by
					  NULL; may be NULL. Borrowed while the finder
					  lives. */
	/* Called for debug files that are not found (dwarf/debug_search.h), or NULL. */
	int (*fetch)(void *arg, const struct build_id *id);
	void *fetch_arg;
	/* Called with the current phase if reading takes longer than a second; or
	 * NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* The process's /proc/PID/maps, read just now; NULL: read it. Borrowed during
	 * line_finder_create(). */
	const struct maps_text *maps;
};

struct line_finder;

/*
 * Create a finder for the running process `proc` (borrowed). It opens the files that
 * the process has mapped as code, at most 1,024, so that their lines are found even
 * after the process has exited or a file was deleted. If there are more, files of the
 * lowest and highest mappings are opened (util/ends_first.h). Debug info is read at the
 * first lookup in a file.
 */
struct error *line_finder_create(const struct proc *proc,
				 const struct line_options *options,
				 struct line_finder **ret)
	__attribute__((warn_unused_result));
void line_finder_destroy(struct line_finder *finder);

/* The mappings may have changed: open new files. The last 256 to 512 unmapped mappings
 * are kept, since they may still be on stacks. */
void line_finder_mappings_changed(struct line_finder *finder);

/*
 * The frames of the code at `address`, the address of the last byte of a call (the
 * return address minus 1). Empty if nothing is known. A frame without file and line
 * comes from a symbol table that only this module reads (.gnu_debugdata). Fails only
 * when out of memory.
 */
struct error *line_finder_find(struct line_finder *finder, uint64_t address,
			       struct source_frames *ret)
	__attribute__((warn_unused_result));

/* How many code mappings have no lines, because the limit of 1,024 files was reached. */
uint64_t line_finder_left_out(const struct line_finder *finder);

/* A file that was looked up and has no lines, or no inlined functions. Borrowed until the
 * mappings change. */
struct line_missing {
	const char *path; /* raw bytes of the target */
	const char *why;  /* "no debug info", ...: static; NULL: it has lines, but no
			     inlined functions, since .dwo files were not found */
};

/* The next file without lines or inlined functions, in the order of lookups, each once;
 * false: no more. */
bool line_finder_next_missing(struct line_finder *finder, struct line_missing *ret);

#endif
