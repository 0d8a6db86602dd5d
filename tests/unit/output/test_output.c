// SPDX-License-Identifier: Apache-2.0
/* Reports into a file: only complete ones, and an old file stays until the first one is
 * complete. */
#include "unit/files/temp_dir.h"

#include <signal.h>
#include <sys/resource.h>

#include "output/output.h"

#define FILE_LIMIT 1000

static void limit_files(rlim_t bytes)
{
	const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void reports_follow_each_other(void)
{
	struct temp_dir dir = temp_dir_create();
	struct output output;
	struct stat st;
	char path[128], buf[64];

	snprintf(path, sizeof(path), "%s/out", dir.path);
	REQUIRE(!output_open(path, false, NULL, &output));
	fputs("one\n", output.file);
	CHECK_INT(temp_dir_count(&dir, false), 0);
	REQUIRE(!output_flush(&output));
	CHECK_STR(temp_dir_read(&dir, "out", buf, sizeof(buf)), "one\n");
	fputs("two\n", output.file);
	REQUIRE(!output_flush(&output));
	CHECK_STR(temp_dir_read(&dir, "out", buf, sizeof(buf)), "one\ntwo\n");
	/* An unfinished report. */
	fputs("thr", output.file);
	output_close(&output);
	CHECK_STR(temp_dir_read(&dir, "out", buf, sizeof(buf)), "one\ntwo\n");
	REQUIRE(!stat(path, &st));
	CHECK_INT(st.st_mode & 07777, 0600);
	temp_dir_destroy(&dir);
}

/* A full disk. `before` reports have been written earlier. */
static void check_failure(int before, const char *old, const char *left)
{
	struct temp_dir dir = temp_dir_create();
	struct output output;
	char path[128], want[256], buf[64];

	snprintf(path, sizeof(path), "%s/out", dir.path);
	snprintf(want, sizeof(want), "cannot write --output %s: File too large", path);
	if (old)
		temp_dir_write(&dir, "out", old);
	REQUIRE(!output_open(path, old, NULL, &output));
	for (int i = 0; i < before; i++) {
		fputs("whole\n", output.file);
		REQUIRE(!output_flush(&output));
	}
	for (int i = 0; i < 2 * FILE_LIMIT; i++)
		fputc('x', output.file);
	limit_files(FILE_LIMIT);

	_cleanup_(error_destroyp) struct error *err = output_flush(&output);

	limit_files(RLIM_INFINITY);
	CHECK_STR(err ? err->message : NULL, want);
	output_close(&output);
	CHECK_STR(temp_dir_read(&dir, "out", buf, sizeof(buf)), left);
	CHECK_INT(temp_dir_count(&dir, false), old || before ? 1 : 0);
	temp_dir_destroy(&dir);
}

static void what_fails_leaves_nothing(void)
{
	signal(SIGXFSZ, SIG_IGN);
	check_failure(0, NULL, "");
	check_failure(0, "theirs", "theirs");
	check_failure(1, NULL, "whole\n");
	check_failure(2, "theirs", "whole\nwhole\n");
}

int main(void)
{
	RUN(reports_follow_each_other);
	RUN(what_fails_leaves_nothing);
	return check_done();
}
