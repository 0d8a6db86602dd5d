/* SPDX-License-Identifier: Apache-2.0 */
/* Names and source lines for traced processes, according to the options. */
#ifndef PROGRESS_READING_H
#define PROGRESS_READING_H

#include "options/options.h"
#include "progress/progress.h"
#include "symbol/reader.h"
#include "util/error.h"

struct reading {
	struct reader *reader;
	char **dirs; /* the directories of --debug-dir, ended by NULL */
	struct progress *progress;
};

/* Print a warning of elf_reader_create() or reader_create() to the user. */
void reading_warn(void *progress, const char *text);

/* The directories of --debug-dir, split at ':' and absolute; ended by NULL. The caller
 * calls reading_free_dirs(), also after an error. */
struct error *reading_split_dirs(const struct option_list *list, char ***ret)
	__attribute__((warn_unused_result));
void reading_free_dirs(char **dirs);

/* An error if a directory of --debug-dir cannot be opened. */
struct error *reading_check_dirs(const struct option_list *list)
	__attribute__((warn_unused_result));

/* Start the child process that reads symbols. `progress` must outlive `reading`, and
 * `fetch_cache` (session/fetch_cache.h), too. */
struct error *reading_init(struct reading *reading, const struct options *options,
			   int fetch_cache, struct progress *progress)
	__attribute__((warn_unused_result));
/* The symbolizers must have been destroyed. */
void reading_deinit(struct reading *reading);

/* A report begins. */
void reading_begin_report(const struct reading *reading);
/* reader_begin_observation(). */
void reading_begin_observation(const struct reading *reading);

/* A report has its names: print on stderr how many debug files could not be fetched for
 * it. */
void reading_say_lost(const struct reading *reading);

/* Print on stderr which files of a process lack source lines, and where the lines may be
 * found; each file once. `symbolizer` was created by the reader; NULL does nothing. */
void reading_say_missing(struct symbolizer *symbolizer);

#endif
