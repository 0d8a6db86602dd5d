// SPDX-License-Identifier: Apache-2.0
/* What memtrace says on standard error before it traces, and about snapshots. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define DATA  TEST_DATA_DIR "/golden/"
#define OLD   DATA "stored-old.mts"
#define NEW   DATA "stored.mts"
#define SWAPS "was saved after"

/* Standard error of a command line, whose report is dropped. `before`: what runs
 * memtrace. */
static const char *notes_of_run(const char *before, const char *words, int *ret_status)
{
	static char text[4096];
	char command[1024];
	size_t len;
	FILE *out;

	snprintf(command, sizeof(command), "%s %s %s 2>&1 >/dev/null", before, MEMTRACE,
		 words);
	out = popen(command, "r");
	REQUIRE(out);
	len = fread(text, 1, sizeof(text) - 1, out);
	text[len] = '\0';
	*ret_status = WEXITSTATUS(pclose(out));
	return text;
}

static const char *notes_of(const char *words)
{
	int status;
	const char *notes = notes_of_run("", words, &status);

	CHECK_INT(status, 0);
	return notes;
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

/* Without privileges no wait can succeed. */
static void waits_without_privileges(void)
{
	int status;

	CHECK_CONTAINS(notes_of_run("timeout 10 setpriv --bounding-set=-all",
				    "--wait-for no-such-name", &status),
		       "memtrace: tracing needs root");
	CHECK_INT(status, 1);
	CHECK_CONTAINS(notes_of_run("timeout 10 setpriv --bounding-set=-all",
				    "--follow-exec-of no-such-name", &status),
		       "memtrace: tracing needs root");
	CHECK_INT(status, 1);
}

/* As with --replay, which reads the directory at once. */
static void debug_directories_that_do_not_exist(void)
{
	int status;

	CHECK_CONTAINS(notes_of_run("timeout 10 setpriv --bounding-set=-all",
				    "--debug-dir /no/such/directory -p 1", &status),
		       "memtrace: --debug-dir /no/such/directory: No such file");
	CHECK_INT(status, 2);
}

int main(void)
{
	RUN(files_in_the_wrong_order);
	RUN(waits_without_privileges);
	RUN(debug_directories_that_do_not_exist);
	return check_done();
}
