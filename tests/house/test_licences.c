// SPDX-License-Identifier: Apache-2.0
/*
 * Each file of the project says in one of its first three lines which licence it has, or
 * REUSE.toml says it. What is loaded into the kernel may also be used under the GPL.
 */
#include "check.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK      "SPDX-License-Identifier: "
#define MAX_GLOBS 32
#define ALL       "Apache-2.0"
#define IN_KERNEL "Apache-2.0 OR GPL-2.0-only"

static char globs[MAX_GLOBS][128];
static unsigned glob_count, file_count, probe_count;

/* Read the lines path = ["GLOB", ...]. */
static void read_globs(void)
{
	FILE *file = fopen(SOURCE_DIR "/REUSE.toml", "re");
	char line[1024];

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "path = ", strlen("path = ")))
			continue;
		for (char *at = line; (at = strchr(at, '"'));) {
			char *end = strchr(at + 1, '"');

			REQUIRE(end && glob_count < MAX_GLOBS);
			snprintf(globs[glob_count++], sizeof(*globs), "%.*s",
				 (int)(end - at - 1), at + 1);
			at = end + 1;
		}
	}
	fclose(file);
}

/* "**" matches slashes too, and so does '*' of fnmatch() without FNM_PATHNAME. */
static bool is_annotated(const char *name)
{
	for (unsigned i = 0; i < glob_count; i++) {
		const char *glob = globs[i];

		if (!fnmatch(glob, name, 0) ||
		    (!strncmp(glob, "**/", 3) && !fnmatch(glob + 3, name, 0)))
			return true;
	}
	return false;
}

/* The licence that the file names. False: none. */
static bool read_licence(const char *path, char *ret, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[512];
	bool found = false;

	REQUIRE(file);
	for (int i = 0; i < 3 && !found && fgets(line, sizeof(line), file); i++) {
		const char *at = strstr(line, MARK);

		if (!at)
			continue;
		at += strlen(MARK);
		snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
		/* The end of a comment. */
		if (strstr(ret, " */"))
			*strstr(ret, " */") = '\0';
		found = true;
	}
	fclose(file);
	return found;
}

static void check_file(const char *path, const char *name)
{
	bool is_probe = !strncmp(name, "probes/", strlen("probes/"));
	char licence[128];

	file_count++;
	probe_count += is_probe;
	if (!read_licence(path, licence, sizeof(licence))) {
		if (is_probe || !is_annotated(name))
			CHECK_FAIL("%s: says no licence", name);
		return;
	}
	if (strcmp(licence, is_probe ? IN_KERNEL : ALL))
		CHECK_FAIL("%s: its licence is '%s'", name, licence);
}

/* `name`: below the project's directory; "" for itself. */
static void check_tree(const char *name)
{
	char path[4096], below[2048];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", SOURCE_DIR, name);
	dir = opendir(path);
	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		/* What is built, and the texts of the licences. */
		if (!*name && (!strncmp(entry->d_name, "build", 5) ||
			       !strncmp(entry->d_name, "obj-", 4) ||
			       !strncmp(entry->d_name, "LICENSE", 7) ||
			       !strcmp(entry->d_name, "REUSE.toml")))
			continue;
		snprintf(below, sizeof(below), "%s%s%s", name, *name ? "/" : "",
			 entry->d_name);
		snprintf(path, sizeof(path), "%s/%s", SOURCE_DIR, below);
		REQUIRE(!lstat(path, &st));
		/* What debhelper makes. */
		if (!strcmp(below, "debian/memtrace"))
			continue;
		if (S_ISDIR(st.st_mode))
			check_tree(below);
		else if (S_ISREG(st.st_mode))
			check_file(path, below);
	}
	closedir(dir);
}

static void every_file_has_a_licence(void)
{
	read_globs();
	check_tree("");
	CHECK(file_count > 500 && probe_count > 20);
}

static void both_texts_are_there(void)
{
	CHECK(!access(SOURCE_DIR "/LICENSES/Apache-2.0.txt", R_OK));
	CHECK(!access(SOURCE_DIR "/LICENSES/GPL-2.0-only.txt", R_OK));
}

int main(void)
{
	RUN(every_file_has_a_licence);
	RUN(both_texts_are_there);
	return check_done();
}
