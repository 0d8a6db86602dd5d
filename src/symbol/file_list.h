/* SPDX-License-Identifier: Apache-2.0 */
/* The regular files below directories that the user names. */
#ifndef SYMBOL_FILE_LIST_H
#define SYMBOL_FILE_LIST_H

#include <stdbool.h>

#include "util/error.h"
#include "util/vec.h"

/* Files and directories beyond this number are not listed. */
#define FILE_LIST_MAX 20000

struct listed_file {
	size_t dir; /* index into file_list.dirs */
	char *path; /* below that directory, owned */
};

struct file_list {
	VEC(int) dirs; /* the directories, open for reading; owned */
	VEC(struct listed_file) files;
	size_t seen;   /* entries of directories that were read */
	bool is_whole; /* false: there are more than FILE_LIST_MAX */
};

/* List what is below each of `paths`, which end with NULL. Symbolic links are not
 * followed, and directories more than 8 levels below are left out. ERROR_USAGE: one of
 * them cannot be read. The caller calls file_list_deinit(), also after an error. */
struct error *file_list_init(struct file_list *ret, const char *const *paths)
	__attribute__((warn_unused_result));
void file_list_deinit(struct file_list *list);

#endif
