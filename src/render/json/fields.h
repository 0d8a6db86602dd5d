/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a jansson object member by member. If any member could not be created because
 * out of memory, fields_end() returns NULL, so callers check only that. Private to
 * render/.
 */
#ifndef RENDER_JSON_FIELDS_H
#define RENDER_JSON_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "snapshot/sampling.h"

struct json_fields {
	json_t *object;
	bool failed;
};

struct json_fields fields_begin(void);

/* The object, owned by the caller; NULL: out of memory. */
json_t *fields_end(struct json_fields *fields) __attribute__((warn_unused_result));

/* Set a member. Takes ownership of `value`; NULL means that it could not be created. */
void fields_set(struct json_fields *fields, const char *key, json_t *value);
/* Set the value of json_unsigned() or json_text(). */
void fields_unsigned(struct json_fields *fields, const char *key, uint64_t n);
void fields_text(struct json_fields *fields, const char *key, const char *text);

/* Set the members that say which allocations are traced. */
void fields_sampling(struct json_fields *fields, const struct sampling *sampling);

/* Append `value` to `array` and return the array. Takes ownership of both. NULL if either
 * is NULL. */
json_t *array_append(json_t *array, json_t *value) __attribute__((warn_unused_result));

#endif
