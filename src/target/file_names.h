/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers by which the kernel names a file that is mapped. It has two ways to tell
 * of a mapping, and stat(2) is a third; on most file systems all say the same. But
 *
 * - on overlayfs, what is mapped is the file of a layer. perf's events name that one
 *   (perf_event_mmap_event(), kernel/events/core.c), from 6.18 on, and in stable kernels
 *   since, the overlay's; /proc/PID/maps (show_map_vma(), fs/proc/task_mmu.c) names the
 *   layer's before 6.8 and the overlay's since. stat(2) always says the overlay's inode,
 *   with a device of its own where layers are on several file systems
 *   (ovl_map_dev_ino(), fs/overlayfs/inode.c). Once a file was copied up, inodes differ
 * as well;
 * - on btrfs each subvolume has a device for stat(2).
 *
 * What can be opened can be asked for its names: we map it ourselves, and see how the
 * kernel tells of that. They are its own for as long as it is open.
 */
#ifndef TARGET_FILE_NAMES_H
#define TARGET_FILE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "target/proc.h"

struct file_name {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

struct file_names {
	struct file_name told;   /* in events (target/watch.h) */
	struct file_name listed; /* in /proc/PID/maps */
};

static inline bool file_name_is(const struct file_name *a, const struct file_name *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

/* For qsort(3) and bsearch(3): below 0, 0 when both are the same, or above. */
static inline int file_name_compare(const struct file_name *a, const struct file_name *b)
{
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->dev_major != b->dev_major)
		return a->dev_major < b->dev_major ? -1 : 1;
	return a->dev_minor < b->dev_minor ? -1 : a->dev_minor > b->dev_minor;
}

/* Is it a name of the file? What is told as that of one file is not listed as that of
 * another: both say the same of the file of a layer. */
static inline bool file_names_have(const struct file_names *names,
				   const struct file_name *name)
{
	return file_name_is(&names->told, name) || file_name_is(&names->listed, name);
}

static inline struct file_name file_name_of(const struct proc_mapping *m)
{
	return (struct file_name){m->inode, m->dev_major, m->dev_minor};
}

/*
 * The names of a regular file that is open for reading; false when it is none, or cannot
 * be mapped. Nothing is mapped on file systems where all say the same, nor on btrfs where
 * stat(2) says `wanted` (which may be NULL). `told` may differ from `listed` on those
 * only that map other files, and does not where perf events are refused. The caller holds
 * the table of descriptors, if it is not the main thread (util/fd_table.h).
 */
bool file_names_ask(int fd, const struct file_name *wanted, struct file_names *ret);

/* The same of what an O_PATH descriptor stands for; where it cannot be opened or mapped,
 * what stat(2) says. False for -1. */
bool file_names_of_place(int place, struct file_names *ret);

/* The same of a path; false when there is no such file. */
bool file_names_of_path(const char *path, struct file_names *ret);

#endif
