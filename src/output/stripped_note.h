/* SPDX-License-Identifier: Apache-2.0 */
/* A line that says which debug files would name the functions of a report. */
#ifndef OUTPUT_STRIPPED_NOTE_H
#define OUTPUT_STRIPPED_NOTE_H

#include "report/report.h"

struct stripped_note {
	bool is_stored; /* the report is of a stored snapshot */
	/* Does the process see this machine's files at their paths? Only then packages
	 * are looked up. NULL: no process does. */
	bool (*is_of_here)(void *arg, int pid);
	void *arg;
	const char *root; /* of the packages; NULL: "/" */
};

/* If the report has frames without names, print which files they are in and the packages
 * they are from, and how to name them. JSON has the build-ids of the files. Returns
 * whether a line was printed. */
bool stripped_note_say(const struct stripped_note *note, const struct report *report);

#endif
