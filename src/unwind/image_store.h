/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that processes run code of, with their unwind information: each is read
 * once for all processes, and kept for a while when no process uses it any more. None
 * takes a descriptor: the code is mapped, which keeps the inode number from being given
 * to another file. The vDSO, which is the same in every process, is one of them, read
 * from memory.
 */
#ifndef UNWIND_IMAGE_STORE_H
#define UNWIND_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"
#include "unwind/cfi.h"
#include "util/error.h"

struct image;
struct image_store;

/* Called before the image with this number is closed. */
typedef void image_closed_fn(void *arg, uint32_t number);

/* `closed` may be NULL. */
struct error *image_store_create(image_closed_fn *closed, void *arg,
				 struct image_store **ret)
	__attribute__((warn_unused_result));
/* Whoever holds an image must have released it. */
void image_store_destroy(struct image_store *store);

/*
 * The image that a mapping of process `pid` is of, to be released. Device and inode may
 * be those of an event or of /proc/PID/maps (target/file_names.h). NULL when it cannot be
 * read (it is tried again the next time), is no ELF file, or there is no room: 8,192
 * images and 256 MiB of tables are kept. A
 * process that is gone is no hindrance while its file is found by the mapping's path. A
 * file that is written to while it is mapped keeps what was read of it first.
 */
struct image *image_store_get(struct image_store *store, int pid,
			      const struct proc_mapping *mapping);
struct image *image_ref(struct image *image);
/* It stays in the store until image_store_tidy() or another image needs its place. */
void image_release(struct image *image);

/* Close the images that were unused for longest: 128 unused ones stay. */
void image_store_tidy(struct image_store *store);

/* Are they of the same file, maybe by several of its names? NULL is so with NULL only. */
bool image_is_same(const struct image *a, const struct image *b);

/* Borrowed. */
const struct cfi *image_cfi(const struct image *image);

/* A number of at most 2^20 that no other image of the store ever has; 0 for NULL and when
 * all numbers are used up. */
uint32_t image_number(const struct image *image);

/* How many images are kept, those that no process uses included. */
size_t image_store_count(const struct image_store *store);

#endif
