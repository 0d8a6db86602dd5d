/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the unwind table for Go functions. They have none in .eh_frame, but Go's own
 * table (elf/go_table.h) has the depth of the stack at each pc.
 */
#ifndef UNWIND_GO_ROWS_H
#define UNWIND_GO_ROWS_H

#include "elf/go_table.h"
#include "unwind/cfi_row.h"
#include "unwind/elf_image.h"
#include "util/error.h"

struct go_rows {
	struct go_table table; /* without functions: no table */
	struct elf_bytes bytes;
};

/* Load the table of an image. An image without a table is not an error. */
struct error *go_rows_load(struct go_rows *rows, const struct elf_image *image)
	__attribute__((warn_unused_result));
void go_rows_deinit(struct go_rows *rows);

/*
 * Call `each` for the rows of the function that begin before `end`, ascending; the last
 * one is cut at `end`. `image` is read for the function's code. *ret_steps is the
 * number of values read. For functions that change the stack pointer in ways that the
 * table does not describe, only the rows of calls known to stack_switch.h are given.
 */
void go_rows_each(const struct go_rows *rows, const struct elf_image *image,
		  const struct go_function *function, uint64_t end, cfi_row_fn *each,
		  void *arg, unsigned *ret_steps);

#endif
