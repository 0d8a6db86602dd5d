// SPDX-License-Identifier: Apache-2.0
#include "json_schema.h"

#include <regex.h>

#include "check.h"

#define SCHEMA    SOURCE_DIR "/docs/json-schema.json"
#define DEPTH_MAX 64

struct validator {
	const json_t *root;
	char why[JSON_SCHEMA_WHY_SIZE]; /* the first fault, with its place */
};

/* An object on the way to the value that is judged. */
struct place {
	const struct place *above;
	const char *name;
	unsigned depth;
};

static void append_place(const struct place *place, char *ret, size_t size)
{
	if (!place->above)
		return;
	append_place(place->above, ret, size);
	snprintf(ret + strlen(ret), size - strlen(ret), ".%s", place->name);
}

static bool fault(struct validator *v, const struct place *place, const char *what)
{
	v->why[0] = '\0';
	append_place(place, v->why, sizeof(v->why));
	snprintf(v->why + strlen(v->why), sizeof(v->why) - strlen(v->why), ": %s", what);
	return false;
}

static bool is_type(const json_t *value, const char *type)
{
	static const struct {
		const char *name;
		json_type a, b;
	} types[] = {
		{"null", JSON_NULL, JSON_NULL},
		{"boolean", JSON_TRUE, JSON_FALSE},
		{"integer", JSON_INTEGER, JSON_INTEGER},
		{"number", JSON_INTEGER, JSON_REAL},
		{"string", JSON_STRING, JSON_STRING},
		{"array", JSON_ARRAY, JSON_ARRAY},
		{"object", JSON_OBJECT, JSON_OBJECT},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, type))
			return json_typeof(value) == types[i].a ||
			       json_typeof(value) == types[i].b;
	CHECK_FAIL("the schema has a type '%s'", type);
	return false;
}

static bool judge(struct validator *v, const json_t *schema, const json_t *value,
		  const struct place *place);

static bool judge_type(struct validator *v, const json_t *type, const json_t *value,
		       const struct place *place)
{
	const json_t *one;
	size_t i;

	if (json_is_string(type) && is_type(value, json_string_value(type)))
		return true;
	json_array_foreach ((json_t *)type, i, one) {
		if (is_type(value, json_string_value(one)))
			return true;
	}
	return fault(v, place, "has another type");
}

static bool judge_enum(struct validator *v, const json_t *values, const json_t *value,
		       const struct place *place)
{
	const json_t *one;
	size_t i;

	json_array_foreach ((json_t *)values, i, one) {
		if (json_equal(one, value))
			return true;
	}
	return fault(v, place, "is none of the values");
}

static bool judge_one_of(struct validator *v, const json_t *schemas, const json_t *value,
			 const struct place *place)
{
	const json_t *one;
	unsigned count = 0;
	size_t i;

	json_array_foreach ((json_t *)schemas, i, one) {
		count += judge(v, one, value, place);
	}
	if (count == 1)
		return true;
	/* The fault of the last one says more than the number. */
	return count ? fault(v, place, "fits several schemas") : false;
}

static bool judge_ref(struct validator *v, const char *ref, const json_t *value,
		      const struct place *place)
{
	const json_t *defs = json_object_get(v->root, "$defs");
	const json_t *schema;

	REQUIRE(!strncmp(ref, "#/$defs/", strlen("#/$defs/")));
	schema = json_object_get(defs, ref + strlen("#/$defs/"));
	if (!schema)
		CHECK_FAIL("the schema has no %s", ref);
	REQUIRE(schema);
	return judge(v, schema, value, place);
}

static bool judge_pattern(struct validator *v, const char *pattern, const json_t *value,
			  const struct place *place)
{
	regex_t regex;
	bool matches;

	if (!json_is_string(value))
		return true;
	REQUIRE(!regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB));
	matches = !regexec(&regex, json_string_value(value), 0, NULL, 0);
	regfree(&regex);
	return matches || fault(v, place, "does not match the pattern");
}

