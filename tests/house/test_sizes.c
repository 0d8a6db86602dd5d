// SPDX-License-Identifier: Apache-2.0
/* Files, functions and rooms stay small enough to be read. */
#include "check.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>

#define FILE_LINES     600
#define FUNCTION_LINES 60
#define ROOM_LINES     6000
#define MEDIAN_LINES   150
#define FILES_MAX      4096

struct limits {
	unsigned function_lines, room_lines;
	bool every_file; /* not only *.c and *.h */
};

static const struct limits of_sources = {FUNCTION_LINES, ROOM_LINES, false};
/* A test's function may be a list, and a folder may have many tests. */
static const struct limits of_tests = {UINT_MAX, UINT_MAX, false};
static const struct limits of_scripts = {FUNCTION_LINES, ROOM_LINES, true};

static unsigned lines_of_files[FILES_MAX];
static size_t file_count;

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

/* Returns the number of lines. A function is what a line '{' begins and a line '}' ends:
 * .clang-format puts the braces of functions, and of nothing else, there. */
static unsigned check_file(const char *path, unsigned function_lines)
{
	FILE *f = fopen(path, "re");
	unsigned lines = 0, begin = 0;
	char *line = NULL;
	size_t size = 0;

	REQUIRE(f);
	while (getline(&line, &size, f) >= 0) {
		lines++;
		if (!strcmp(line, "{\n"))
			begin = lines;
		if (!strcmp(line, "}\n") && begin && lines - begin - 1 > function_lines)
			CHECK_FAIL("%s:%u: a function of %u lines", path, begin,
				   lines - begin - 1);
		if (line[0] == '}')
			begin = 0;
	}
	free(line);
	fclose(f);
	check_state.checks++;
	if (lines > FILE_LINES)
		CHECK_FAIL("%s has %u lines: split it by concept", path, lines);
	return lines;
}

/* The files of a folder and, each by itself, the folders in it. */
static void check_room(const char *room, const struct limits *limits)
{
	unsigned lines = 0;
	char path[768];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), SOURCE_DIR "/%s", room);
	dir = opendir(path);
	REQUIRE(dir);
	while ((e = readdir(dir))) {
		char below[512];

		snprintf(below, sizeof(below), "%s/%s", room, e->d_name);
		if (e->d_name[0] == '.')
			continue;
		if (e->d_type == DT_DIR) {
			check_room(below, limits);
			continue;
		}
		if (!limits->every_file && !ends_with(e->d_name, ".c") &&
		    !ends_with(e->d_name, ".h"))
			continue;
		snprintf(path, sizeof(path), SOURCE_DIR "/%s", below);
		REQUIRE(file_count < FILES_MAX);
		lines_of_files[file_count] = check_file(path, limits->function_lines);
		lines += lines_of_files[file_count++];
	}
	closedir(dir);
	check_state.checks++;
	if (lines > limits->room_lines)
		CHECK_FAIL("%s has %u lines: it is more than one room", room, lines);
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static void files_functions_and_rooms_are_small(void)
{
	check_room("src", &of_sources);
	check_room("probes", &of_sources);
	REQUIRE(file_count > 500);
	qsort(lines_of_files, file_count, sizeof(*lines_of_files), by_number);
	CHECK(lines_of_files[file_count / 2] <= MEDIAN_LINES);
}

static void files_of_tests_are_small(void)
{
	file_count = 0;
	check_room("tests", &of_tests);
	REQUIRE(file_count > 500);
}

static void scripts_are_small(void)
{
	file_count = 0;
	check_room("scripts", &of_scripts);
	REQUIRE(file_count > 25);
}

int main(void)
{
	RUN(files_functions_and_rooms_are_small);
	RUN(files_of_tests_are_small);
	RUN(scripts_are_small);
	return check_done();
}
