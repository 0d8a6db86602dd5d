/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that only read snapshot files: no target, no tracing, no root. */
#ifndef CLI_OFFLINE_H
#define CLI_OFFLINE_H

#include "cli/options.h"
#include "cli/output.h"

/* With what reports are asked for and where they go, both borrowed. */
typedef struct error *offline_fn(const struct options *options,
				 const struct report_options *report_options,
				 struct output *output);

/* Give up what root may, but for writing files: once the snapshots are open, and before
 * they are read. Where that is not permitted it goes without. */
struct error *offline_shed(const struct options *options)
	__attribute__((warn_unused_result));

/* Read the files of filters, open the output, and run `fn`, which calls offline_shed().
 */
struct error *offline_run(const struct options *options, offline_fn *fn)
	__attribute__((warn_unused_result));

#endif