static bool judge_members(struct validator *v, const json_t *schema, const json_t *value,
			  const struct place *place)
{
	const json_t *properties = json_object_get(schema, "properties"), *one, *name;
	const char *key;
	size_t i;

	if (!json_is_object(value))
		return true;
	json_array_foreach (json_object_get(schema, "required"), i, name) {
		const struct place there = {place, json_string_value(name), 0};

		if (!json_object_get(value, json_string_value(name)))
			return fault(v, &there, "is missing");
	}
	json_object_foreach((json_t *)value, key, one)
	{
		const struct place there = {place, key, place->depth + 1};
		const json_t *property = json_object_get(properties, key);

		if (!property)
			return fault(v, &there, "is not in the schema");
		if (!judge(v, property, one, &there))
			return false;
	}
	return true;
}

static bool judge_items(struct validator *v, const json_t *items, const json_t *value,
			const struct place *place)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(value))
		return true;
	json_array_foreach ((json_t *)value, i, one) {
		char number[24];
		const struct place there = {place, number, place->depth + 1};

		snprintf(number, sizeof(number), "%zu", i);
		if (!judge(v, items, one, &there))
			return false;
	}
	return true;
}

static bool judge(struct validator *v, const json_t *schema, const json_t *value,
		  const struct place *place)
{
	const json_t *at;
	const char *key;
	bool ok = true;

	REQUIRE(place->depth < DEPTH_MAX);
	json_object_foreach((json_t *)schema, key, at)
	{
		if (!ok)
			return false;
		if (!strcmp(key, "type"))
			ok = judge_type(v, at, value, place);
		else if (!strcmp(key, "$ref"))
			ok = judge_ref(v, json_string_value(at), value, place);
		else if (!strcmp(key, "enum"))
			ok = judge_enum(v, at, value, place);
		else if (!strcmp(key, "const"))
			ok = json_equal(at, value) ||
			     fault(v, place, "has another value");
		else if (!strcmp(key, "oneOf"))
			ok = judge_one_of(v, at, value, place);
		else if (!strcmp(key, "pattern"))
			ok = judge_pattern(v, json_string_value(at), value, place);
		else if (!strcmp(key, "items"))
			ok = judge_items(v, at, value, place);
		else if (!strcmp(key, "properties"))
			ok = judge_members(v, schema, value, place);
		else if (!strcmp(key, "minimum"))
			ok = !json_is_number(value) ||
			     json_number_value(value) >= json_number_value(at) ||
			     fault(v, place, "is below the minimum");
		else if (strcmp(key, "required") && strcmp(key, "description") &&
			 strcmp(key, "title") && strcmp(key, "$schema") &&
			 strcmp(key, "$defs"))
			CHECK_FAIL("the schema has a keyword '%s'", key);
	}
	return ok;
}

bool json_schema_accepts(const json_t *schema, const json_t *value,
			 char ret_why[JSON_SCHEMA_WHY_SIZE])
{
	const struct place top = {NULL, "", 0};
	/* Not the whole schema: its first fault could concern the other kind of
	 * document. */
	const char *kind = json_string_value(json_object_get(value, "schema"));
	const char *ref = kind && !strcmp(kind, "memtrace-diff") ? "#/$defs/diff"
								 : "#/$defs/report";
	bool is_one;

	struct validator v = {.root = schema};

	is_one = judge_ref(&v, ref, value, &top) && judge(&v, schema, value, &top);
	memcpy(ret_why, v.why, sizeof(v.why));
	return is_one;
}

json_t *json_schema_read(void)
{
	json_error_t error;
	json_t *schema = json_load_file(SCHEMA, JSON_REJECT_DUPLICATES, &error);

	if (!schema)
		CHECK_FAIL("%s:%d: %s", SCHEMA, error.line, error.text);
	REQUIRE(schema);
	return schema;
}
