/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lines of a Go program's functions, where it has no debug info: from the table
 * that the Go runtime itself uses (target/go_table.h), which stays when it is stripped.
 */
#ifndef SYMBOL_GO_NAMES_H
#define SYMBOL_GO_NAMES_H

#include "symbol/debug_elf.h"
#include "symbol/source_frame.h"
#include "util/error.h"

struct go_names;

/* The names in `image`, which must outlive the result. *ret is NULL when it has no such
 * table, or one of more than 256 MiB. */
struct error *go_names_create(const struct debug_elf *image, struct go_names **ret)
	__attribute__((warn_unused_result));
void go_names_destroy(struct go_names *names);

/*
 * Add the function at `address` (in the file's address space) to *ret, which is empty, if
 * there is one. The name is that of the function that holds the code; the line is that of
 * the code, which may have been inlined there. Fails only when memory is out.
 */
struct error *go_names_find(const struct go_names *names, uint64_t address,
			    struct source_frames *ret)
	__attribute__((warn_unused_result));

#endif
