/* SPDX-License-Identifier: Apache-2.0 */
/* --diff: what two snapshot files differ in. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "cli/options.h"

/* Load options->diff_old and options->diff_new, and write their difference as the options
 * want it. */
struct error *diff_run(const struct options *options) __attribute__((warn_unused_result));

#endif
