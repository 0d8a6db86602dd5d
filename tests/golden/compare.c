// SPDX-License-Identifier: Apache-2.0
#include "golden/compare.h"

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>

#include "check.h"
#include "render/table/renderers.h"
#include "util/cleanup.h"

static char *read_file(const char *path)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	size_t cap = 1 << 20;
	char *text = malloc(cap);

	if (!file || !text) {
		free(text);
		return NULL;
	}
	text[fread(text, 1, cap - 1, file)] = '\0';
	return text;
}

static char *render(const char *format, const struct report *report)
{
	const struct renderer *renderer = renderer_find(format);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(renderer && out);
	REQUIRE(!renderer->render(report, out));
	REQUIRE(!fclose(out));
	/* No control characters but newline and tab. */
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		REQUIRE((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t');
	}
	return text;
}

/* The form that scripts written for BCC's memleak parse: each line that begins with a tab
 * or a bracket matches one of these patterns. */
static void check_text(const char *text)
{
	static const char *const forms[] = {
		"^\\[[0-9:]{8}\\] Top [0-9]+ stacks with outstanding [a-z]+:$",
		"^\t[0-9]+ bytes in [0-9]+ (allocations|mappings) from stack",
		"^\t\t0x[0-9a-f]{16}\t.*\\+0x[0-9a-f]+ \\[.+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t.* \\[inlined\\] \\[.+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t\\[.+\\+0x[0-9a-f]+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t\\[unknown\\]$",
		"^\t\taddr = 0x[0-9a-f]+ size = [0-9]+",
		"^\t\t\\[(truncated|no stack|no frames)",
		"^\t(none|\\.\\.\\. [0-9]+ more stacks? with )",
	};
	size_t seen = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		_cleanup_(freep) char *copy = strndup(line, strcspn(line, "\n"));
		bool known = *line != '\t' && *line != '[';

		REQUIRE(copy);
		for (size_t i = 0; !known && i < sizeof(forms) / sizeof(*forms); i++) {
			regex_t regex;

			REQUIRE(!regcomp(&regex, forms[i], REG_EXTENDED | REG_NOSUB));
			known = !regexec(&regex, copy, 0, NULL, 0);
			seen += known;
			regfree(&regex);
		}
		if (!known)
			CHECK_FAIL("no form of memleak's: %s", copy);
	}
	CHECK(seen >= 2);
}

/* Parse the JSON again: it is one line, names every kind of loss, and all its numbers are
 * integers. */
static void check_json(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	const char *key;
	json_t *value;

	REQUIRE(root);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);

	json_t *losses = json_object_get(root, "losses");
	bool lossless = true;

	CHECK_INT(json_object_size(losses), LOSS_COUNT);
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		value = json_object_get(losses, loss_name((enum loss)i));
		CHECK(json_is_integer(value));
		lossless = lossless && !json_integer_value(value);
	}
	CHECK_INT(json_is_true(json_object_get(root, "complete")), lossless);

	json_t *heap = json_object_get(root, "heap");

	json_object_foreach(json_object_get(heap, "rates"), key, value)
		CHECK(json_is_integer(value));
	json_object_foreach(json_object_get(heap, "totals"), key, value)
		CHECK(json_is_integer(value));
	CHECK(json_is_array(json_object_get(heap, "stacks")));
	json_decref(root);
}

static void compare(const char *write_dir, const char *name, const char *suffix,
		    const char *got)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden", name, suffix);
	if (write_dir) {
		FILE *file = fopen(path, "we");

		REQUIRE(file);
		fputs(got, file);
		REQUIRE(!fclose(file));
		return;
	}

	_cleanup_(freep) char *want = read_file(path);

	CHECK(want && *want);
	CHECK_STR(got, want ? want : "");
}

void check_report(const char *write_dir, const char *name, const struct report *report)
{
	_cleanup_(freep) char *text = render("text", report);
	_cleanup_(freep) char *json = render("json", report);

	check_text(text);
	compare(write_dir, name, "txt", text);
	compare(write_dir, name, "json", json);
	check_json(json);
}
