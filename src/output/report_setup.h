/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the command line into report options. */
#ifndef OUTPUT_REPORT_SETUP_H
#define OUTPUT_REPORT_SETUP_H

#include "options/options.h"

struct report_setup {
	const char *format;            /* name of the renderer; static */
	struct report_options options; /* of the reports, not of the files beside them */
	bool fits_terminal; /* the reports are as high as the terminal at most */
	bool is_terminal;
	struct report_filter *filter; /* owns what options.filter points to */
};

/* Read the files of --suppressions and --hide-frames. `is_terminal`: the reports go to a
 * terminal. ERROR_USAGE names the faulty file. The caller calls report_setup_deinit() on
 * `ret`, also after an error. */
struct error *report_setup_init(const struct options *options, bool is_terminal,
				struct report_setup *ret)
	__attribute__((warn_unused_result));
void report_setup_deinit(struct report_setup *setup);

/* Look up the size of the terminal, which may change, before each report. */
void report_setup_measure(struct report_setup *setup);

#endif
