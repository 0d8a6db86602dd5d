/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a report as text and JSON with the golden files. */
#ifndef TESTS_GOLDEN_COMPARE_H
#define TESTS_GOLDEN_COMPARE_H

#include "report/report.h"

/* The report must equal DIR/NAME.txt and DIR/NAME.json byte for byte and have the form
 * that other programs parse. If `write_dir` is not NULL, the files are written there
 * instead of compared. */
void check_report(const char *write_dir, const char *name, const struct report *report);

#endif
