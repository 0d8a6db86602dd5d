/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are two files one to the kernel's memory, and so to its uprobes, which are by the inode
 * that is mapped (uprobe_mmap(), kernel/events/uprobes.c)? Overlays of the same layer, as
 * containers of one image have them, map that layer's file, though stat(2) says that each
 * has its own.
 */
#ifndef TARGET_FILE_PAGES_H
#define TARGET_FILE_PAGES_H

#include <stdbool.h>

/*
 * Have the files the same first page in memory? `a` and `b` are open for reading; nothing
 * is read of them by us. Where it cannot be seen, which needs CAP_SYS_ADMIN, they have
 * not (Documentation/admin-guide/mm/pagemap.rst).
 */
bool file_pages_are_same(int a, int b);

#endif
