/* SPDX-License-Identifier: Apache-2.0 */
/* Names and source lines for traced processes, as the options ask for them. */
#ifndef CLI_READING_H
#define CLI_READING_H

#include "cli/options.h"
#include "cli/progress.h"
#include "symbol/reader.h"
#include "util/error.h"

struct reading {
	struct reader *reader;
	char **dirs; /* of --debug-dir, ended by NULL */
	struct progress *progress;
};

/* A line of elf_reader_create() and reader_create() for the user. */
void reading_warn(void *progress, const char *text);

/* Start the process that reads symbols. `progress` must outlive it. */
struct error *reading_init(struct reading *reading, const struct options *options,
			   struct progress *progress) __attribute__((warn_unused_result));
/* Symbolizers must be destroyed before. */
void reading_deinit(struct reading *reading);

/* Say on stderr which files of a process have no lines, and what would give them; each
 * once. `symbolizer` is of the reader; NULL is fine. */
void reading_say_missing(struct symbolizer *symbolizer);

#endif
