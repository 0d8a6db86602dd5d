// SPDX-License-Identifier: Apache-2.0
#include "render/json/fields.h"

#include "render/json/values.h"

struct json_fields fields_begin(void)
{
	return (struct json_fields){.object = json_object()};
}

json_t *fields_end(struct json_fields *fields)
{
	if (!fields->failed)
		return fields->object;
	json_decref(fields->object);
	return NULL;
}

void fields_set(struct json_fields *fields, const char *key, json_t *value)
{
	fields->failed |= json_object_set_new(fields->object, key, value) != 0;
}

void fields_unsigned(struct json_fields *fields, const char *key, uint64_t n)
{
	fields_set(fields, key, json_unsigned(n));
}

void fields_text(struct json_fields *fields, const char *key, const char *text)
{
	fields_set(fields, key, json_text(text));
}

void fields_sampling(struct json_fields *fields, const struct sampling *sampling)
{
	fields_unsigned(fields, "sample_every", sampling->every);
	fields_set(fields, "sample_bytes",
		   sampling_is_by_size(sampling) ? json_unsigned(sampling->mean_bytes)
						 : json_null());
}

json_t *array_append(json_t *array, json_t *value)
{
	if (!json_array_append_new(array, value))
		return array;
	json_decref(array);
	return NULL;
}
