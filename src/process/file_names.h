/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device and inode numbers with which the kernel names a mapped file: perf events,
 * /proc/PID/maps and stat(2) each report them, and differ on some file systems
 * (docs/mechanisms.md, "Device and inode of a mapped file"). To get the names of a file
 * that we can open, we map it ourselves and see how the kernel reports the mapping.
 */
#ifndef PROCESS_FILE_NAMES_H
#define PROCESS_FILE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/maps.h"

struct file_name {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

struct file_names {
	struct file_name reported; /* in perf events (process/watch.h) */
	struct file_name listed;   /* in /proc/PID/maps */
};

static inline bool file_name_is(const struct file_name *a, const struct file_name *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

/* For qsort(3) and bsearch(3): negative, 0 or positive. */
static inline int file_name_compare(const struct file_name *a, const struct file_name *b)
{
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->dev_major != b->dev_major)
		return a->dev_major < b->dev_major ? -1 : 1;
	return a->dev_minor < b->dev_minor ? -1 : a->dev_minor > b->dev_minor;
}

/* Is `name` one of the file's names? No clash is possible: if perf events and
 * /proc/PID/maps give the same name for two files, both refer to the same file of a
 * layer. */
static inline bool file_names_have(const struct file_names *names,
				   const struct file_name *name)
{
	return file_name_is(&names->reported, name) || file_name_is(&names->listed, name);
}

static inline struct file_name file_name_of(const struct proc_mapping *m)
{
	return (struct file_name){m->inode, m->dev_major, m->dev_minor};
}

/*
 * Get the names of a regular file that is open for reading. False: not a regular file, or
 * it cannot be mapped. `wanted` may be NULL; on btrfs nothing is mapped if stat(2) gives
 * it. `reported` and `listed` differ only on file systems that map files of others; they
 * are equal if perf events are refused. A thread other than the main one must hold the
 * table of descriptors (util/fd_table.h).
 */
bool file_names_ask(int fd, const struct file_name *wanted, struct file_names *ret);

/*
 * Is the regular file of an O_PATH descriptor the one with `name`, and which names has
 * it? It is opened only if stat(2) cannot answer: never where all names agree, on btrfs
 * only if its inode number equals `name`'s, and on overlayfs and FUSE. On those `place`
 * should come from the kernel (/proc/PID/map_files). *ret is valid if true.
 */
bool file_names_check(int place, const struct file_name *name, struct file_names *ret);

/* Do stat(2)'s numbers of an O_PATH descriptor give this name? Opens nothing. */
bool file_names_agree(int place, const struct file_name *name);

/* The names of an O_PATH descriptor by stat(2) alone. Opens nothing. */
bool file_names_by_stat(int place, struct file_names *ret);

/* Like file_names_ask(), for the file of an O_PATH descriptor. If it cannot be opened
 * or mapped, the names are stat(2)'s. False if `place` is -1. */
bool file_names_of_place(int place, struct file_names *ret);

/* Like file_names_of_place(), for a path. False if the file does not exist. */
bool file_names_of_path(const char *path, struct file_names *ret);

#endif
