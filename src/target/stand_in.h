/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A substitute for /proc/PID of a process that has exited: its mappings of code, as the
 * kernel told of them (target/told_code.h), and the root directory below which its files
 * are looked up. The code that reads names uses it as it would use /proc/PID. A file is
 * given out as a mapped one only if its device and inode are those of the mapping.
 */
#ifndef TARGET_STAND_IN_H
#define TARGET_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "target/proc.h"
#include "util/error.h"

struct stand_in;

/*
 * A process that has exited, by its number and name. `maps` is copied: mappings of files
 * with the numbers that /proc/PID/maps would have (file_names.listed), the program's own
 * first. `root_fd` is copied. proc_has_exited() is never true of it. Beside what names
 * and lines are read from nothing can be asked about it.
 */
struct error *stand_in_create(int pid, const char *command, const struct proc_maps *maps,
			      const struct proc_mapping *program, int root_fd,
			      struct proc **ret) __attribute__((warn_unused_result));
/* For proc_close(). NULL is fine. */
void stand_in_destroy(struct stand_in *stand_in);

/* For proc_root_fd(). */
int stand_in_root_fd(const struct stand_in *stand_in);

/* For proc_read_maps(). */
struct error *stand_in_maps(const struct stand_in *stand_in, struct proc_maps *ret)
	__attribute__((warn_unused_result));

/* Find "maps", "exe" or "map_files/RANGE" of the process's directory: an O_PATH
 * descriptor, which is the caller's, or -1 with errno set. */
int stand_in_find(const struct stand_in *stand_in, const char *name);

/* Is a place below the root directory, that `path` has led to, not the file that the
 * process had mapped by this path? */
bool stand_in_is_other(const struct stand_in *stand_in, const char *path, int place);

/* Is this what stands for its list of mappings? */
bool stand_in_is_maps(const struct stand_in *stand_in, int fd);

#endif
