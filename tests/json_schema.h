/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a report in JSON valid by docs/json-schema.json? This validates the part of JSON
 * Schema (draft 2020-12) that the schema uses. Other keywords are a failure of the test,
 * so that none is ignored. It is stricter in one point: keys that are not in the schema
 * are faults. The schema itself allows them, for later versions.
 */
#ifndef TESTS_JSON_SCHEMA_H
#define TESTS_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

#define JSON_SCHEMA_WHY_SIZE 256

/* The schema, to be released by json_decref(). */
json_t *json_schema_read(void);

/* `ret_why`: what is wrong with the value, if it is not valid. */
bool json_schema_accepts(const json_t *schema, const json_t *value,
			 char ret_why[JSON_SCHEMA_WHY_SIZE]);

#endif
