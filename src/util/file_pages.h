/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find out if two files share their memory pages. uprobes go by the inode that is
 * mapped (uprobe_mmap(), kernel/events/uprobes.c). Overlays of one layer, as in
 * containers of one image, map that layer's file, although stat(2) gives each its own
 * inode.
 */
#ifndef UTIL_FILE_PAGES_H
#define UTIL_FILE_PAGES_H

#include <stdbool.h>

/*
 * Do the files have the same first page in memory? `a` and `b` are open for reading;
 * their contents are not read. Needs CAP_SYS_ADMIN
 * (Documentation/admin-guide/mm/pagemap.rst); returns false without it.
 */
bool file_pages_are_same(int a, int b);

#endif
