/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A substitute for /proc/PID of a process that has exited. It has the code mappings
 * that the kernel reported (process/watched_code.h), and the root directory for looking
 * up files. The code that reads names uses it like /proc/PID. A file is offered as a
 * mapped file only if its device and inode are the mapping's.
 */
#ifndef PROCESS_STAND_IN_H
#define PROCESS_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "process/maps.h"
#include "util/error.h"

struct stand_in;

/*
 * Create a substitute, for proc_adopt_stand_in(). `maps` is copied: its mappings of
 * files have the numbers that /proc/PID/maps would show (file_names.listed), and
 * `program` is the program's own. `root_fd` is duplicated.
 */
struct error *stand_in_create(const struct proc_maps *maps,
			      const struct proc_mapping *program, int root_fd,
			      struct stand_in **ret) __attribute__((warn_unused_result));
/* For proc_close(). NULL is fine. */
void stand_in_destroy(struct stand_in *stand_in);

/* For proc_root_fd(). */
int stand_in_root_fd(const struct stand_in *stand_in);

/* For proc_read_maps(). */
struct error *stand_in_maps(const struct stand_in *stand_in, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/* Find "maps", "exe" or "map_files/RANGE" of the process's directory. Returns an O_PATH
 * descriptor, owned by the caller, or -1 with errno set. */
int stand_in_find(const struct stand_in *stand_in, const char *name);

/* `path` was resolved below the root directory to the O_PATH descriptor `place`. True
 * if the process had a different file mapped by this path. */
bool stand_in_is_other(const struct stand_in *stand_in, const char *path, int place);

/* Is `fd` the substitute for the list of mappings? */
bool stand_in_is_maps(const struct stand_in *stand_in, int fd);

#endif
