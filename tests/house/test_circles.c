// SPDX-License-Identifier: Apache-2.0
/*
 * No units of a folder include each other in a circle. A unit is x.c with x.h. It may
 * include the header that its own is part of, because that declares the types which the
 * parts share: x_part includes x.h, and each unit of a folder the header named like the
 * folder. No other unit may lead back to itself.
 */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>

#define UNITS_MAX    1024
#define INCLUDES_MAX 32

enum visit {
	VISIT_NOT,
	VISIT_NOW,
	VISIT_DONE
};

static struct unit {
	char name[64]; /* "folder/file", without ".c" and ".h" */
	struct unit *includes[INCLUDES_MAX];
	size_t include_count;
	enum visit visit;
} units[UNITS_MAX];

static size_t unit_count, edges;

static struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < unit_count; i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

static const char *base_name(const char *name)
{
	return strrchr(name, '/') + 1;
}

static size_t folder_len(const char *name)
{
	return (size_t)(strrchr(name, '/') - name);
}

static bool is_same_folder(const struct unit *a, const struct unit *b)
{
	size_t len = folder_len(a->name);

	return len == folder_len(b->name) && !memcmp(a->name, b->name, len);
}

/* Is `of` the unit that `part` is a part of? */
static bool is_part(const struct unit *part, const struct unit *of)
{
	const char *name = base_name(of->name);
	size_t len = strlen(name), folder = folder_len(of->name);

	if (!strncmp(base_name(part->name), name, len) &&
	    base_name(part->name)[len] == '_')
		return true;
	return folder >= len && !memcmp(of->name + folder - len, name, len) &&
	       (folder == len || of->name[folder - len - 1] == '/');
}

/* --- reading ------------------------------------------------------------------------ */

static void add_include(struct unit *from, struct unit *to)
{
	if (!to || to == from || !is_same_folder(from, to) || is_part(from, to))
		return;
	for (size_t i = 0; i < from->include_count; i++)
		if (from->includes[i] == to)
			return;
	REQUIRE(from->include_count < INCLUDES_MAX);
	from->includes[from->include_count++] = to;
	edges++;
}

static void read_file(struct unit *unit, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024], header[64];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "#include \"%63[a-z0-9_/].h\"", header) == 1)
			add_include(unit, find_unit(header));
	fclose(f);
}

/* Find the units in src/`below`, but not in src/ itself. */
static void find_units(const char *below)
{
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", below);
	dir = opendir(path);
	REQUIRE(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		const char *dot = strrchr(e->d_name, '.');
		char name[400];

		snprintf(name, sizeof(name), "%s%s%.*s", below, *below ? "/" : "",
			 dot ? (int)(dot - e->d_name) : (int)strlen(e->d_name),
			 e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			find_units(name);
		else if (*below && dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h")) &&
			 !find_unit(name)) {
			REQUIRE(unit_count < UNITS_MAX &&
				strlen(name) < sizeof(units->name));
			strcpy(units[unit_count++].name, name);
		}
	}
	closedir(dir);
}

/* --- circles ------------------------------------------------------------------------ */

static void visit(struct unit *unit, const struct unit *path[], size_t depth)
{
	check_state.checks++;
	path[depth] = unit;
	if (unit->visit == VISIT_NOW) {
		size_t start = depth;

		while (path[--start] != unit)
			;
		for (; start < depth; start++)
			CHECK_FAIL("%s includes %s in a circle", path[start]->name,
				   path[start + 1]->name);
		return;
	}
	if (unit->visit == VISIT_DONE)
		return;
	unit->visit = VISIT_NOW;
	for (size_t i = 0; i < unit->include_count; i++)
		visit(unit->includes[i], path, depth + 1);
	unit->visit = VISIT_DONE;
}

static void no_units_include_each_other(void)
{
	static const struct unit *path[UNITS_MAX + 1];
	char file[600];

	find_units("");
	for (size_t i = 0; i < unit_count; i++) {
		snprintf(file, sizeof(file), SOURCE_DIR "/src/%.63s.c", units[i].name);
		read_file(&units[i], file);
		snprintf(file, sizeof(file), SOURCE_DIR "/src/%.63s.h", units[i].name);
		read_file(&units[i], file);
	}
	/* Checks that the test has found units and include lines. */
	CHECK(unit_count > 400);
	CHECK(edges > 400);
	for (size_t i = 0; i < unit_count; i++)
		visit(&units[i], path, 0);
}

int main(void)
{
	RUN(no_units_include_each_other);
	return check_done();
}
