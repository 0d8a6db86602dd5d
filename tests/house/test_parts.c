// SPDX-License-Identifier: Apache-2.0
/* If a part of a test is skipped although all is installed (MEMTRACE_TEST_ALL), the test
 * fails. Every test reports skipped parts by the macros of check.h. */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static void skip_a_part(void)
{
	CHECK_SKIP_PART("%s is not installed", "a program");
}

static void leave_out_a_part(void)
{
	CHECK_LEAVE_OUT_PART("no library of release %d", 1);
}

static void not_for_the_kernel(void)
{
	CHECK_NOT_FOR_KERNEL("no %s", "FUSE");
}

/* The number of failures that the part counts, in a separate process. */
static int failures_of(void (*part)(void), bool has_all)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		if (has_all)
			setenv("MEMTRACE_TEST_ALL", "1", 1);
		else
			unsetenv("MEMTRACE_TEST_ALL");
		check_state = (struct check_state){0};
		part();
		_exit((int)check_state.failures);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_skipped_part_fails_where_all_is_there(void)
{
	CHECK_INT(failures_of(skip_a_part, false), 0);
	CHECK_INT(failures_of(skip_a_part, true), 1);
	CHECK_INT(failures_of(leave_out_a_part, true), 0);
	CHECK_INT(failures_of(not_for_the_kernel, false), 0);
	CHECK_INT(failures_of(not_for_the_kernel, true), 1);
	setenv("MEMTRACE_TEST_ANY_KERNEL", "1", 1);
	CHECK_INT(failures_of(not_for_the_kernel, true), 0);
	CHECK_INT(failures_of(skip_a_part, true), 1);
}

/* --- who says it ------------------------------------------------------------------- */

static bool says_it_itself(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	bool found = false;

	REQUIRE(f);
	while (fgets(line, sizeof(line), f)) {
		const char *text = strstr(line, "printf(\"");

		/* A test must not print these words itself. */
		found |= text && (strstr(text, "SKIP") || strstr(text, "not installed"));
	}
	fclose(f);
	return found;
}

static void look_into(const char *folder, unsigned depth)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	REQUIRE(dir);
	while ((e = readdir(dir))) {
		char path[1024];
		const char *dot = strrchr(e->d_name, '.');

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.' && depth)
			look_into(path, depth - 1);
		if (e->d_type != DT_REG || !dot || strcmp(dot, ".c") != 0 ||
		    !strcmp(e->d_name, "test_parts.c"))
			continue;
		check_state.checks++;
		if (says_it_itself(path))
			CHECK_FAIL("%s skips a part by itself: use CHECK_SKIP_PART()",
				   path);
	}
	closedir(dir);
}

static void tests_use_the_macros(void)
{
	static const char *const folders[] = {"unit",   "live",  "programs", "readers",
					      "golden", "house", "probes",   "browser"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char folder[512];

		snprintf(folder, sizeof(folder), SOURCE_DIR "/tests/%s", folders[i]);
		look_into(folder, 1);
	}
}

int main(void)
{
	RUN(a_skipped_part_fails_where_all_is_there);
	RUN(tests_use_the_macros);
	return check_done();
}
