/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to what is asked of reports. */
#ifndef CLI_REPORT_SETUP_H
#define CLI_REPORT_SETUP_H

#include "cli/options.h"

struct report_setup {
	struct report_options options; /* of the reports themselves, not of the files */
	struct report_filter *filter;  /* behind options.filter */
};

/* Read the files of --suppressions and --hide-frames. `is_terminal`: reports go to one.
 * ERROR_USAGE names a file that is wrong. `ret` is to be deinited, also after an error.
 */
struct error *report_setup_init(const struct options *options, bool is_terminal,
				struct report_setup *ret)
	__attribute__((warn_unused_result));
void report_setup_deinit(struct report_setup *setup);

#endif
