/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that the process needs that fetches debug files (symbol/fetcher.h): its
 * libraries, the settings for names of hosts, certificates, and what the user's
 * environment names. It may write to its cache only.
 */
#ifndef SYMBOL_FETCH_FILES_H
#define SYMBOL_FETCH_FILES_H

#include "confined/landlock.h"
#include "util/error.h"
#include "util/vec.h"

struct fetch_files {
	struct landlock_files files;
	VEC(const char *) paths; /* ended by NULL; files.readable */
	VEC(char *) owned;       /* paths from the environment */
};

/* `cache` is the cache's directory; borrowed. */
struct error *fetch_files_init(struct fetch_files *files, int cache)
	__attribute__((warn_unused_result));
void fetch_files_deinit(struct fetch_files *files);

#endif
