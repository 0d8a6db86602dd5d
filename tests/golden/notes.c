// SPDX-License-Identifier: Apache-2.0
/* What --replay and --diff say on standard error about snapshots. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#define DATA  TEST_DATA_DIR "/golden/"
#define OLD   DATA "stored-old.mts"
#define NEW   DATA "stored.mts"
#define SWAPS "was saved after"

/* Standard error of a command line, whose report is dropped. */
static const char *notes_of(const char *words)
{
	static char text[4096];
	char command[1024];
	size_t len;
	FILE *out;

	snprintf(command, sizeof(command), "%s %s 2>&1 >/dev/null", MEMTRACE, words);
	out = popen(command, "r");
	REQUIRE(out);
	len = fread(text, 1, sizeof(text) - 1, out);
	text[len] = '\0';
	CHECK_INT(pclose(out), 0);
	return text;
}

/* The older file comes first. */
static void files_in_the_wrong_order(void)
{
	CHECK_CONTAINS(notes_of("--diff " NEW " " OLD),
		       "memtrace: --diff: " NEW " was saved after " OLD ": ");
	CHECK(!strstr(notes_of("--diff " OLD " " NEW), SWAPS));
	CHECK(!strstr(notes_of("--diff " NEW " " NEW), SWAPS));
	CHECK_STR(notes_of("-q --diff " NEW " " OLD), "");
}

int main(void)
{
	RUN(files_in_the_wrong_order);
	return check_done();
}
