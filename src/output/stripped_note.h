/* SPDX-License-Identifier: Apache-2.0 */
/* A line that says which debug files would name the functions of a report. */
#ifndef OUTPUT_STRIPPED_NOTE_H
#define OUTPUT_STRIPPED_NOTE_H

#include <stdio.h>

#include "report/report.h"

/* If the report has frames without names, print which files they are in, with build-ids,
 * and how to name them: `is_stored`: from a stored snapshot. Returns whether a line was
 * printed. */
bool stripped_note_say(const struct report *report, bool is_stored, FILE *out);

#endif
