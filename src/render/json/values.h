/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values without an exact JSON form. Each function returns a new value owned by the
 * caller, or NULL if out of memory. json_object_set_new() accepts NULL and then fails;
 * it always takes ownership of its value. So a chain of calls can be checked once, at
 * its end. Private to render/.
 */
#ifndef RENDER_JSON_VALUES_H
#define RENDER_JSON_VALUES_H

#include <stdint.h>

#include <jansson.h>

/* Limits `n` to INT64_MAX, because jansson's integers are signed. */
json_int_t json_clamp(uint64_t n);
json_t *json_unsigned(uint64_t n);

/* Bytes that are not UTF-8 are escaped; null for NULL. */
json_t *json_text(const char *text);

#endif
