/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines for one traced process, as the options ask for them. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "cli/options.h"
#include "cli/progress.h"
#include "symbol/cache.h"
#include "symbol/lines.h"
#include "util/error.h"

struct lines {
	struct line_finder *finder; /* NULL with --no-lines */
	char *dirs_text;            /* behind `dirs` */
	const char **dirs;
};

/* Begin for `proc` and let `frames` use it. `progress` and `proc` must outlive it. */
struct error *lines_init(struct lines *lines, const struct options *options,
			 const struct proc *proc, struct progress *progress,
			 struct frame_cache *frames) __attribute__((warn_unused_result));
void lines_deinit(struct lines *lines);

/* Say on stderr which files have no lines, and what would give them; each once. */
void lines_say_missing(struct lines *lines);

#endif
