/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that a process has mapped, with the unwind information of each image: files,
 * opened once and kept open, and the vDSO, read from the process's memory.
 */
#ifndef UNWIND_IMAGES_H
#define UNWIND_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"
#include "unwind/walk.h"
#include "util/error.h"

struct images;

/* Open the images of a process, which must outlive the result. Each holds a file open,
 * and they take at most half of RLIMIT_NOFILE: for processes with many libraries, raise
 * it. What cannot be read of a single image is no error: its code is code without unwind
 * information, and counted. ERROR_GONE when the process has exited, ERROR_PERMISSION,
 * ERROR_NO_MEMORY. */
struct error *images_create(const struct proc *proc, struct images **ret)
	__attribute__((warn_unused_result));
void images_destroy(struct images *images);

/*
 * Read the mappings again: images that came are opened, those that went are closed, the
 * others kept; those that could not be read are tried again. On an error all stays as
 * it was. A file that is written to while it is
 * mapped keeps what was read of it first.
 */
struct error *images_refresh(struct images *images) __attribute__((warn_unused_result));

/* A number that each change of the mapped code increases: what was learned of addresses
 * under another generation need not hold any more. */
uint64_t images_generation(const struct images *images);

/* How many images could not be read, though they are mapped. */
size_t images_unread(const struct images *images);

/* A walk_find_fn; `images` is a struct images. What it gives is borrowed until the next
 * refresh. */
bool images_find(void *images, uint64_t pc, struct walk_code *ret);

#endif
