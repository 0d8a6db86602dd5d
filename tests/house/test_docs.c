// SPDX-License-Identifier: Apache-2.0
/* The documentation: every link within it leads somewhere, every page can be found from
 * README.md, and README.md stays short. Units let memtrace work. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>

#define README_LINES 250

/* The contents of a file below the source directory; free() it. NULL: no such file. */
static char *page_read(const char *name)
{
	char path[1024];
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), SOURCE_DIR "/%s", name);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* Call `look` with the name of every page: README.md, examples/README.md and docs/. */
static void each_page(void (*look)(const char *name))
{
	DIR *dir = opendir(SOURCE_DIR "/docs");
	struct dirent *e;

	REQUIRE(dir);
	look("README.md");
	look("examples/README.md");
	while ((e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');
		char name[512];

		if (!dot || strcmp(dot, ".md") != 0)
			continue;
		snprintf(name, sizeof(name), "docs/%s", e->d_name);
		look(name);
	}
	closedir(dir);
}

/* The anchor that GitHub gives to a heading: lower case, spaces as hyphens, without
 * punctuation. `heading` ends with its line. */
static void anchor_of(const char *heading, char *anchor, size_t size)
{
	size_t len = 0;

	for (; *heading && *heading != '\n' && len + 1 < size; heading++) {
		unsigned char c = (unsigned char)*heading;

		if (isalnum(c) || c == '-' || c == '_' || c >= 0x80)
			anchor[len++] = (char)tolower(c);
		else if (c == ' ')
			anchor[len++] = '-';
	}
	anchor[len] = '\0';
}

/* Has the page a heading with this anchor? Indented lines and fenced code have none. */
static bool has_anchor(const char *text, const char *anchor)
{
	bool is_fenced = false;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char own[256];

		line += *line == '\n';
		if (!strncmp(line, "```", 3))
			is_fenced = !is_fenced;
		if (is_fenced || *line != '#')
			continue;
		line += strspn(line, "#");
		anchor_of(line + strspn(line, " "), own, sizeof(own));
		if (!strcmp(own, anchor))
			return true;
	}
	return false;
}

/* --- links -------------------------------------------------------------------------- */

/* Check one link, [...](`link`) on page `name`. */
static void check_link(const char *name, const char *link)
{
	const char *slash = strrchr(name, '/');
	const char *anchor = strchr(link, '#');
	int path_len = anchor ? (int)(anchor - link) : (int)strlen(link);
	char path[1024], full[2048];
	char *text;

	check_state.checks++;
	if (path_len)
		snprintf(path, sizeof(path), "%.*s%.*s",
			 slash ? (int)(slash + 1 - name) : 0, name, path_len, link);
	else
		snprintf(path, sizeof(path), "%s", name);
	snprintf(full, sizeof(full), SOURCE_DIR "/%s", path);
	if (access(full, F_OK) != 0) {
		CHECK_FAIL("%s links to %s: there is no %s", name, link, path);
		return;
	}
	if (!anchor)
		return;
	text = page_read(path);
	if (!text || !has_anchor(text, anchor + 1))
		CHECK_FAIL("%s links to %s: %s has no such heading", name, link, path);
	free(text);
}

static void check_links(const char *name)
{
	char *text = page_read(name);

	REQUIRE(text);
	for (const char *at = text; (at = strstr(at, "]("));) {
		char link[512];
		size_t len;

		at += 2;
		len = strcspn(at, ")\n");
		snprintf(link, sizeof(link), "%.*s", (int)len, at);
		if (at[len] != ')')
			CHECK_FAIL("%s: the link to %s does not end in its line", name,
				   link);
		else if (!strstr(link, "://"))
			check_link(name, link);
	}
	free(text);
}

static void links_lead_to_files_and_headings(void)
{
	each_page(check_links);
	CHECK(check_state.checks > 50);
}

/* --- README.md ------------------------------------------------------------------------
 */

static void check_is_linked(const char *name)
{
	char *readme = page_read("README.md");
	char link[600];

	REQUIRE(readme);
	snprintf(link, sizeof(link), "](%s", name);
	check_state.checks++;
	if (strcmp(name, "README.md") != 0 && !strstr(readme, link))
		CHECK_FAIL("README.md has no link to %s", name);
	free(readme);
}

static void readme_links_to_every_page(void)
{
	each_page(check_is_linked);
}

static void readme_is_short(void)
{
	char *readme = page_read("README.md");
	int lines = 0;

	REQUIRE(readme);
	for (const char *c = readme; *c; c++)
		lines += *c == '\n';
	CHECK(lines < README_LINES);
	free(readme);
}

/* RestrictSUIDSGID= makes openat2(2) fail, which memtrace opens the target's files by. */
static void units_let_memtrace_open_files(void)
{
	static const char *const units[] = {"packaging/memtrace@.service.in",
					    "examples/service/memtrace-listen@.service"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		char *text = page_read(units[i]);

		REQUIRE(text);
		CHECK_CONTAINS(text, "\n[Service]\n");
		if (strstr(text, "\nRestrictSUIDSGID="))
			CHECK_FAIL("%s sets RestrictSUIDSGID", units[i]);
		free(text);
	}
}

int main(void)
{
	RUN(units_let_memtrace_open_files);
	RUN(links_lead_to_files_and_headings);
	RUN(readme_links_to_every_page);
	RUN(readme_is_short);
	return check_done();
}
