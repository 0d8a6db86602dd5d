// SPDX-License-Identifier: Apache-2.0
#include "live/files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "util/cleanup.h"

#define FILE_CAP ((size_t)4 << 20)

static __attribute__((format(printf, 1, 0))) char *read_if_any(const char *format,
							       va_list args)
{
	char path[512];

	vsnprintf(path, sizeof(path), format, args);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	char *text;

	if (!file)
		return NULL;
	text = malloc(FILE_CAP);
	REQUIRE(text);
	text[fread(text, 1, FILE_CAP - 1, file)] = '\0';
	return text;
}

char *files_read(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = read_if_any(format, args);
	va_end(args);
	REQUIRE(text);
	return text;
}

char *files_read_if_any(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = read_if_any(format, args);
	va_end(args);
	return text;
}

void files_copy(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	size_t n;

	REQUIRE(in && out);
	while ((n = fread(buffer, 1, sizeof(buffer), in)))
		REQUIRE(fwrite(buffer, 1, n, out) == n);
	REQUIRE(!fchmod(fileno(out), 0755) && !fclose(out));
	fclose(in);
}

void files_make_folders(const char *path)
{
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(copy, 0755);
		*at = '/';
	}
}

int64_t files_sum_collapsed(const char *text)
{
	int64_t sum = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *space = memrchr(text, ' ', (size_t)(end - text));

		REQUIRE(space);
		sum += strtoll(space + 1, NULL, 10);
	}
	return sum;
}

int64_t files_sum_csv(const char *text, pid_t pid)
{
	char begin[32];
	int64_t sum = 0;

	/* The first line of a record begins with the pid. */
	snprintf(begin, sizeof(begin), "\r\n%d,", (int)pid);
	while ((text = strstr(text, begin))) {
		text = strchr(text + strlen(begin), ',');
		REQUIRE(text);
		sum += strtoll(text + 1, NULL, 10);
	}
	return sum;
}
