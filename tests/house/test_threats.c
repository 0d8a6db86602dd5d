// SPDX-License-Identifier: Apache-2.0
/* Each threat in docs/security.md has a test that exists, or says why it has none. */
#include "check.h"

#include <stdbool.h>
#include <unistd.h>

#define PAGE         SOURCE_DIR "/docs/security.md"
#define UNTESTED     "not tested: "
#define LEAST_REASON 20 /* characters */

/* Fewer rows mean that the page is read wrongly. */
#define LEAST_ROWS 60

/* Does a test of this kind have this name, without the kind? */
static bool is_file(const char *kind, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), SOURCE_DIR "/tests/%s/test_%s.c", kind, name);
	return !access(path, R_OK);
}

/* golden.NAME */
static bool is_golden(const char *kind, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), SOURCE_DIR "/tests/%s/%s.c", kind, name);
	return !access(path, R_OK);
}

/* unit.ROOM.NAME */
static bool is_unit(const char *kind, const char *name)
{
	const char *dot = strchr(name, '.');
	char path[512];

	if (!dot)
		return false;
	snprintf(path, sizeof(path), SOURCE_DIR "/tests/%s/%.*s/test_%s.c", kind,
		 (int)(dot - name), name, dot + 1);
	return !access(path, R_OK);
}

static const struct kind {
	const char *name;
	bool (*has)(const char *kind, const char *name);
} kinds[] = {
	{"live", is_file}, {"house", is_file},  {"golden", is_golden},
	{"unit", is_unit}, {"probes", is_file},
};

static bool is_test(const char *text)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t length = strlen(kinds[i].name);

		if (!strncmp(text, kinds[i].name, length) && text[length] == '.')
			return kinds[i].has(kinds[i].name, text + length + 1);
	}
	return false;
}

/* Tests in backquotes, separated by commas. Returns what is wrong, or NULL. */
static const char *fault_of_names(char *cell)
{
	for (;;) {
		char *end = *cell == '`' ? strchr(cell + 1, '`') : NULL;

		if (!end)
			return "expected the name of a test";
		*end = '\0';
		if (!is_test(cell + 1))
			return "unknown test";
		cell = end + 1;
		if (!*cell)
			return NULL;
		if (strncmp(cell, ", ", 2) != 0)
			return "expected a comma between tests";
		cell += 2;
	}
}

static const char *fault_of(char *cell)
{
	size_t length = strlen(UNTESTED);

	if (strncmp(cell, UNTESTED, length) != 0)
		return fault_of_names(cell);
	return strlen(cell) >= length + LEAST_REASON ? NULL : "expected a reason";
}

/* The last cell of the row. NULL: the line is not a row. */
static char *last_cell(char *line)
{
	size_t length = strcspn(line, "\n");
	char *end;

	line[length] = '\0';
	if (*line != '|' || length < 4 || strcmp(line + length - 2, " |") != 0)
		return NULL;
	line[length - 2] = '\0';
	end = strrchr(line, '|');
	return end && !strncmp(end, "| ", 2) ? end + 2 : NULL;
}

static void each_threat_has_a_test(void)
{
	FILE *file = fopen(PAGE, "re");
	char line[8192], *cell;
	bool is_threats = false;
	unsigned rows = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		const char *fault;

		cell = last_cell(line);
		if (!cell) {
			is_threats = false;
			continue;
		}
		if (!strcmp(cell, "test"))
			is_threats = true;
		else if (is_threats && strcmp(cell, "---") != 0 && ++rows &&
			 (fault = fault_of(cell)))
			CHECK_FAIL("%s: %s: %.100s", PAGE, fault, line);
	}
	fclose(file);
	CHECK(rows >= LEAST_ROWS);
}

static void wrong_cells_are_found(void)
{
	static const struct {
		const char *cell;
		bool is_right;
	} cases[] = {
		{"`live.hostile`", true},
		{"`live.hostile`, `unit.code.start`", true},
		{"`house.opens`, `probes.process_claim`", true},
		{"not tested: this takes some 2,000 libraries", true},
		{"not tested: no", false},
		{"", false},
		{"`live.hostile", false},
		{"live.hostile", false},
		{"`live.hostile` `live.stop`", false},
		{"`live.hostile`, ", false},
		{"`live.no_such_test`", false},
		{"`unit.start`", false},
		{"`probes.process`", false},
		{"`golden.live`", true},
		{"`golden.hostile`", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char cell[128];

		snprintf(cell, sizeof(cell), "%s", cases[i].cell);
		if (!fault_of(cell) != cases[i].is_right)
			CHECK_FAIL("\"%s\" is %s", cases[i].cell,
				   cases[i].is_right ? "right" : "wrong");
	}
}

int main(void)
{
	RUN(each_threat_has_a_test);
	RUN(wrong_cells_are_found);
	return check_done();
}
