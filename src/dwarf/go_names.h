/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lines of the functions of a Go program without debug info. They come from
 * the table that the Go runtime itself uses (elf/go_table.h), which stripping
 * keeps. */
#ifndef DWARF_GO_NAMES_H
#define DWARF_GO_NAMES_H

#include "dwarf/debug_elf.h"
#include "dwarf/source_frame.h"
#include "util/error.h"

struct go_names;

/* The names in `image`, which must outlive the result. *ret is NULL if it has no such
 * table, or one of more than 256 MiB. */
struct error *go_names_create(const struct debug_elf *image, struct go_names **ret)
	__attribute__((warn_unused_result));
void go_names_destroy(struct go_names *names);

/*
 * Add the function at `address` (in the file's address space), if there is one, to the
 * empty *ret. The name belongs to the function that contains the code. The line belongs
 * to the code itself, which may have been inlined there. Fails only when out of memory.
 */
struct error *go_names_find(const struct go_names *names, uint64_t address,
			    struct source_frames *ret)
	__attribute__((warn_unused_result));

#endif
