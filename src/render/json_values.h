/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that JSON has no exact form for. Each function gives a new value, the caller's,
 * or NULL when memory is out: json_object_set_new() takes that and fails, and takes over
 * what it is given even then, so a chain of calls needs only one look at its end. Private
 * to render/.
 */
#ifndef RENDER_JSON_VALUES_H
#define RENDER_JSON_VALUES_H

#include <stdint.h>

#include <jansson.h>

/* JSON's integers are signed: what is above the largest becomes that one. */
json_int_t json_clamp(uint64_t n);
json_t *json_unsigned(uint64_t n);

/* Bytes that are no UTF-8 escaped; null for NULL. */
json_t *json_text(const char *text);

#endif
