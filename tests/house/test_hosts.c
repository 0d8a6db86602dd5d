// SPDX-License-Identifier: Apache-2.0
/* Scripts name no host. Packages come from what the machine's package manager is
 * configured with. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const folders[] = {"scripts", "scripts/programs.d", ".ci"};

/* Where a URL may lead: to this machine. */
static const char *const allowed[] = {"file://", "http://127.0.0.1", "http://localhost",
				      "unix://"};

/* With what the name of a host ends. */
static const char *const endings[] = {"org", "com", "net", "io", "dev"};

/* Does the line have a URL that leads elsewhere? `at` is its "://". */
static bool leads_away(const char *line, const char *at)
{
	const char *begin = at;

	while (begin > line && begin[-1] >= 'a' && begin[-1] <= 'z')
		begin--;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		if (!strncmp(begin, allowed[i], strlen(allowed[i])))
			return false;
	return begin < at;
}

/* Is the dot the last one of a host's name? */
static bool ends_name(const char *line, const char *dot)
{
	if (dot == line || !isalnum((unsigned char)dot[-1]))
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t length = strlen(endings[i]);
		unsigned char next;

		if (strncmp(dot + 1, endings[i], length))
			continue;
		next = (unsigned char)dot[1 + length];
		if (!isalnum(next) && next != '_' && next != '-')
			return true;
	}
	return false;
}

static bool names_host(const char *line)
{
	for (const char *at = line; (at = strstr(at, "://")); at++)
		if (leads_away(line, at))
			return true;
	for (const char *dot = line; (dot = strchr(dot, '.')); dot++)
		if (ends_name(line, dot))
			return true;
	return false;
}

static unsigned check_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	unsigned number = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (names_host(line))
			fprintf(stderr, "%s:%u: %s", path, number, line);
		CHECK(!names_host(line));
	}
	fclose(file);
	return number;
}

static void scripts_name_no_host(void)
{
	unsigned lines = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char path[1024];
		DIR *dir;

		snprintf(path, sizeof(path), "%s/%s", SOURCE_DIR, folders[i]);
		dir = opendir(path);
		REQUIRE(dir);
		for (struct dirent *entry; (entry = readdir(dir));) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s/%s", SOURCE_DIR, folders[i],
				 entry->d_name);
			lines += check_file(path);
		}
		closedir(dir);
	}
	CHECK(lines > 1000);
}

static void hosts_are_recognized(void)
{
	CHECK(names_host("fetch https://example.org/a"));
	CHECK(names_host("deb http://10.0.0.1/debian stable main"));
	CHECK(names_host("pip install --index-url packages.example.org"));
	CHECK(names_host("mirror=example.com/debian"));
	CHECK(!names_host("build/a.common b.org_c"));
	CHECK(!names_host("url=http://127.0.0.1:$port/page"));
	CHECK(!names_host("open \"file://$PWD/a.html\""));
	CHECK(!names_host("# [a-z]+ is \"://\""));
}

int main(void)
{
	RUN(hosts_are_recognized);
	RUN(scripts_name_no_host);
	return check_done();
}
