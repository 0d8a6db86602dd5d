// SPDX-License-Identifier: Apache-2.0
/*
 * Every stored report in JSON is valid by docs/json-schema.json.
 *
 * With file names as arguments, the files are validated instead: one value on each line.
 */
#include "check.h"

#include <dirent.h>

#include "json_schema.h"

/* Returns the number of values in the file. */
static unsigned check_file(const json_t *schema, const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned count = 0;
	json_t *value;

	if (!file)
		CHECK_FAIL("%s: cannot be read", path);
	REQUIRE(file);
	while ((value = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		char why[JSON_SCHEMA_WHY_SIZE];

		if (!json_schema_accepts(schema, value, why))
			CHECK_FAIL("%s: value %u: %s", path, count + 1, why);
		count++;
		json_decref(value);
	}
	fclose(file);
	return count;
}

static void check_folder(const char *folder, unsigned least)
{
	DIR *dir = opendir(folder);
	json_t *schema = json_schema_read();
	struct dirent *entry;
	unsigned files = 0;

	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');
		char path[1024];

		if (!dot || strcmp(dot, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		CHECK(check_file(schema, path) >= 1);
		files++;
	}
	CHECK(files >= least);
	closedir(dir);
	json_decref(schema);
}

static void stored_reports_are_valid(void)
{
	check_folder(TEST_DATA_DIR "/golden", 15);
	check_folder(TEST_DATA_DIR "/golden/views", 9);
}

/* A value that is changed is not valid any more. */
static void faults_are_found(void)
{
	json_t *schema = json_schema_read();
	json_t *report = json_load_file(TEST_DATA_DIR "/golden/first.json",
					JSON_DISABLE_EOF_CHECK, NULL);
	json_t *heap = json_object_get(report, "heap"), *frame;
	char why[JSON_SCHEMA_WHY_SIZE];

	REQUIRE(heap);
	CHECK(json_schema_accepts(schema, report, why));
	json_object_set_new(heap, "live_bytes", json_string("1"));
	CHECK(!json_schema_accepts(schema, report, why));
	CHECK_STR(why, ".heap.live_bytes: has another type");
	json_object_set_new(heap, "live_bytes", json_integer(-1));
	CHECK(!json_schema_accepts(schema, report, why));
	CHECK_STR(why, ".heap.live_bytes: is below the minimum");
	json_object_set_new(heap, "live_bytes", json_integer(1));
	json_object_set_new(heap, "live_kilobytes", json_integer(1));
	CHECK(!json_schema_accepts(schema, report, why));
	CHECK_STR(why, ".heap.live_kilobytes: is not in the schema");
	json_object_del(heap, "live_kilobytes");
	json_object_set_new(report, "cause", json_string("boredom"));
	CHECK(!json_schema_accepts(schema, report, why));
	CHECK_STR(why, ".cause: is none of the values");
	json_object_set_new(report, "cause", json_string("interval"));
	frame = json_array_get(
		json_object_get(json_array_get(json_object_get(heap, "stacks"), 0),
				"frames"),
		0);
	json_object_set_new(frame, "address", json_string("7f00"));
	CHECK(!json_schema_accepts(schema, report, why));
	json_object_set_new(frame, "address", json_null());
	CHECK(json_schema_accepts(schema, report, why));
	json_object_del(report, "losses");
	CHECK(!json_schema_accepts(schema, report, why));
	CHECK_STR(why, ".losses: is missing");
	json_decref(report);
	json_decref(schema);
}

int main(int argc, char *argv[])
{
	if (argc > 1) {
		json_t *schema = json_schema_read();

		for (int i = 1; i < argc; i++)
			CHECK(check_file(schema, argv[i]) >= 1);
		json_decref(schema);
		return check_done();
	}
	RUN(stored_reports_are_valid);
	RUN(faults_are_found);
	return check_done();
}
