/* SPDX-License-Identifier: Apache-2.0 */
/* A report in text and JSON, held against the files that are kept here. */
#ifndef TESTS_GOLDEN_COMPARE_H
#define TESTS_GOLDEN_COMPARE_H

#include "report/report.h"

/* Both must equal DIR/NAME.txt and DIR/NAME.json byte for byte, and be what other
 * programs read. With `write_dir`, not NULL, they are written there instead. */
void check_report(const char *write_dir, const char *name, const struct report *report);

#endif
