/* SPDX-License-Identifier: Apache-2.0 */
/* --replay: the report of a saved snapshot. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "options/options.h"

/* Load options->replay, and write its report and files as the options say. */
struct error *replay_run(const struct options *options)
	__attribute__((warn_unused_result));

#endif
