/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object of jansson while its members are set: one that lacks something, since memory
 * is out, is none in the end, so that a chain of calls needs no look at each. Private to
 * render/.
 */
#ifndef RENDER_JSON_FIELDS_H
#define RENDER_JSON_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct json_fields {
	json_t *object;
	bool failed;
};

struct json_fields fields_begin(void);

/* The object, the caller's, or NULL. */
json_t *fields_end(struct json_fields *fields) __attribute__((warn_unused_result));

/* Takes `value`, of which NULL is one that could not be made. */
void fields_set(struct json_fields *fields, const char *key, json_t *value);
/* As json_unsigned() and json_text() have them. */
void fields_unsigned(struct json_fields *fields, const char *key, uint64_t n);
void fields_text(struct json_fields *fields, const char *key, const char *text);

/* `array`, which it takes over, with `value` at its end, or NULL when either is. */
json_t *array_append(json_t *array, json_t *value) __attribute__((warn_unused_result));

#endif
