/* SPDX-License-Identifier: Apache-2.0 */
/* --diff: show how two snapshot files differ. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "options/options.h"

/* Load options->diff_old and options->diff_new, and write the differences in the formats
 * that the options ask for. */
struct error *diff_run(const struct options *options) __attribute__((warn_unused_result));

#endif
