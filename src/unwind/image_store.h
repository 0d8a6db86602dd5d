/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code files of processes, with their unwind information. Each is read once for all
 * processes, and kept for a while after the last process has released it. None takes a
 * descriptor: its code is mapped instead, which also keeps other files from getting its
 * inode number. The vDSO, which is the same in every process, is an image too, read
 * from memory.
 */
#ifndef UNWIND_IMAGE_STORE_H
#define UNWIND_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"
#include "unwind/cfi.h"
#include "util/error.h"

struct image;
struct image_store;

/* Called before the image with this number is closed. */
typedef void image_closed_fn(void *arg, uint32_t number);

/* Create a store. `closed` may be NULL. */
struct error *image_store_create(image_closed_fn *closed, void *arg,
				 struct image_store **ret)
	__attribute__((warn_unused_result));
/* All images must have been released. */
void image_store_destroy(struct image_store *store);

/*
 * The image of a mapping of process `pid`, by path if that has exited; release it with
 * image_release(). Device and inode may come from an event or from /proc/PID/maps
 * (process/file_names.h). NULL if it cannot be read (the next call tries again), is not
 * an ELF file, or the store is full: 8,192 images, 256 MiB of tables. If a mapped file is
 * written to, the contents that were read first are used.
 */
struct image *image_store_get(struct image_store *store, int pid,
			      const struct proc_mapping *mapping);
struct image *image_ref(struct image *image);
/* Drop a reference. The image stays in the store until image_store_tidy(), or until
 * another image needs its place. */
void image_release(struct image *image);

/* Close the images that were unused for longest: at most 128 unused ones stay. */
void image_store_tidy(struct image_store *store);

/* Are both images of the same file, perhaps under different names? NULL equals only
 * NULL. */
bool image_is_same(const struct image *a, const struct image *b);

/* The unwind information; NULL for NULL. Borrowed. */
const struct cfi *image_cfi(const struct image *image);

/* A number of at most 2^20 that no other image of the store ever has. 0 for NULL, and
 * if all numbers are used up. */
uint32_t image_number(const struct image *image);

/* How many images are kept, including unused ones. */
size_t image_store_count(const struct image_store *store);

#endif
