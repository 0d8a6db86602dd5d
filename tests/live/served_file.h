/* SPDX-License-Identifier: Apache-2.0 */
/* A file on a FUSE file system whose server is a thread of this process. It answers all
 * requests, and from some moment on no reads of one process. */
#ifndef LIVE_SERVED_FILE_H
#define LIVE_SERVED_FILE_H

#include <stdbool.h>

struct served_file;

/* Serve a copy of the file `from` as `name` in a new directory. NULL: this kernel has no
 * FUSE. */
struct served_file *served_file_create(const char *from, const char *name);

/* Its path. Borrowed. */
const char *served_file_path(const struct served_file *file);

/* From now on answer no reads by threads of this process, and drop what the kernel has
 * cached, so that it must read again. */
void served_file_hold(struct served_file *file, int pid);

/* How many reads have got no answer. */
unsigned served_file_held(const struct served_file *file);

/* From now on answer no reads. The first process that opens the file may use the kernel's
 * cache; for others mmap(2) of the file waits until a read of the first has ended, and
 * holds its lock of the address space meanwhile (invalidate_inode_pages2() in
 * fuse_file_mmap() of fs/fuse/file.c). */
void served_file_stick(struct served_file *file);

/* Answer again: the one read that was waiting fails. */
void served_file_unstick(struct served_file *file);

/* Unmount: reads without an answer fail. */
void served_file_destroy(struct served_file *file);

#endif
